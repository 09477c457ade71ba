// The parameter exchange of data-parallel training: the gradients of a network, each
// tensor its own allocation, are summed over all ranks.
//
// One datatype over the addresses of all tensors stands for the whole list. The
// exchange by reduce-scatter and allgather on it is compared with the usual way:
// flatten into one array, exchange, unflatten.
//
//   sglrun -n 4 tensor_bucket FILE        FILE: a line a tensor, NAME DIM [DIM ...]
#include <sglcoll/sglcoll.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Tensor = std::vector<float>;

std::vector<Tensor> load_tensors(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string(path) + " cannot be read");
  std::vector<Tensor> tensors;
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    std::string name;
    if (!(words >> name) || name[0] == '#') continue;
    size_t elements = 1;
    for (size_t dim = 0; words >> dim;) elements *= dim;
    tensors.emplace_back(elements);
  }
  return tensors;
}

// Small whole numbers, so that float sums are exact in any order.
float gradient(int rank, size_t tensor, size_t i) {
  return static_cast<float>((rank + 1) * static_cast<int>((tensor * 31 + i) % 97));
}

void fill(std::vector<Tensor>& tensors, int rank) {
  for (size_t t = 0; t < tensors.size(); ++t)
    for (size_t i = 0; i < tensors[t].size(); ++i) tensors[t][i] = gradient(rank, t, i);
}

bool is_sum(const std::vector<Tensor>& tensors, int ranks) {
  const auto times = static_cast<float>(ranks * (ranks + 1) / 2);
  for (size_t t = 0; t < tensors.size(); ++t)
    for (size_t i = 0; i < tensors[t].size(); ++i)
      if (tensors[t][i] != times * gradient(0, t, i)) return false;
  return true;
}

// Elements [first, first + count) of the list as one datatype of absolute addresses.
sglcoll::Datatype list_type(std::vector<Tensor>& tensors, int64_t first, int64_t count) {
  std::vector<int64_t> lengths, addresses;
  for (Tensor& tensor : tensors) {
    auto size = static_cast<int64_t>(tensor.size());
    int64_t from = std::clamp<int64_t>(first, 0, size),
            to = std::clamp<int64_t>(first + count, 0, size);
    if (from < to) {
      lengths.push_back(to - from);
      addresses.push_back(reinterpret_cast<int64_t>(tensor.data() + from));
    }
    first -= size;
  }
  return sglcoll::Datatype::hindexed(lengths, addresses, SGLCOLL_FLOAT);
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Outcome {
  double median_ms;
  uint64_t bytes_packed;
  bool right;
};

template <class Exchange>
Outcome run(const sglcoll::World& world, std::vector<Tensor>& tensors, Exchange exchange) {
  constexpr int kRuns = 7;
  std::vector<double> times;
  sglcoll_counters before{}, after{};
  bool right = true;
  for (int i = 0; i < kRuns; ++i) {
    fill(tensors, world.rank());
    world.barrier();
    sglcoll::check(sglcoll_counters_get(world.get(), &before));
    double start = now_ms();
    exchange();
    times.push_back(now_ms() - start);
    sglcoll::check(sglcoll_counters_get(world.get(), &after));
    right = right && is_sum(tensors, world.size());
  }
  std::sort(times.begin(), times.end());
  return {times[kRuns / 2], after.bytes_packed - before.bytes_packed, right};
}

void report(const sglcoll::World& world, const char* name, const Outcome& outcome, double bytes) {
  int32_t mine = outcome.right, all = 0;
  sglcoll::check(sglcoll_allreduce(&mine, &all, 1, SGLCOLL_INT32, SGLCOLL_MIN, world.get()));
  if (world.rank() != 0) return;
  // What the library copied into buffers of its own to send it from there.
  std::string packed = "nothing packed";
  if (outcome.bytes_packed > 0)
    packed = std::to_string((outcome.bytes_packed + 999) / 1000) + " kB packed";
  std::printf("  %-44s %9.2f ms  %6.2f GB/s  %-16s  %s\n", name, outcome.median_ms,
              bytes / outcome.median_ms / 1e6, packed.c_str(), all ? "right" : "WRONG");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tensor_bucket FILE (a line a tensor: NAME DIM [DIM ...])\n");
    return 2;
  }
  sglcoll::World world;
  std::vector<Tensor> tensors = load_tensors(argv[1]);
  int64_t elements = 0;
  for (const Tensor& tensor : tensors) elements += static_cast<int64_t>(tensor.size());
  const double bytes = static_cast<double>(elements) * sizeof(float);
  if (world.rank() == 0)
    std::printf("tensor_bucket: %zu tensors, %lld float32 (%.1f MB), %d ranks\n", tensors.size(),
                static_cast<long long>(elements), bytes / 1e6, world.size());

  // Absolute addresses: the buffer is the null address.
  sglcoll::Datatype whole = list_type(tensors, 0, elements);
  auto allreduce = [&] {
    sglcoll::check(
        sglcoll_allreduce(SGLCOLL_IN_PLACE, nullptr, 1, whole, SGLCOLL_SUM, world.get()));
  };
  Outcome direct = run(world, tensors, allreduce);
  report(world, "allreduce on the list's datatype", direct, bytes);

  // Reduce-scatter + allgather: the shard of each rank is a part of the list.
  const int64_t shard = (elements + world.size() - 1) / world.size();
  const int64_t padded = shard * world.size();
  std::vector<float> mine(static_cast<size_t>(shard)), flat(static_cast<size_t>(padded));
  Tensor padding(static_cast<size_t>(padded - elements) + 1);
  std::vector<int64_t> counts;
  for (int i = 0; i < world.size(); ++i)
    counts.push_back(std::clamp<int64_t>(elements - i * shard, 0, shard));
  std::vector<sglcoll::Datatype> shards;
  std::vector<sglcoll_type> parts;
  for (int i = 0; i < world.size(); ++i) {
    shards.push_back(list_type(tensors, i * shard, counts[static_cast<size_t>(i)]));
    parts.push_back(shards.back());
  }
  // Every rank's part is reduced to its owner, then broadcast back into place.
  auto scatter_gather = [&] {
    std::vector<sglcoll_request> requests(static_cast<size_t>(world.size()));
    for (int root = 0; root < world.size(); ++root) {
      bool own = root == world.rank();
      sglcoll::check(sglcoll_ireduce(own ? SGLCOLL_IN_PLACE : nullptr, nullptr, 1,
                                     parts[static_cast<size_t>(root)], SGLCOLL_SUM, root,
                                     world.get(), &requests[static_cast<size_t>(root)]));
    }
    sglcoll::check(sglcoll_waitall(world.size(), requests.data()));
    for (int root = 0; root < world.size(); ++root)
      sglcoll::check(sglcoll_ibcast(nullptr, 1, parts[static_cast<size_t>(root)], root, world.get(),
                                    &requests[static_cast<size_t>(root)]));
    sglcoll::check(sglcoll_waitall(world.size(), requests.data()));
  };
  Outcome split = run(world, tensors, scatter_gather);
  report(world, "reduce + bcast of shards, nonblocking", split, bytes);

  auto flattened = [&] {
    float* to = flat.data();
    for (const Tensor& tensor : tensors) to = std::copy(tensor.begin(), tensor.end(), to);
    std::fill(to, flat.data() + padded, 0.0F);
    world.reduce_scatter_block(flat, mine);
    world.allgather(mine, flat);
    const float* from = flat.data();
    for (Tensor& tensor : tensors) {
      std::copy(from, from + tensor.size(), tensor.begin());
      from += tensor.size();
    }
  };
  Outcome flat_way = run(world, tensors, flattened);
  report(world, "flatten, reduce_scatter + allgather, unflatten", flat_way, bytes);
  if (world.rank() == 0) {
    std::printf("  the flatten way also copies 2 x %.1f MB by itself on each rank\n", bytes / 1e6);
    std::printf("  flatten / datatype: %.2f\n", flat_way.median_ms / direct.median_ms);
  }
  return direct.right && split.right && flat_way.right ? 0 : 1;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "tensor_bucket: %s\n", failure.what());
  return 1;
}
