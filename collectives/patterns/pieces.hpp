// Pieces: payload cut into nearly equal parts at multiples of a unit.
#pragma once

#include "schedule/problem.hpp"

#include <algorithm>
#include <cstdint>

namespace sgl {

// Where no reduction dictates whole elements, pieces are cut at cache lines.
inline constexpr int64_t kCopyUnitBytes = 64;

// `count` parts of [0, total_bytes); the first ones are a unit longer when the units
// do not divide, and the last holds what is less than a unit. Parts may be empty. All
// functions O(1).
class Pieces {
 public:
  Pieces(int64_t total_bytes, int64_t unit_bytes, int64_t count)
      : total_(total_bytes), unit_(unit_bytes), count_(count) {
    const int64_t units = total_ / unit_ + (total_ % unit_ != 0);
    least_ = units / count_;
    longer_ = units % count_;
  }
  // As many as it takes to have none (much) longer than `piece_bytes`, at least `least`.
  static Pieces of_size(int64_t total_bytes, int64_t unit_bytes, int64_t piece_bytes,
                        int64_t least = 1) {
    const int64_t wanted = std::max(piece_bytes, unit_bytes);
    return {total_bytes, unit_bytes,
            std::max(least, total_bytes / wanted + (total_bytes % wanted != 0))};
  }

  int64_t count() const { return count_; }
  int64_t start(int64_t piece) const {
    return std::min(total_, unit_ * (piece * least_ + std::min(piece, longer_)));
  }
  int64_t bytes(int64_t piece) const { return start(piece + 1) - start(piece); }
  int64_t largest() const { return bytes(0); }

  Slice range(Buffer buffer, int64_t first, int64_t last) const {
    return {buffer, start(first), start(last) - start(first)};
  }
  Slice slice(Buffer buffer, int64_t piece) const { return range(buffer, piece, piece + 1); }

 private:
  int64_t total_, unit_, count_;
  int64_t least_, longer_;
};

}  // namespace sgl
