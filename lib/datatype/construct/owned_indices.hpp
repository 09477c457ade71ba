// Which indices of one dimension of an array a subarray or darray type selects.
#pragma once

#include "base/status.hpp"

#include <cstdint>

namespace sgl {

// `blocks` stretches of `length` indices, `period` apart, from `start` on, and
// then a stretch of `rest`.
struct OwnedIndices {
  int64_t start = 0, length = 0, blocks = 0, period = 0, rest = 0;
};

// The part of `size` indices that the process at `coordinate` of `processes` owns
// (MPI 4.1, section 5.1.4). `dim` is for the text of a failure.
Result<OwnedIndices> distribute(size_t dim, sglcoll_distribution distribution, int64_t arg,
                                int64_t size, int processes, int coordinate);

}  // namespace sgl
