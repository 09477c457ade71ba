// Builder: one algorithm of one collective, as a pure function from a Problem to
// a rank's Schedule, with what is known of it.
#pragma once

#include "base/node_choices.hpp"
#include "base/status.hpp"
#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"

#include <span>
#include <string>
#include <string_view>

namespace sgl {

// Predicted work of one rank (the slowest), from the literature's formulas.
struct ScheduleCost {
  int64_t steps = 0;          // messages on the critical path
  int64_t bytes = 0;          // bytes a rank sends on the critical path
  int64_t reduced_bytes = 0;  // bytes a rank reduces
};

struct Builder {
  Collective collective;
  const char* name;                  // "ring", "recursive_doubling", "direct" ...
  const char* source;                // citation
  bool order_preserving;             // keeps rank order, so fits non-commutative operations
  bool on_node;                      // meant for ranks that read each other's memory
  bool (*supports)(const Problem&);  // null: every problem
  Schedule (*build)(const Problem&);
  ScheduleCost (*cost)(const Problem&);
  // Every element is reduced in an order that depends on the rank count only.
  bool fixed_order = false;
};

// Every builder, collective by collective; the first of a collective fits any problem.
std::span<const Builder> all_builders();
const Builder* find_builder(Collective collective, std::string_view name);

// Builders of the collective whose `supports` and order fit the problem.
bool fits(const Builder& builder, const Problem& problem);

// Why the builder cannot take the problem, as the end of a sentence about it; ok when it can.
Status check_fit(const Builder& builder, const Problem& problem, bool reproducible);

// The choice for a problem. `forced` is SGLCOLL_ALGORITHM's text: a builder named
// there is used, or refused with a text that says why it does not fit. on_node:
// all ranks share memory. reproducible: only builders of fixed order for reductions. why
// (may be null) gets what decided. forced_by: where `forced` is from, for texts. choices: the
// same on all ranks of a node.
Result<const Builder*> select_builder(const Problem& problem, bool on_node, std::string_view forced,
                                      bool reproducible = false, std::string* why = nullptr,
                                      std::string_view forced_by = "SGLCOLL_ALGORITHM",
                                      const NodeChoices& choices = {});
// Refuses SGLCOLL_ALGORITHM text that names no collective or builder (with the right names).
Status check_algorithm_setting(std::string_view forced);

}  // namespace sgl
