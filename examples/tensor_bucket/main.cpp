// The parameter exchange of data-parallel training: the gradients of a network, each
// tensor its own allocation, are summed over all ranks.
//
// One datatype over the addresses of all tensors stands for the whole list. The
// exchange by reduce-scatter and allgather on it is compared with the usual way:
// flatten into one array, exchange, unflatten.
//
//   sglrun -n 4 tensor_bucket FILE        FILE: a line a tensor, NAME DIM [DIM ...]
#include "support/command_line.hpp"
#include "traffic.hpp"

#include <sglcoll/sglcoll.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Tensor = std::vector<float>;

// Empty, and *wrong told, when the file is no list of tensors.
std::vector<Tensor> load_tensors(const std::string& path, std::string* wrong) {
  std::ifstream file(path);
  std::vector<Tensor> tensors;
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    std::string name;
    if (!(words >> name) || name[0] == '#') continue;
    size_t elements = 1;
    for (size_t dim = 0; words >> dim;) elements *= dim;
    if (!words.eof()) {
      wrong->assign(path).append(": \"").append(line).append("\" is not NAME DIM [DIM ...]");
      return {};
    }
    tensors.emplace_back(elements);
  }
  if (tensors.empty()) *wrong = path + " has no line NAME DIM [DIM ...]";
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
  const int sum_of_ranks = ranks * (ranks + 1) / 2;
  const auto times = static_cast<float>(sum_of_ranks);
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
  std::string traffic;
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
  return {times[kRuns / 2], examples::traffic_between(before, after), right};
}

void report(const sglcoll::World& world, const char* name, const Outcome& outcome, double bytes) {
  int32_t mine = outcome.right, all = 0;
  sglcoll::check(sglcoll_allreduce(&mine, &all, 1, SGLCOLL_INT32, SGLCOLL_MIN, world.get()));
  if (world.rank() != 0) return;
  std::printf("  %-49s %9.2f ms  %6.2f GB/s  %s  %s\n", name, outcome.median_ms,
              bytes / outcome.median_ms / 1e6, outcome.traffic.c_str(), all ? "right" : "WRONG");
}

int64_t count_elements(const std::vector<Tensor>& tensors) {
  int64_t elements = 0;
  for (const Tensor& tensor : tensors) elements += static_cast<int64_t>(tensor.size());
  return elements;
}

// The elements of a rank's shard, the last ones' maybe fewer.
int64_t shard_elements(const sglcoll::World& world, int64_t elements) {
  return (elements + world.size() - 1) / world.size();
}

Outcome allreduce_list(const sglcoll::World& world, std::vector<Tensor>& tensors) {
  // Absolute addresses: the buffer is the null address.
  sglcoll::Datatype whole = list_type(tensors, 0, count_elements(tensors));
  return run(world, tensors, [&] {
    sglcoll::check(
        sglcoll_allreduce(SGLCOLL_IN_PLACE, nullptr, 1, whole, SGLCOLL_SUM, world.get()));
  });
}

// Every rank's part of the list is reduced to its owner, then broadcast back into place.
Outcome exchange_shards(const sglcoll::World& world, std::vector<Tensor>& tensors) {
  const int64_t elements = count_elements(tensors), shard = shard_elements(world, elements);
  std::vector<sglcoll::Datatype> parts;
  parts.reserve(static_cast<size_t>(world.size()));
  for (int i = 0; i < world.size(); ++i)
    parts.push_back(
        list_type(tensors, i * shard, std::clamp<int64_t>(elements - i * shard, 0, shard)));
  return run(world, tensors, [&] {
    std::vector<sglcoll_request> requests(parts.size());
    for (int root = 0; root < world.size(); ++root) {
      const auto i = static_cast<size_t>(root);
      const void* own = root == world.rank() ? SGLCOLL_IN_PLACE : nullptr;
      sglcoll::check(
          sglcoll_ireduce(own, nullptr, 1, parts[i], SGLCOLL_SUM, root, world.get(), &requests[i]));
    }
    sglcoll::check(sglcoll_waitall(world.size(), requests.data()));
    for (int root = 0; root < world.size(); ++root) {
      const auto i = static_cast<size_t>(root);
      sglcoll::check(sglcoll_ibcast(nullptr, 1, parts[i], root, world.get(), &requests[i]));
    }
    sglcoll::check(sglcoll_waitall(world.size(), requests.data()));
  });
}

Outcome exchange_flattened(const sglcoll::World& world, std::vector<Tensor>& tensors) {
  const int64_t shard = shard_elements(world, count_elements(tensors));
  std::vector<float> mine(static_cast<size_t>(shard)),
      flat(static_cast<size_t>(shard * world.size()));
  return run(world, tensors, [&] {
    auto to = flat.begin();
    for (const Tensor& tensor : tensors) to = std::copy(tensor.begin(), tensor.end(), to);
    std::fill(to, flat.end(), 0.0F);
    world.reduce_scatter_block(flat, mine);
    world.allgather(mine, flat);
    const float* from = flat.data();
    for (Tensor& tensor : tensors) {
      std::copy(from, from + tensor.size(), tensor.begin());
      from += tensor.size();
    }
  });
}

// Whether all sums are right.
bool compare_ways(const sglcoll::World& world, std::vector<Tensor>& tensors) {
  const int64_t elements = count_elements(tensors);
  const double bytes = static_cast<double>(elements) * sizeof(float);
  if (world.rank() == 0)
    std::printf("tensor_bucket: %zu tensors, %lld float32 (%.1f MB), %d ranks\n", tensors.size(),
                static_cast<long long>(elements), bytes / 1e6, world.size());
  Outcome direct = allreduce_list(world, tensors);
  report(world, "allreduce on the list's datatype", direct, bytes);
  Outcome shards = exchange_shards(world, tensors);
  report(world, "reduce + bcast of shards, nonblocking", shards, bytes);
  Outcome flattened = exchange_flattened(world, tensors);
  report(world, "flatten, reduce_scatter + allgather, unflatten", flattened, bytes);
  if (world.rank() == 0) {
    std::printf("  the flatten way also copies 2 x %.1f MB by itself on each rank\n", bytes / 1e6);
    std::printf("  flatten / datatype: %.2f\n", flattened.median_ms / direct.median_ms);
  }
  return direct.right && shards.right && flattened.right;
}

int run_example(int argc, char** argv) {
  sglcoll::World world;
  std::vector<Tensor> tensors;
  CLI::App app(
      "Sums the gradients of a network over all ranks: on one datatype of all tensors, and by\n"
      "flattening them into one array.");
  app.add_option_function<std::string>(
         "FILE",
         [&](const std::string& path) {
           std::string wrong;
           tensors = load_tensors(path, &wrong);
           if (!wrong.empty()) throw CLI::ValidationError("FILE", wrong);
         },
         "a line a tensor: NAME DIM [DIM ...]")
      ->required()
      ->check(CLI::ExistingFile);
  if (auto status = sgl::parse_command_line(&app, "tensor_bucket", argc, argv, world.rank() == 0)) {
    world.barrier();  // it is told before a rank ends the job
    return *status;
  }
  return compare_ways(world, tensors) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_example(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tensor_bucket: %s\n", sgl::reason_of(failure));
    return 1;
  }
}
