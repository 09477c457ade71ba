#include "sglperf/traffic.hpp"

#include <algorithm>

namespace perf {
namespace {

bool any_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool to_all(const std::string& name) {
  return any_of(name, {"allgather", "allgatherv"});
}
bool between_all(const std::string& name) {
  return any_of(name, {"alltoall", "alltoallv", "alltoallw"});
}
bool to_root(const std::string& name) {
  return any_of(name, {"gather", "gatherv"});
}
bool from_root(const std::string& name) {
  return any_of(name, {"scatter", "scatterv"});
}
bool reduces_blocks(const std::string& name) {
  return any_of(name, {"reduce_scatter", "reduce_scatter_block"});
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names{
      "allgather",      "allgatherv", "reduce_scatter_block",
      "reduce_scatter", "allreduce",  "reduce",
      "bcast",          "gather",     "gatherv",
      "scatter",        "scatterv",   "alltoall",
      "alltoallv",      "alltoallw",  "barrier"};
  return names;
}

bool is_reduction(const std::string& name) {
  return reduces_blocks(name) || any_of(name, {"allreduce", "reduce"});
}

int blocks_sent(const std::string& name, int rank, int size, int root) {
  if (reduces_blocks(name) || between_all(name)) return size;
  if (from_root(name)) return rank == root ? size : 0;
  return any_of(name, {"bcast", "barrier"}) ? 0 : 1;
}

int blocks_received(const std::string& name, int rank, int size, int root) {
  if (to_all(name) || between_all(name)) return size;
  if (to_root(name)) return rank == root ? size : 0;
  if (name == "reduce") return rank == root ? 1 : 0;
  return name == "barrier" ? 0 : 1;
}

double algorithm_blocks(const std::string& name, int size) {
  if (name == "barrier") return 0;
  const bool one = any_of(name, {"allreduce", "reduce", "bcast"});
  return one ? 1 : size;
}

double bus_factor(const std::string& name, int size) {
  double others = size - 1;
  if (name == "allreduce") return 2 * others / size;
  return any_of(name, {"bcast", "reduce"}) ? 1 : others / size;
}

double copied_blocks(const std::string& name, int size) {
  double ranks = size;
  if (to_all(name) || between_all(name)) return ranks * ranks;
  if (to_root(name) || from_root(name) || name == "allreduce") return ranks;
  if (reduces_blocks(name)) return (ranks * ranks + ranks) / 2;
  if (name == "reduce") return (ranks + 1) / 2;
  return name == "bcast" ? ranks - 1 : 0;
}

}  // namespace perf
