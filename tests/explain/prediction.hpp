// What explain predicts for a call, compared with what the counters say of running it.
#pragma once

#include "collectives/builder.hpp"
#include "explain/report.hpp"
#include "plan/plan_options.hpp"

#include <sglcoll/sglcoll.h>

#include <functional>
#include <span>
#include <string>

namespace sgl::test {

struct LayoutCase {
  const char *send, *recv, *bytes;
};
// Below and above the eager limit; reads, writes, posted lists, fragments; lists that end unevenly.
std::span<const LayoutCase> layout_cases();

plan::Options options_for(const Builder& builder, int size, int rank, const LayoutCase& layout);

// How a test looks on from outside the library.
struct Onlooker {
  // Meets the other ranks without the library.
  std::function<void()> meet;
  // Around each call that is compared; `predicted` is of that call.
  std::function<void()> before = [] {};
  std::function<void(const PlanReport& predicted, const sglcoll_counters& grown)> after =
      [](const PlanReport&, const sglcoll_counters&) {};
};

// Of one rank; SGLCOLL_ALGORITHM is set for the builder.
void compare_on_rank(sglcoll_comm world, const Builder& builder, const LayoutCase& layout,
                     const Onlooker& onlooker);

// Every builder that fits a number of ranks, with SGLCOLL_ALGORITHM set for it.
void for_each_fitting_builder(int size, const std::function<void(const Builder& builder)>& body);

sglcoll_counters difference(const sglcoll_counters& before, const sglcoll_counters& after);

}  // namespace sgl::test
