// The ways in which a collective's blocks can be moved by workers.
#pragma once

#include "floor/copies.hpp"
#include "floor/flow.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace perf {

// One way, as one worker does it; all have the same ways in the same order.
struct Way {
  std::string name;
  Kind kind = Kind::loops;
  int64_t chunk = 0;  // bytes, 0: none
  std::function<void(int call)> run;
};

// What all ways start from.
struct Scene {
  Worker& worker;
  const Field& field;
  Flow flow;
  Runs runs;  // of one block

  int player(int rank) const { return rank % worker.count(); }
  bool mine(int rank) const { return player(rank) == worker.index(); }
};

// Shares of the sources' workers in what goes from one worker to another, of 1: none, all, half
// and the one that loads the workers equally.
std::vector<double> pushed_shares(const Scene& scene);

// Each worker reads and writes all memory.
std::vector<Way> direct_ways(const Scene& scene);

// Memory of the others is read and written by the kernel.
std::vector<Way> kernel_ways(const Scene& scene);

// Through slots in shared memory. `slots` as slot_memory() reserved before the workers started.
class Slots;
std::shared_ptr<Slots> slot_memory(int workers);
std::vector<Way> staged_ways(const Scene& scene, const std::shared_ptr<Slots>& slots);

}  // namespace perf
