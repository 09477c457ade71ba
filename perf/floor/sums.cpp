#include "floor/copies.hpp"

#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace perf {
namespace {

constexpr int64_t kLine = 64;

// Unsigned, so that a sum may wrap around.
void add(std::byte* to, const std::byte* a, const std::byte* b, int64_t bytes) {
  auto* target = reinterpret_cast<uint32_t*>(to);
  const auto* left = reinterpret_cast<const uint32_t*>(a);
  const auto* right = reinterpret_cast<const uint32_t*>(b);
#pragma GCC ivdep
  for (int64_t i = 0; i < bytes / 4; ++i) target[i] = left[i] + right[i];
}

void add_streaming(std::byte* to, const std::byte* a, const std::byte* b, int64_t bytes) {
  int64_t done = 0;
#if defined(__AVX512F__)
  for (; done + kLine <= bytes; done += kLine)
    _mm512_stream_si512(
        reinterpret_cast<__m512i*>(to + done),
        _mm512_add_epi32(_mm512_loadu_si512(a + done), _mm512_loadu_si512(b + done)));
  _mm_sfence();
#endif
  add(to + done, a + done, b + done, bytes - done);
}

template <int64_t kBlock>
void add_fixed(std::byte* to, const std::byte* a, const std::byte* b, const Runs& runs,
               int64_t b_step) {
  using Vector [[gnu::vector_size(kBlock)]] = uint32_t;
  for (int64_t i = 0; i < runs.count; ++i) {
    Vector left, right;
    std::memcpy(&left, a + i * runs.stride, kBlock);
    std::memcpy(&right, b + i * b_step, kBlock);
    left += right;
    std::memcpy(to + i * runs.stride, &left, kBlock);
  }
}

// At the runs' first bytes.
void add_blocks(std::byte* to, const std::byte* a, const std::byte* b, const Runs& runs,
                int64_t b_step, Kind kind) {
  switch (runs.count > 1 && kind != Kind::streaming ? runs.block : 0) {
    case 4:
      return add_fixed<4>(to, a, b, runs, b_step);
    case 8:
      return add_fixed<8>(to, a, b, runs, b_step);
    case 16:
      return add_fixed<16>(to, a, b, runs, b_step);
    case 32:
      return add_fixed<32>(to, a, b, runs, b_step);
    case 64:
      return add_fixed<64>(to, a, b, runs, b_step);
    default:
      for (int64_t i = 0; i < runs.count; ++i)
        (kind == Kind::streaming ? add_streaming : add)(to + i * runs.stride, a + i * runs.stride,
                                                        b + i * b_step, runs.block);
  }
}

#if defined(__AVX512F__)
// The blocks that were summed, several of a line at once.
int64_t add_lines(std::byte* to, const std::byte* a, const std::byte* b, const Runs& runs,
                  bool b_packed) {
  unsigned bits = 0;
  for (int64_t at = 0; at < kLine; at += 4)
    if (at % runs.stride < runs.block) bits |= 1u << (at / 4);
  const auto mask = static_cast<__mmask16>(bits);
  const int64_t lines = runs.count * runs.stride / kLine;
  const int64_t b_step = b_packed ? kLine / runs.stride * runs.block : kLine;
  for (int64_t i = 0; i < lines; ++i) {
    __m512i right = _mm512_loadu_si512(b + i * b_step);
    if (b_packed) right = _mm512_maskz_expand_epi32(mask, right);
    _mm512_mask_storeu_epi32(to + i * kLine, mask,
                             _mm512_add_epi32(_mm512_loadu_si512(a + i * kLine), right));
  }
  return lines * (kLine / runs.stride);
}
#else
int64_t add_lines(std::byte*, const std::byte*, const std::byte*, const Runs&, bool) {
  return 0;
}
#endif

void add_runs(std::byte* to, const std::byte* a, const std::byte* b, const Runs& runs, Kind kind,
              bool b_packed) {
  if (runs.list.empty()) {
    Runs left = runs;
    std::byte* to_at = to + runs.offset;
    const std::byte *a_at = a + runs.offset, *b_at = b_packed ? b : b + runs.offset;
    const int64_t b_step = b_packed ? runs.block : runs.stride;
    const int64_t done = kind == Kind::lines ? add_lines(to_at, a_at, b_at, runs, b_packed) : 0;
    left.count -= done;
    add_blocks(to_at + done * runs.stride, a_at + done * runs.stride, b_at + done * b_step, left,
               b_step, kind);
    return;
  }
  int64_t at = 0;
  for (const Run& run : runs.list) {
    (kind == Kind::streaming ? add_streaming : add)(to + run.offset, a + run.offset,
                                                    b + (b_packed ? at : run.offset), run.bytes);
    at += run.bytes;
  }
}

}  // namespace

bool can_sum(Kind kind, const Runs& runs) {
  return kind != Kind::ahead && kind != Kind::string && can_copy(kind, runs);
}

void sum(std::byte* to, const std::byte* a, const std::byte* b, const Runs& runs, Kind kind) {
  add_runs(to, a, b, runs, kind, false);
}

void sum_packed(std::byte* to, const std::byte* a, const std::byte* b_packed, const Runs& runs,
                Kind kind) {
  add_runs(to, a, b_packed, runs, kind, true);
}

}  // namespace perf
