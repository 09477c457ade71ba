// Plan: a schedule unrolled for execution, the same for every run of it.
//
// Immutable and shared: the plan cache keeps it, operations run it.
#pragma once

#include "datatype/layout.hpp"
#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sgl {

// One end of a message between this rank and a peer.
struct Edge {
  int peer;  // in the communicator
  uint32_t tag;
  int step;
  int operand;  // receiving for this operand of a reduce step; -1: the step's own slice
  bool sends;
  Slice slice;  // the bytes that leave, or the place where they land
};

struct PlanStep {
  StepKind kind;
  Slice slice;
  int first_operand, operand_count;
  int first_edge, edge_count;  // in Plan::edges
  int first_successor, successor_count;
  int dependencies;
  bool result_is_read = false;  // of a reduction, by a later step of this rank
};

struct PlanOperand {
  Slice slice;
  int edge;  // -1: local
};

// One move of a short run, see Plan::short_run.
struct ShortMove {
  enum class Kind : uint8_t {
    send,     // of an edge
    receive,  // of an edge, into the step's slice
    operand,  // of an edge, kept for its reduction
    fold,     // of an edge whose operand is the last to come: the reduction
    local,    // of a step: a copy, a reduction without peers, or nothing
  };
  Kind kind;
  int step;
  int edge;  // -1: local
};

class Plan {
 public:
  Plan(const Problem& problem, const Schedule& schedule);

  // The edge that a message of (peer, tag) belongs to, or -1. Receiving and
  // sending edges have separate names: an answer to a send names the send.
  int find_edge(int peer, uint32_t tag, bool sends) const;

  // What it occupies, with the little that does not grow with the number of ranks.
  int64_t memory_bytes() const;

  Problem problem;
  std::string algorithm;
  std::vector<PlanStep> steps;
  std::vector<PlanOperand> operands;
  std::vector<int> successors;
  std::vector<int> initial;  // steps without dependencies
  std::vector<Edge> edges;
  std::vector<int64_t> temp_bytes;
  int64_t bytes_to_send = 0, bytes_to_receive = 0;
  int64_t longest_edge = 0;  // bytes
  // The whole plan as one row of moves, for runs in which every edge is one message: what
  // peers wait for as early as it can be. Empty for plans of many steps.
  std::vector<ShortMove> short_run;

 private:
  struct Name {
    uint64_t peer_and_tag;
    int edge;
  };
  int add_edge(Edge edge);
  void unroll(const Schedule& schedule);
  bool reads(const PlanStep& step, const Slice& slice) const;
  void mark_results();
  void index_edges();
  void order_short_run();
  void add_short_moves(int step);
  std::vector<Name> receiving_, sending_;  // sorted
};

}  // namespace sgl
