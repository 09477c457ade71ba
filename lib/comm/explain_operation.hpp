// Explaining real operations: as a text on request, and by SGLCOLL_EXPLAIN.
#pragma once

#include "base/status.hpp"
#include "executor/operation.hpp"

#include <string>

namespace sgl {

class World;

// Which operations this process explains on stderr: SGLCOLL_EXPLAIN and SGLCOLL_EXPLAIN_RANK.
class ExplainSetting {
 public:
  // Refuses a name that is no collective.
  static Result<ExplainSetting> from_environment(int world_rank);
  bool wants(Collective collective) const { return mask_ >> static_cast<int>(collective) & 1; }

 private:
  uint32_t mask_ = 0;  // 0 on ranks that are not asked
};
static_assert(kCollectiveCount <= 32);

// The report on a bound operation, as sglcoll-plan prints it. Peers are taken to have the
// layouts of this rank, and contiguous buffers where this rank has none. Costs microseconds
// to seconds, by the number of rounds; sends nothing.
Result<std::string> explain_operation(const World& world, const Operation& operation);
void print_explanation(const World& world, const Operation& operation);

}  // namespace sgl
