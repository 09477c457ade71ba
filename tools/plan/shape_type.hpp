// The datatype of a layout of the grammar.
#pragma once

#include "datatype/type.hpp"
#include "support/layout_grammar.hpp"

namespace sgl::plan {

Result<TypePtr> type_of_shape(const tools::Shape& shape);

}  // namespace sgl::plan
