// View: a range of a buffer's payload.
#pragma once

#include "datatype/layout.hpp"

#include <cstddef>
#include <cstdint>

namespace sgl {

// Payload bytes [offset, offset + length) of `layout` at `base`. Owns nothing.
struct View {
  std::byte* base = nullptr;
  const Layout* layout = nullptr;
  int64_t offset = 0;
  int64_t length = 0;

  View part(int64_t from, int64_t bytes) const { return {base, layout, offset + from, bytes}; }
};

// Where the view's first byte is when the whole view is one run of memory, else
// null. O(depth) at most, O(1) for contiguous layouts.
std::byte* contiguous_address(const View& view);

}  // namespace sgl
