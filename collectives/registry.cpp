// The table of all builders.
#include "collectives/builders.hpp"

#include <iterator>

namespace sgl {

std::span<const Builder> all_builders() {
  static const Builder table[] = {
      allgather_direct(Collective::allgather),
      allgather_ring(Collective::allgather),

      allgather_direct(Collective::allgatherv),
      allgather_ring(Collective::allgatherv),

      barrier_direct(),
      barrier_dissemination(),
  };
  return table;
}

const Builder* find_builder(Collective collective, std::string_view name) {
  for (const Builder& builder : all_builders())
    if (builder.collective == collective && builder.name == name) return &builder;
  return nullptr;
}

bool fits(const Builder& builder, const Problem& problem) {
  if (builder.collective != problem.collective) return false;
  if (!problem.commutative && !builder.order_preserving) return false;
  return !builder.supports || builder.supports(problem);
}

}  // namespace sgl
