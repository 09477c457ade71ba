// PlanReport: the compiled plan of one rank, what it does and costs, and why it was chosen.
#pragma once

#include "explain/edge_model.hpp"
#include "explain/query.hpp"
#include "explain/traffic.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sgl {

// Edges that follow each other and move alike.
struct EdgeLine {
  int transfer = 0;  // in PlanReport::transfers
  int64_t count = 1;
  int first_peer = 0, last_peer = 0;
};

struct StepLine {
  StepKind kind = StepKind::send;
  int64_t count = 1;  // such steps, one after the other
  int64_t bytes = 0;
  std::vector<EdgeLine> edges;
};

// Rounds that follow each other and do alike.
struct RoundLine {
  int64_t first = 0, count = 1;
  std::vector<StepLine> steps;
};

// Predicted, of one call; registration only matters where it is not kept from call to call.
struct TimeParts {
  double control_ns = 0;     // messages that wait for each other
  double descriptor_ns = 0;  // doorbells, completions, work requests, SGEs
  double wire_ns = 0;
  double packing_ns = 0;  // copies into and out of messages
  double reduction_ns = 0;
  double copy_ns = 0;  // within this rank
  double registration_ns = 0;
  double total_ns() const {
    return control_ns + descriptor_ns + wire_ns + packing_ns + reduction_ns + copy_ns;
  }
};

struct Alternative {
  std::string algorithm;
  bool fits = false;
  bool predicted = false;  // not where it would take long and cannot be chosen anyhow
  TimeParts time;
  std::string why;  // it was not chosen
};

struct PlanReport {
  Problem problem;
  std::string algorithm, why, source;
  std::string transport, model;
  bool by_topology = false;                // ring order or trees are of the machine
  ScheduleCost cost;                       // by the algorithm's formula, of the slowest rank
  int64_t rounds = 0, rounds_counted = 0;  // fewer are counted only when there are very many
  int64_t steps = 0;
  int64_t temp_bytes = 0;
  int64_t reduced_bytes = 0, copied_bytes = 0;  // reduce and copy steps of this rank
  Traffic traffic;
  std::vector<Transfer> transfers;
  std::vector<RoundLine> lines;
  int64_t lines_left_out = 0;  // rounds that `lines` does not show
  bool peers_assumed = false;  // some edges' other ends were taken to be like those looked up
  TimeParts time;
  std::vector<Alternative> alternatives;
};

struct ReportOptions {
  int64_t most_lines = 4096;
  bool alternatives = true;
};

// Fails as select_builder() does. The cost is a few 100 ns a round and what compiling each
// kind of edge takes; nothing of O(ranks) is built unless a round itself is.
Result<PlanReport> explain_plan(const PlanQuery& query, const ReportOptions& options = {});

// For people; most_rounds lines of steps.
std::string report_text(const PlanReport& report, int most_rounds = 16);

}  // namespace sgl
