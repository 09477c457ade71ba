// ScheduleSummary: one rank's schedule of a builder, walked round by round and summed up.
#pragma once

#include "explain/report.hpp"

#include <cstdint>
#include <vector>

namespace sgl {

struct ScheduleSummary {
  int64_t rounds = 0, rounds_counted = 0, steps = 0;
  int64_t temp_bytes = 0, reduced_bytes = 0, copied_bytes = 0;
  Traffic traffic;
  std::vector<Transfer> transfers;
  std::vector<RoundLine> lines;
  int64_t lines_left_out = 0;
  bool peers_assumed = false;
  // Sums over the edges, of both ends.
  int64_t edges = 0, edge_bytes = 0, half_trips = 0;
  double descriptor_ns = 0, packing_ns = 0, wire_ns = 0, registration_ns = 0;
  // Within a node: of the edges by which something comes, and of the others.
  struct NodeEdges {
    int64_t count = 0, bytes = 0;
    double ns = 0, combining_ns = 0, start_ns = 0;
  };
  NodeEdges coming, going;
  double copy_run_bytes = 0;  // of the rank's own copies, the mean of their shorter runs
};

// At most `most_rounds` rounds, from the first on, and `most_lines` kinds of them.
ScheduleSummary summarise(const PlanQuery& query, const Builder& builder, int64_t most_rounds,
                          int64_t most_lines);

// What the whole collective takes: the summary's costs of an edge and of a byte on the
// critical path that the builder's formula gives.
TimeParts predict_time(const PlanQuery& query, const ScheduleCost& cost,
                       const ScheduleSummary& summary);

}  // namespace sgl
