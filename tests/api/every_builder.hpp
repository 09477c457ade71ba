// The checks of a collective once for each of its builders that fits a number of ranks.
#pragma once

#include "api/oracle.hpp"
#include "collectives/builder.hpp"
#include "support/draws.hpp"

#include <cstdlib>
#include <string>

namespace sgl::test {

// Others refuse every call by name.
inline bool supported(const Builder& builder, int size) {
  Problem problem;
  problem.collective = builder.collective;
  problem.size = size;
  problem.blocks = Blocks::uniform(size, 4);
  problem.grain = 4;
  return fits(builder, problem);
}

// Calls visit(named check) with SGLCOLL_ALGORITHM forcing the builder. Under a sanitizer each
// number of ranks has its part of the builders.
template <class Visit>
void for_every_builder(int size, Visit visit) {
  CaseSampler sampler(static_cast<uint64_t>(size));
  for (const Builder& builder : all_builders()) {
    const std::string collective = collective_name(builder.collective);
    if (!supported(builder, size)) continue;
    for (const NamedCheck& named : kChecks) {
      if (named.collective != collective || !sampler.take()) continue;
      const std::string forced = collective + "=" + builder.name;
      SCOPED_TRACE(forced);
      setenv("SGLCOLL_ALGORITHM", forced.c_str(), 1);
      visit(named);
    }
  }
  unsetenv("SGLCOLL_ALGORITHM");
}

}  // namespace sgl::test
