// Neighbours and ranges on the circle of ranks.
#pragma once

#include <array>

namespace sgl {

// rank + distance on the circle of `size` ranks; -size <= distance <= size. O(1).
inline int shifted(int rank, int distance, int size) {
  long moved = static_cast<long>(rank) + distance;  // size may be close to INT_MAX
  if (moved >= size) moved -= size;
  if (moved < 0) moved += size;
  return static_cast<int>(moved);
}

inline int ring_next(int rank, int size) {
  return shifted(rank, 1, size);
}
inline int ring_previous(int rank, int size) {
  return shifted(rank, -1, size);
}

struct RankRange {
  int first, last;  // [first, last)
};

// The ranks first, first + 1 ... (`count` of them, at most size) on the circle, as what
// lies before the wrap and what lies after; either may be empty. O(1).
inline std::array<RankRange, 2> wrapped_range(int first, int count, int size) {
  const long end = static_cast<long>(first) + count;
  if (end <= size) return {{{first, static_cast<int>(end)}, {0, 0}}};
  return {{{first, size}, {0, static_cast<int>(end - size)}}};
}

}  // namespace sgl
