#include "datatype/construct/owned_indices.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace sgl {
namespace {

Status check_block(size_t dim, int64_t block) {
  if (block >= 1) return {};
  return error(SGLCOLL_ERR_ARG,
               "distribution_args[{}] is {}: it must be 1 or more, or "
               "SGLCOLL_DISTRIBUTE_DEFAULT_ARG",
               dim, block);
}

Result<OwnedIndices> undivided(size_t dim, int64_t size, int processes) {
  if (processes == 1) return OwnedIndices{0, size, 1, 0, 0};
  return error(SGLCOLL_ERR_ARG,
               "process_sizes[{}] is {}: it must be 1, as distributions[{}] is NONE", dim,
               processes, dim);
}

Result<OwnedIndices> one_block(size_t dim, int64_t arg, int64_t size, int processes,
                               int coordinate) {
  const bool given = arg != SGLCOLL_DISTRIBUTE_DEFAULT_ARG;
  const int64_t block = given ? arg : (size - 1) / processes + 1;
  SGL_TRY(check_block(dim, block));
  int64_t covered = 0, start = 0;
  if (checked_mul(block, processes, &covered) && covered < size) {
    return error(SGLCOLL_ERR_ARG,
                 "distribution_args[{}] is {}: {} blocks of it must cover all {} indices", dim, arg,
                 processes, size);
  }
  if (!checked_mul(block, coordinate, &start) || start >= size) return OwnedIndices{};
  return OwnedIndices{start, std::min(block, size - start), 1, 0, 0};
}

Result<OwnedIndices> every_nth_block(size_t dim, int64_t arg, int64_t size, int processes,
                                     int coordinate) {
  const int64_t block = arg == SGLCOLL_DISTRIBUTE_DEFAULT_ARG ? 1 : arg;
  SGL_TRY(check_block(dim, block));
  int64_t start = 0, period = 0;
  if (!checked_mul(block, coordinate, &start) || start >= size) return OwnedIndices{};
  const int64_t left = size - start;
  // A period that overflows is longer than the array.
  if (!checked_mul(block, processes, &period) || period >= left) {
    return OwnedIndices{start, std::min(block, left), 1, 0, 0};
  }
  const int64_t blocks = left / period;
  const int64_t rest = std::min(left % period, block);
  return OwnedIndices{start, block, blocks, period, rest};
}

}  // namespace

Result<OwnedIndices> distribute(size_t dim, sglcoll_distribution distribution, int64_t arg,
                                int64_t size, int processes, int coordinate) {
  switch (distribution) {
    case SGLCOLL_DISTRIBUTE_NONE:
      return undivided(dim, size, processes);
    case SGLCOLL_DISTRIBUTE_BLOCK:
      return one_block(dim, arg, size, processes, coordinate);
    case SGLCOLL_DISTRIBUTE_CYCLIC:
      return every_nth_block(dim, arg, size, processes, coordinate);
  }
  return error(SGLCOLL_ERR_ARG,
               "distributions[{}] is {}: it must be SGLCOLL_DISTRIBUTE_NONE, _BLOCK or _CYCLIC",
               dim, static_cast<int>(distribution));
}

}  // namespace sgl
