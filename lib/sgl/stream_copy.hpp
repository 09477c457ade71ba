// Copies whose result is too large to stay in the cache: it is written past the cache.
//
// An ordinary store first reads the line that it overwrites. Where the destination is
// not in the cache that is a third of the memory traffic of a copy, which non-temporal
// stores save. A destination that fits into the cache is better off with sgl/copy.hpp.
#pragma once

#include "sgl/view.hpp"

#include <cstddef>

namespace sgl {

// As copy() and unpack(). Runs of the destination that hold no whole cache line are
// written as there.
void stream_copy(const View& to, const View& from);
void stream_unpack(const View& to, const std::byte* packed);

// A part of what is written so. Others see it in order only after finish_streaming().
void stream_unpack_part(const View& to, const std::byte* packed);
void finish_streaming();

}  // namespace sgl
