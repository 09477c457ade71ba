// Neighbours and blocks of a ring, and wrapped rank arithmetic in general.
#pragma once

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

}  // namespace sgl
