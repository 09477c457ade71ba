// Reductions over layouts: element by element over the type map, touching each
// byte of every source once (tiles that stay in the first-level cache).
#pragma once

#include "op/op.hpp"
#include "sgl/view.hpp"

#include <span>

namespace sgl {

// to = sources[0] op sources[1] op ... in that order, all views of equal length,
// a whole number of elements of `basic`, starting at an element. A source may be
// the same view as `to`; otherwise memories do not overlap. One source: a copy.
void reduce(const View& to, std::span<const View> sources, OpKind kind, Basic basic);

// The same for a result that is too large to stay in the cache: it is written past it, unless it
// is one of the sources.
void stream_reduce(const View& to, std::span<const View> sources, OpKind kind, Basic basic);

}  // namespace sgl
