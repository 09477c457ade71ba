#include "sgl/stream_copy.hpp"

#include "sgl/copy.hpp"
#include "sgl/copy_kernels.hpp"
#include "sgl/run_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sgl {
namespace {

constexpr int64_t kLineBytes = 64;

// Whole lines of the destination past the cache, what is before and after them as usual.
void stream_run(std::byte* to, const std::byte* from, int64_t length) {
  const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) & (kLineBytes - 1));
  if (length < head + kLineBytes) {
    std::memcpy(to, from, static_cast<size_t>(length));
    return;
  }
  std::memcpy(to, from, static_cast<size_t>(head));
  const int64_t lines = (length - head) / kLineBytes;
  copy_kernels().stream_lines(to + head, from + head, lines);
  const int64_t done = head + lines * kLineBytes;
  std::memcpy(to + done, from + done, static_cast<size_t>(length - done));
}

bool worth_streaming(const View& to) {
  const int64_t runs = to.layout->run_count();
  return runs > 0 && to.layout->size() / runs >= kLineBytes;
}

// As much as the two blocks allow without a new run on both sides.
int64_t stream_blocks(const RunBlock& to, const RunBlock& from, int64_t length) {
  if (to.length == from.length && length >= to.length) {
    const int64_t runs = std::min({length / to.length, to.count, from.count});
    for (int64_t i = 0; i < runs; ++i) stream_run(to.run(i), from.run(i), to.length);
    return runs * to.length;
  }
  const int64_t bytes = std::min({length, to.length, from.length});
  stream_run(to.run(0), from.run(0), bytes);
  return bytes;
}

}  // namespace

void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void stream_copy(const View& to, const View& from) {
  if (to.length == 0) return;
  if (!worth_streaming(to)) return copy(to, from);
  BlockWalker to_walker(to);
  BlockWalker from_walker(from);
  for (int64_t left = to.length; left > 0;) {
    const int64_t bytes = stream_blocks(to_walker.block(), from_walker.block(), left);
    left -= bytes;
    to_walker.take(bytes);
    from_walker.take(bytes);
  }
  finish_streaming();
}

void stream_unpack(const View& to, const std::byte* packed) {
  stream_unpack_part(to, packed);
  finish_streaming();
}

void stream_unpack_part(const View& to, const std::byte* packed) {
  if (to.length == 0) return;
  if (!worth_streaming(to)) return unpack(to, packed);
  BlockWalker walker(to);
  for (int64_t left = to.length; left > 0;) {
    const RunBlock& block = walker.block();
    const int64_t whole = std::min(left / block.length, block.count);
    for (int64_t i = 0; i < whole; ++i)
      stream_run(block.run(i), packed + i * block.length, block.length);
    const int64_t bytes = whole > 0 ? whole * block.length : left;
    if (whole == 0) stream_run(block.run(0), packed, bytes);
    packed += bytes;
    left -= bytes;
    walker.take(bytes);
  }
}

}  // namespace sgl
