// Moving payload by the CPU: pack, unpack and layout-to-layout copy.
//
// The kernels are specialised for runs of 1, 2, 4, 8, 16, 32 and 64 bytes at a
// constant stride and fall back to general loops; faster ones are chosen at run
// time from what the processor has. Nothing here allocates for layouts up to 16
// nodes deep.
#pragma once

#include "sgl/view.hpp"

#include <cstddef>

namespace sgl {

// Gathers view.length bytes into packed (no overlap with the view's memory).
void pack(const View& view, std::byte* packed);
// Scatters view.length bytes from packed.
void unpack(const View& view, const std::byte* packed);
// to.length must equal from.length; the memories do not overlap.
void copy(const View& to, const View& from);

}  // namespace sgl
