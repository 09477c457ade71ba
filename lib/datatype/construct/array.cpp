// subarray and darray.
#include <algorithm>

#include "base/checked.hpp"
#include "datatype/construct/assemble.hpp"

namespace sgl {
namespace {

// The elements of one dimension that belong to the type: `blocks` runs of `length`
// consecutive indices, `period` indices apart, from `start` on, and a last run of
// `rest` after them.
struct OwnedIndices {
  int64_t start = 0, length = 0, blocks = 0, period = 0, rest = 0;
  int64_t count() const { return blocks * length + rest; }
};

// The whole array's bytes; bounds of everything inside follow from it.
Status check_array_bytes(std::span<const int64_t> sizes, const Type& old_type) {
  int64_t bytes = old_type.extent;
  for (int64_t size : sizes)
    if (!checked_mul(bytes, size, &bytes))
      return error(SGLCOLL_ERR_COUNT, "the array's sizes times the extent {} overflow 64 bits", old_type.extent);
  return check_block({old_type.extent == 0 ? 1 : bytes / old_type.extent, 0, &old_type});
}

// The layout of the owned elements in dimension `owned`, each a `child` layout, `step`
// bytes apart.
Layout spread(const OwnedIndices& owned, int64_t step, const Layout& child) {
  Layout run = Layout::loop(owned.length, step, child).shifted(owned.start * step);
  Layout runs = Layout::loop(owned.blocks, owned.period * step, run);
  Layout rest = Layout::loop(owned.rest, step, child).shifted((owned.start + owned.blocks * owned.period) * step);
  return Layout::seq({runs, rest});
}

// The owned part of an array, fastest dimension first in memory.
TypePtr carve(std::span<const int64_t> sizes, std::span<const OwnedIndices> owned, sglcoll_order order,
              const TypePtr& old_type, sglcoll_combiner combiner, std::vector<int64_t> integers) {
  auto made = std::make_shared<Type>();
  int64_t step = old_type->extent, elements = 1;
  Layout layout = old_type->layout;
  for (size_t i = 0; i < sizes.size(); ++i) {
    size_t dim = order == SGLCOLL_ORDER_C ? sizes.size() - 1 - i : i;
    layout = spread(owned[dim], step, layout);
    step *= sizes[dim];
    elements *= owned[dim].count();
  }
  made->combiner = combiner;
  made->integers = std::move(integers);
  made->types = {old_type};
  made->layout = layout;
  made->size = layout.size();
  made->lb = 0;
  made->extent = step;
  made->true_lb = layout.true_lb();
  made->true_extent = layout.true_ub() - layout.true_lb();
  made->alignment = old_type->alignment;
  made->signature = repeat(old_type->signature, elements);
  if (elements > 0) made->uniform_basic = old_type->uniform_basic;
  return made;
}

Status check_order(sglcoll_order order) {
  if (order == SGLCOLL_ORDER_C || order == SGLCOLL_ORDER_FORTRAN) return {};
  return error(SGLCOLL_ERR_ARG, "order is {}: it must be SGLCOLL_ORDER_C or SGLCOLL_ORDER_FORTRAN", static_cast<int>(order));
}

Result<OwnedIndices> block_indices(size_t dim, int64_t size, int64_t arg, int processes, int coordinate) {
  int64_t block = arg == SGLCOLL_DISTRIBUTE_DEFAULT_ARG ? (size + processes - 1) / processes : arg;
  int64_t reach = 0;
  if (block < 1) return error(SGLCOLL_ERR_ARG, "distribution_args[{}] is {}: a block is 1 or more", dim, arg);
  if (checked_mul(block, processes, &reach) && reach < size)
    return error(SGLCOLL_ERR_ARG, "distribution_args[{}] is {}: {} processes cover only {} of {} elements", dim, arg,
                 processes, reach, size);
  int64_t start = 0;
  if (!checked_mul(block, coordinate, &start)) start = size;
  start = std::min(start, size);
  return OwnedIndices{start, std::min(block, size - start), 1, 0, 0};
}

Result<OwnedIndices> cyclic_indices(size_t dim, int64_t size, int64_t arg, int processes, int coordinate) {
  int64_t block = arg == SGLCOLL_DISTRIBUTE_DEFAULT_ARG ? 1 : arg;
  if (block < 1) return error(SGLCOLL_ERR_ARG, "distribution_args[{}] is {}: a block is 1 or more", dim, arg);
  block = std::min(block, size);
  int64_t period = 0, start = 0;
  if (!checked_mul(block, processes, &period)) return error(SGLCOLL_ERR_COUNT, "distribution_args[{}] overflows", dim);
  if (!checked_mul(block, coordinate, &start) || start >= size) return OwnedIndices{};
  int64_t blocks = (size - start) / period;
  int64_t left = size - start - blocks * period;
  if (left >= block) return OwnedIndices{start, block, blocks + 1, period, 0};
  return OwnedIndices{start, block, blocks, period, left};
}

}  // namespace

Result<TypePtr> type_subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                              std::span<const int64_t> starts, sglcoll_order order, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_order(order));
  if (sizes.empty() || subsizes.size() != sizes.size() || starts.size() != sizes.size())
    return error(SGLCOLL_ERR_ARG, "sizes, subsizes and starts have {}, {} and {} entries: one of each a dimension",
                 sizes.size(), subsizes.size(), starts.size());
  std::vector<OwnedIndices> owned;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) return error(SGLCOLL_ERR_ARG, "sizes[{}] is {}: it must be 1 or more", i, sizes[i]);
    if (subsizes[i] < 0 || subsizes[i] > sizes[i])
      return error(SGLCOLL_ERR_ARG, "subsizes[{}] is {}: it must be 0 to sizes[{}] = {}", i, subsizes[i], i, sizes[i]);
    if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
      return error(SGLCOLL_ERR_ARG, "starts[{}] is {}: it must be 0 to sizes[{}] - subsizes[{}] = {}", i, starts[i], i, i,
                   sizes[i] - subsizes[i]);
    owned.push_back({starts[i], subsizes[i], 1, 0, 0});
  }
  SGL_TRY(check_array_bytes(sizes, *old_type));
  std::vector<int64_t> integers{static_cast<int64_t>(sizes.size())};
  for (std::span<const int64_t> list : {sizes, subsizes, starts}) integers.insert(integers.end(), list.begin(), list.end());
  integers.push_back(order);
  return carve(sizes, owned, order, old_type, SGLCOLL_COMBINER_SUBARRAY, std::move(integers));
}

Result<TypePtr> type_darray(int size, int rank, std::span<const int64_t> global_sizes,
                            std::span<const sglcoll_distribution> distributions, std::span<const int64_t> distribution_args,
                            std::span<const int> process_sizes, sglcoll_order order, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_order(order));
  size_t dims = global_sizes.size();
  if (dims == 0 || distributions.size() != dims || distribution_args.size() != dims || process_sizes.size() != dims)
    return error(SGLCOLL_ERR_ARG, "the arrays of a darray must have one entry a dimension");
  if (size < 1) return error(SGLCOLL_ERR_ARG, "size is {}: it must be 1 or more", size);
  if (rank < 0 || rank >= size) return error(SGLCOLL_ERR_ARG, "rank is {}: it must be 0 to {}", rank, size - 1);
  int64_t grid = 1;
  for (size_t i = 0; i < dims; ++i) {
    if (global_sizes[i] < 1) return error(SGLCOLL_ERR_ARG, "global_sizes[{}] is {}: it must be 1 or more", i, global_sizes[i]);
    if (process_sizes[i] < 1)
      return error(SGLCOLL_ERR_ARG, "process_sizes[{}] is {}: it must be 1 or more", i, process_sizes[i]);
    if (!checked_mul(grid, process_sizes[i], &grid) || grid > size)
      return error(SGLCOLL_ERR_ARG, "process_sizes multiply to more than size = {}", size);
  }
  if (grid != size) return error(SGLCOLL_ERR_ARG, "process_sizes multiply to {}: they must to size = {}", grid, size);
  SGL_TRY(check_array_bytes(global_sizes, *old_type));
  std::vector<OwnedIndices> owned;
  int64_t rest = rank, below = size;
  for (size_t i = 0; i < dims; ++i) {
    below /= process_sizes[i];
    auto coordinate = static_cast<int>(rest / below);  // the grid is in row-major order
    rest %= below;
    Result<OwnedIndices> indices = OwnedIndices{0, global_sizes[i], 1, 0, 0};
    switch (distributions[i]) {
      case SGLCOLL_DISTRIBUTE_NONE:
        if (process_sizes[i] != 1)
          return error(SGLCOLL_ERR_ARG, "process_sizes[{}] is {}: it must be 1 where nothing is distributed", i, process_sizes[i]);
        break;
      case SGLCOLL_DISTRIBUTE_BLOCK:
        indices = block_indices(i, global_sizes[i], distribution_args[i], process_sizes[i], coordinate);
        break;
      case SGLCOLL_DISTRIBUTE_CYCLIC:
        indices = cyclic_indices(i, global_sizes[i], distribution_args[i], process_sizes[i], coordinate);
        break;
      default:
        return error(SGLCOLL_ERR_ARG, "distributions[{}] is {}: it must be a SGLCOLL_DISTRIBUTE_ value", i,
                     static_cast<int>(distributions[i]));
    }
    if (!indices.ok()) return std::move(indices.status());
    owned.push_back(indices.value());
  }
  std::vector<int64_t> integers{size, rank, static_cast<int64_t>(dims)};
  integers.insert(integers.end(), global_sizes.begin(), global_sizes.end());
  integers.insert(integers.end(), distributions.begin(), distributions.end());
  integers.insert(integers.end(), distribution_args.begin(), distribution_args.end());
  integers.insert(integers.end(), process_sizes.begin(), process_sizes.end());
  integers.push_back(order);
  return carve(global_sizes, owned, order, old_type, SGLCOLL_COMBINER_DARRAY, std::move(integers));
}

}  // namespace sgl
