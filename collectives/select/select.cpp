// The choice of an algorithm for a problem: what the user forces, else the table.
#include "collectives/builder.hpp"
#include "collectives/select/forced.hpp"
#include "collectives/select/table.hpp"

#include <cassert>

namespace sgl {
namespace {

bool reduces(Collective collective) {
  return collective == Collective::reduce_scatter_block ||
         collective == Collective::reduce_scatter || collective == Collective::allreduce ||
         collective == Collective::reduce;
}

// Why a forced builder cannot be taken, and what can.
Status check_forced(const Builder& builder, const Problem& problem, bool reproducible) {
  const char* collective = collective_name(problem.collective);
  if (!problem.commutative && !builder.order_preserving)
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "SGLCOLL_ALGORITHM asks for {}={}, which does not keep the order of ranks that a "
                 "non-commutative operation needs: it must be one of {}",
                 collective, builder.name, builder_names(problem, false));
  if (reproducible && reduces(problem.collective) && !builder.fixed_order)
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "SGLCOLL_ALGORITHM asks for {}={}, whose order of reduction depends on the size "
                 "or the root, with SGLCOLL_REPRODUCIBLE=1: it must be one of {}",
                 collective, builder.name, builder_names(problem, true));
  if (!fits(builder, problem))
    return error(
        SGLCOLL_ERR_UNSUPPORTED,
        "SGLCOLL_ALGORITHM asks for {}={}, which cannot run on {} ranks: it must be one of {}",
        collective, builder.name, problem.size, builder_names(problem, false));
  return {};
}

}  // namespace

Result<const Builder*> select_builder(const Problem& problem, bool on_node, std::string_view forced,
                                      bool reproducible) {
  Result<const Builder*> named = forced_builder(problem.collective, forced);
  if (!named.ok()) return std::move(named.status());
  if (const Builder* builder = named.value()) {
    Status fit = check_forced(*builder, problem, reproducible);
    if (!fit.ok()) return fit;
    return builder;
  }
  // All that the table chooses on a node reduces in plain rank order, at any size.
  const bool plain_order = reproducible && reduces(problem.collective);
  const Builder* chosen =
      find_builder(problem.collective,
                   on_node || plain_order ? on_node_choice(problem) : network_choice(problem));
  assert(chosen && fits(*chosen, problem));
  return chosen;
}

}  // namespace sgl
