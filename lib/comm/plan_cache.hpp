// PlanCache: the plans of a communicator by problem, and idle operations of each,
// so that a call that was made before neither plans nor allocates.
#pragma once

#include "executor/operation.hpp"
#include "executor/plan.hpp"

#include <memory>
#include <vector>

namespace sgl {

class PlanCache {
 public:
  struct Entry {
    std::shared_ptr<const Plan> plan;
    std::vector<std::unique_ptr<Operation>> idle;
  };

  // The entry of an equal problem, or null.
  Entry* find(const Problem& problem);
  // At most kMaxPlans are kept; the oldest goes.
  Entry& insert(std::shared_ptr<const Plan> plan);
  void clear() { entries_.clear(); }

 private:
  static constexpr size_t kMaxPlans = 256;
  static constexpr size_t kMaxIdle = 8;
  friend class Communicator;
  std::vector<std::unique_ptr<Entry>> entries_;  // most recently used first
};

bool same_problem(const Problem& a, const Problem& b);

}  // namespace sgl
