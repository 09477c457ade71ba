#include "plan/shape_type.hpp"

namespace sgl::plan {

Result<TypePtr> type_of_shape(const tools::Shape& shape) {
  using Kind = tools::Shape::Kind;
  const TypePtr element = basic_type(Basic::int32);
  Result<TypePtr> made = element;
  switch (shape.kind) {
    case Kind::contiguous:
      made = type_contiguous(shape.block, element);
      break;
    case Kind::vector:
      made = type_vector(shape.count, shape.block, shape.stride, element);
      break;
    case Kind::indexed:
      made = type_indexed(shape.lengths, shape.displacements, element);
      break;
    case Kind::subarray:
      made = type_subarray(shape.sizes, shape.subsizes, shape.starts, SGLCOLL_ORDER_C, element);
      break;
  }
  if (!made.ok()) return made;
  return type_resized(made.value(), 0, shape.extent * 4);
}

}  // namespace sgl::plan
