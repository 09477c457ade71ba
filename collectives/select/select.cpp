// The choice of an algorithm for a problem: what the user forces, else the table.
#include "collectives/builder.hpp"
#include "collectives/select/forced.hpp"
#include "collectives/select/table.hpp"

#include <cassert>

#include <fmt/format.h>

namespace sgl {
namespace {

bool reduces(Collective collective) {
  return collective == Collective::reduce_scatter_block ||
         collective == Collective::reduce_scatter || collective == Collective::allreduce ||
         collective == Collective::reduce;
}

}  // namespace

Status check_fit(const Builder& builder, const Problem& problem, bool reproducible) {
  if (!problem.commutative && !builder.order_preserving && problem.size > 1)
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "does not keep the order of ranks that a non-commutative operation needs");
  if (reproducible && reduces(problem.collective) && !builder.fixed_order)
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "reduces in an order that depends on the size or the root, with "
                 "SGLCOLL_REPRODUCIBLE=1");
  if (!fits(builder, problem))
    return error(SGLCOLL_ERR_UNSUPPORTED, "cannot run on {} ranks", problem.size);
  return {};
}

Result<const Builder*> select_builder(const Problem& problem, bool on_node, std::string_view forced,
                                      bool reproducible, std::string* why,
                                      std::string_view forced_by, const NodeChoices& choices) {
  Result<const Builder*> named = forced_builder(problem.collective, forced);
  if (!named.ok()) return std::move(named.status());
  if (const Builder* builder = named.value()) {
    Status unfit = check_fit(*builder, problem, reproducible);
    if (!unfit.ok())
      return error(unfit.code(), "{} asks for {}={}, which {}: it must be one of {}", forced_by,
                   collective_name(problem.collective), builder->name, unfit.text(),
                   builder_names(problem, reproducible && reduces(problem.collective)));
    if (why) *why = fmt::format("{} asks for it", forced_by);
    return builder;
  }
  // All that the table chooses on a node reduces in plain rank order, at any size.
  const bool plain_order = reproducible && reduces(problem.collective);
  const Choice choice =
      on_node || plain_order ? on_node_choice(problem, choices) : network_choice(problem);
  const Builder* chosen = find_builder(problem.collective, choice.builder);
  assert(chosen && fits(*chosen, problem));
  if (why) *why = plain_order ? "SGLCOLL_REPRODUCIBLE=1 wants a fixed order" : choice.why;
  return chosen;
}

}  // namespace sgl
