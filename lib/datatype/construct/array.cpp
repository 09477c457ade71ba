// subarray and darray: O(dimensions).
#include "base/checked.hpp"
#include "datatype/construct/body.hpp"
#include "datatype/construct/owned_indices.hpp"

namespace sgl {
namespace {

Status check_order(sglcoll_order order) {
  if (order == SGLCOLL_ORDER_C || order == SGLCOLL_ORDER_FORTRAN) return {};
  return error(SGLCOLL_ERR_ARG, "order is {}: it must be SGLCOLL_ORDER_C or SGLCOLL_ORDER_FORTRAN",
               static_cast<int>(order));
}

Status check_entries(const char* name, size_t entries, size_t dims) {
  if (entries == dims) return {};
  return error(SGLCOLL_ERR_ARG, "{} has {} entries: it must have one for each of {} dimensions",
               name, entries, dims);
}

Status check_sizes(const char* name, std::span<const int64_t> sizes) {
  if (sizes.empty())
    return error(SGLCOLL_ERR_ARG, "{} is empty: it must have 1 entry or more", name);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) {
      return error(SGLCOLL_ERR_ARG, "{}[{}] is {}: it must be 1 or more", name, i, sizes[i]);
    }
  }
  return {};
}

// The elements that `owned` selects in one dimension, whose neighbours are `step`
// bytes apart.
bool select(const OwnedIndices& owned, int64_t step, Body* body) {
  Body blocks = *body, rest = *body;
  int64_t start = 0, period = 0, rest_start = 0;
  if (!scale(owned.start, step, &start) || !scale(owned.period, step, &period)) return false;
  if (!repeat(owned.length, step, &blocks) || !shift(start, &blocks)) return false;
  if (!repeat(owned.blocks, period, &blocks)) return false;
  if (!scale(owned.blocks, period, &rest_start)) return false;
  if (!repeat(owned.rest, step, &rest) || !shift(start + rest_start, &rest)) return false;
  Join join;
  if (!join.add(std::move(blocks)) || !join.add(std::move(rest))) return false;
  *body = join.take();
  return true;
}

// The selected elements of an array of `sizes`; its bounds are those of the array.
bool select_all(std::span<const int64_t> sizes, std::span<const OwnedIndices> owned,
                sglcoll_order order, const Type& old_type, Body* body) {
  *body = body_of(old_type);
  body->marked.reset();
  int64_t step = old_type.extent;
  const size_t dims = sizes.size();
  for (size_t i = 0; i < dims; ++i) {
    const size_t dim = order == SGLCOLL_ORDER_C ? dims - 1 - i : i;  // the fastest first
    if (!select(owned[dim], step, body) || !scale(sizes[dim], step, &step)) return false;
  }
  body->marked = MarkedBounds{0, step};
  return true;
}

template <class... Lists>
std::vector<int64_t> listed(std::vector<int64_t> integers, sglcoll_order order,
                            const Lists&... lists) {
  (integers.insert(integers.end(), lists.begin(), lists.end()), ...);
  integers.push_back(order);
  return integers;
}

Status check_subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                      std::span<const int64_t> starts) {
  SGL_TRY(check_sizes("sizes", sizes));
  SGL_TRY(check_entries("subsizes", subsizes.size(), sizes.size()));
  SGL_TRY(check_entries("starts", starts.size(), sizes.size()));
  SGL_TRY(check_sizes("subsizes", subsizes));
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t last_start = sizes[i] - subsizes[i];
    if (last_start < 0) {
      return error(SGLCOLL_ERR_ARG, "subsizes[{}] is {}: it must be at most sizes[{}], {}", i,
                   subsizes[i], i, sizes[i]);
    }
    if (starts[i] < 0 || starts[i] > last_start) {
      return error(SGLCOLL_ERR_ARG,
                   "starts[{}] is {}: it must be 0 to {}, for subsizes[{}] {} to fit sizes[{}] {}",
                   i, starts[i], last_start, i, subsizes[i], i, sizes[i]);
    }
  }
  return {};
}

Status check_grid(int size, int rank, std::span<const int> process_sizes) {
  if (size < 1) return error(SGLCOLL_ERR_ARG, "size is {}: it must be 1 or more", size);
  if (rank < 0 || rank >= size) {
    return error(SGLCOLL_ERR_ARG, "rank is {}: it must be 0 to {}, below size", rank, size - 1);
  }
  int64_t processes = 1;
  for (size_t i = 0; i < process_sizes.size(); ++i) {
    if (process_sizes[i] < 1) {
      return error(SGLCOLL_ERR_ARG, "process_sizes[{}] is {}: it must be 1 or more", i,
                   process_sizes[i]);
    }
    processes *= process_sizes[i];
    if (processes > size) break;
  }
  if (processes == size) return {};
  return error(SGLCOLL_ERR_ARG, "the product of process_sizes is {}{}: it must be size, {}",
               processes > size ? "at least " : "", processes, size);
}

}  // namespace

Result<TypePtr> type_subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                              std::span<const int64_t> starts, sglcoll_order order,
                              const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_order(order));
  SGL_TRY(check_subarray(sizes, subsizes, starts));
  std::vector<OwnedIndices> owned;
  for (size_t i = 0; i < sizes.size(); ++i) owned.push_back({starts[i], subsizes[i], 1, 0, 0});
  Body body;
  if (!select_all(sizes, owned, order, *old_type, &body)) {
    return too_large("subarray", *old_type, "sizes");
  }
  return finish(std::move(body), SGLCOLL_COMBINER_SUBARRAY,
                listed({static_cast<int64_t>(sizes.size())}, order, sizes, subsizes, starts),
                {old_type});
}

Result<TypePtr> type_darray(int size, int rank, std::span<const int64_t> global_sizes,
                            std::span<const sglcoll_distribution> distributions,
                            std::span<const int64_t> distribution_args,
                            std::span<const int> process_sizes, sglcoll_order order,
                            const TypePtr& old_type) {
  const size_t dims = global_sizes.size();
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_order(order));
  SGL_TRY(check_sizes("global_sizes", global_sizes));
  SGL_TRY(check_entries("distributions", distributions.size(), dims));
  SGL_TRY(check_entries("distribution_args", distribution_args.size(), dims));
  SGL_TRY(check_entries("process_sizes", process_sizes.size(), dims));
  SGL_TRY(check_grid(size, rank, process_sizes));
  std::vector<OwnedIndices> owned;
  int later_processes = size, rest = rank;  // the process grid is row-major, whatever the order
  for (size_t i = 0; i < dims; ++i) {
    later_processes /= process_sizes[i];
    auto indices = distribute(i, distributions[i], distribution_args[i], global_sizes[i],
                              process_sizes[i], rest / later_processes);
    if (!indices.ok()) return std::move(indices.status());
    owned.push_back(indices.take());
    rest %= later_processes;
  }
  Body body;
  if (!select_all(global_sizes, owned, order, *old_type, &body)) {
    return too_large("darray", *old_type, "global_sizes");
  }
  return finish(std::move(body), SGLCOLL_COMBINER_DARRAY,
                listed({size, rank, static_cast<int64_t>(dims)}, order, global_sizes, distributions,
                       distribution_args, process_sizes),
                {old_type});
}

}  // namespace sgl
