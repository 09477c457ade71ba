#include "floor/copies.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace perf {
namespace {

constexpr int64_t kLine = 64;

// Both sides of a copy: where they are, and from one block to the next.
struct Sides {
  std::byte* to;
  int64_t to_step;
  const std::byte* from;
  int64_t from_step;
};

// What one move of this processor takes, up to a line.
template <int64_t kBytes>
struct UnitOf {
  using Type [[gnu::vector_size(kBytes)]] = uint32_t;
};
template <>
struct UnitOf<4> {
  using Type = uint32_t;
};
template <>
struct UnitOf<8> {
  using Type = uint64_t;
};

// Eight units are loaded before any of them is stored: a load behind a store to an address with
// the same low 12 bits waits for it.
template <int64_t kBlock, bool kAhead>
void fixed_blocks(Sides at, int64_t count) {
  constexpr int64_t kUnit = std::min(kBlock, kLine), kUnits = kBlock / kUnit;
  constexpr int64_t kGroup = 8 / kUnits;
  constexpr int64_t kBlocksAhead = std::max<int64_t>(8, 1024 / kBlock);
  using Unit = typename UnitOf<kUnit>::Type;
  int64_t i = 0;
  for (; i + kGroup <= count; i += kGroup) {
    if constexpr (kAhead)
      for (int64_t k = 0; k < kGroup; ++k) {
        __builtin_prefetch(at.from + (i + k + kBlocksAhead) * at.from_step);
        __builtin_prefetch(at.to + (i + k + kBlocksAhead) * at.to_step, 1);
      }
    Unit units[8];
#pragma GCC unroll 8
    for (int64_t k = 0; k < 8; ++k)
      std::memcpy(&units[k], at.from + (i + k / kUnits) * at.from_step + k % kUnits * kUnit, kUnit);
#pragma GCC unroll 8
    for (int64_t k = 0; k < 8; ++k)
      std::memcpy(at.to + (i + k / kUnits) * at.to_step + k % kUnits * kUnit, &units[k], kUnit);
  }
  for (; i < count; ++i) std::memcpy(at.to + i * at.to_step, at.from + i * at.from_step, kBlock);
}

template <bool kAhead>
void blocks(Sides at, int64_t block, int64_t count) {
  switch (block) {
    case 4:
      return fixed_blocks<4, kAhead>(at, count);
    case 8:
      return fixed_blocks<8, kAhead>(at, count);
    case 16:
      return fixed_blocks<16, kAhead>(at, count);
    case 32:
      return fixed_blocks<32, kAhead>(at, count);
    case 64:
      return fixed_blocks<64, kAhead>(at, count);
    case 128:
      return fixed_blocks<128, kAhead>(at, count);
    case 256:
      return fixed_blocks<256, kAhead>(at, count);
    case 512:
      return fixed_blocks<512, kAhead>(at, count);
    default:
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(at.to + i * at.to_step, at.from + i * at.from_step, static_cast<size_t>(block));
  }
}

void string_copy(std::byte* to, const std::byte* from, int64_t bytes) {
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

// Whole lines to an aligned target; the rest by memcpy.
void streaming_copy(std::byte* to, const std::byte* from, int64_t bytes) {
  int64_t done = 0;
#if defined(__AVX512F__)
  for (; done + kLine <= bytes; done += kLine)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + done), _mm512_loadu_si512(from + done));
#elif defined(__x86_64__)
  for (; done + 16 <= bytes; done += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + done),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done)));
#endif
  std::memcpy(to + done, from + done, static_cast<size_t>(bytes - done));
}

void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void one_run(std::byte* to, const std::byte* from, int64_t bytes, Kind kind) {
  if (kind == Kind::streaming)
    streaming_copy(to, from, bytes);
  else if (kind == Kind::string)
    string_copy(to, from, bytes);
  else
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

#if defined(__AVX512F__)
// The int32 of a line that belong to blocks.
__mmask16 mask_of(const Runs& runs) {
  unsigned mask = 0;
  for (int64_t at = 0; at < kLine; at += 4)
    if (at % runs.stride < runs.block) mask |= 1u << (at / 4);
  return static_cast<__mmask16>(mask);
}

// Lines that are full of blocks; what is left of the last line goes by loops.
int64_t full_lines(const Runs& runs) {
  return runs.count * runs.stride / kLine;
}

void move_lines(std::byte* to, const std::byte* from, const Runs& runs) {
  const __mmask16 mask = mask_of(runs);
  for (int64_t line = 0; line < full_lines(runs); ++line)
    _mm512_mask_storeu_epi32(to + line * kLine, mask, _mm512_loadu_si512(from + line * kLine));
}

void pack_lines(std::byte* to, const std::byte* from, const Runs& runs) {
  const __mmask16 mask = mask_of(runs);
  const int64_t bytes = kLine / runs.stride * runs.block;
  for (int64_t line = 0; line < full_lines(runs); ++line)  // each overwrites the last one's slack
    _mm512_storeu_si512(to + line * bytes,
                        _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(from + line * kLine)));
}

void unpack_lines(std::byte* to, const std::byte* from, const Runs& runs) {
  const __mmask16 mask = mask_of(runs);
  const int64_t bytes = kLine / runs.stride * runs.block;
  for (int64_t line = 0; line < full_lines(runs); ++line)
    _mm512_mask_storeu_epi32(
        to + line * kLine, mask,
        _mm512_maskz_expand_epi32(mask, _mm512_loadu_si512(from + line * bytes)));
}
#else
int64_t full_lines(const Runs&) {
  return 0;
}
void move_lines(std::byte*, const std::byte*, const Runs&) {}
void pack_lines(std::byte*, const std::byte*, const Runs&) {}
void unpack_lines(std::byte*, const std::byte*, const Runs&) {}
#endif

enum class Packed { neither, target, source };

void blocks_of(std::byte* to, const std::byte* from, const Runs& runs, Kind kind, Packed packed) {
  std::byte* to_at = packed == Packed::target ? to : to + runs.offset;
  const std::byte* from_at = packed == Packed::source ? from : from + runs.offset;
  Sides at{to_at, packed == Packed::target ? runs.block : runs.stride, from_at,
           packed == Packed::source ? runs.block : runs.stride};
  int64_t count = runs.count;
  if (kind == Kind::lines) {
    if (packed == Packed::neither) move_lines(to_at, from_at, runs);
    if (packed == Packed::target) pack_lines(to_at, from_at, runs);
    if (packed == Packed::source) unpack_lines(to_at, from_at, runs);
    const int64_t done = full_lines(runs) * (kLine / runs.stride);
    at.to += done * at.to_step;
    at.from += done * at.from_step;
    count -= done;
  }
  if (kind == Kind::streaming || kind == Kind::string) {
    for (int64_t i = 0; i < count; ++i)
      one_run(at.to + i * at.to_step, at.from + i * at.from_step, runs.block, kind);
  } else if (kind == Kind::ahead) {
    blocks<true>(at, runs.block, count);
  } else {
    blocks<false>(at, runs.block, count);
  }
}

void copy(std::byte* to, const std::byte* from, const Runs& runs, Kind kind, Packed packed) {
  if (runs.list.empty()) {
    blocks_of(to, from, runs, kind, packed);
  } else {
    int64_t at = 0;
    for (const Run& run : runs.list) {
      one_run(to + (packed == Packed::target ? at : run.offset),
              from + (packed == Packed::source ? at : run.offset), run.bytes, kind);
      at += run.bytes;
    }
  }
  if (kind == Kind::streaming) fence();
}

bool whole_lines(const Runs& runs) {
  auto whole = [](int64_t bytes) { return bytes % kLine == 0; };
  if (runs.list.empty())
    return whole(runs.offset) &&
           (runs.count == 1 ? runs.block >= kLine : whole(runs.block) && whole(runs.stride));
  return std::all_of(runs.list.begin(), runs.list.end(),
                     [&](const Run& run) { return whole(run.offset); });
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"loops", "prefetching loops", "masked lines",
                                    "streaming stores", "rep movsb"};
  return kNames[static_cast<int>(kind)];
}

bool can_copy(Kind kind, const Runs& runs) {
  constexpr int64_t kShortRun = 1024, kMostFixed = 512;
  const bool is_blocks = runs.list.empty();
  switch (kind) {
    case Kind::loops:
      return true;
    case Kind::ahead:
      return is_blocks && runs.count > 1 && runs.block <= kMostFixed && runs.stride >= kLine;
    case Kind::lines:
#if defined(__AVX512F__)
      return is_blocks && runs.count > 1 && runs.stride > 0 && runs.stride <= kLine / 2 &&
             kLine % runs.stride == 0;
#else
      return false;
#endif
    case Kind::streaming:
      return whole_lines(runs);
    case Kind::string:
      return is_blocks ? runs.block >= kShortRun : runs.payload / runs.count >= kShortRun;
  }
  return false;
}

void move(std::byte* to, const std::byte* from, const Runs& runs, Kind kind) {
  copy(to, from, runs, kind, Packed::neither);
}

// Packed sides stay in the cache, as they are read soon.
void pack(std::byte* to_packed, const std::byte* from, const Runs& runs, Kind kind) {
  copy(to_packed, from, runs, kind == Kind::streaming ? Kind::loops : kind, Packed::target);
}

void unpack(std::byte* to, const std::byte* from_packed, const Runs& runs, Kind kind) {
  copy(to, from_packed, runs, kind, Packed::source);
}

}  // namespace perf
