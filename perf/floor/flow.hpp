// Which blocks a collective moves and adds up, and where they are.
#pragma once

#include "floor/runs.hpp"
#include "floor/workers.hpp"
#include "sglperf/pattern.hpp"

#include <string>
#include <vector>

namespace perf {

// A block of one layout: of a rank's send or receive buffer.
struct Place {
  int rank;
  bool received;
  int block;
};

struct Move {
  Place from;
  std::vector<Place> to;
};

// The sum of an operand of each rank, its own among them, made by the owner, for all of `to`.
struct Sum {
  int owner;
  std::vector<Place> from;  // by rank
  std::vector<Place> to;
  bool shared = false;  // each rank may be the owner of a share of it
};

struct Flow {
  std::vector<Move> moves;
  std::vector<Sum> sums;
};

// With root 0.
Flow flow_of(const std::string& collective, int ranks);

// The buffers of all ranks, several calls of them, at one address in all workers. Rank r is
// played by worker r modulo their number.
class Field {
 public:
  // Bytes that the buffers of all ranks take.
  static int64_t bytes_of(const std::string& collective, int ranks, const Shape& shape, int calls);

  Field(std::byte* memory, const std::string& collective, int ranks, const Shape& shape, int calls);
  int ranks() const { return ranks_; }
  int calls() const { return calls_; }
  const Shape& shape() const { return shape_; }
  const std::string& collective() const { return collective_; }
  std::byte* at(Place place, int call) const {
    const size_t buffer = static_cast<size_t>(place.rank) * 2 + (place.received ? 1 : 0);
    return memory_ + starts_[buffer] + call * steps_[buffer] + place.block * extent_bytes_;
  }

  // New inputs of the first `calls` calls of a worker's ranks; whether its ranks' results are
  // right.
  void write(const Worker& worker, uint32_t salt, int calls) const;
  bool verify(const Worker& worker, uint32_t salt, int calls) const;

 private:
  Pattern pattern_of(int rank, uint32_t salt) const { return {collective_, 0, rank, ranks_, salt}; }
  Buffers buffers_of(int rank, int call) const;

  std::byte* memory_;
  std::string collective_;
  int ranks_;
  const Shape& shape_;
  int calls_;
  int64_t extent_bytes_;
  std::vector<int64_t> starts_, steps_;  // send and receive buffer of each rank
};

}  // namespace perf
