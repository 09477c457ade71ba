// The choice of an algorithm for a problem: what the user forces, else the table.
#include "collectives/builder.hpp"
#include "collectives/select/forced.hpp"
#include "collectives/select/table.hpp"

#include <string>

namespace sgl {
namespace {

Status refuse(const Builder& builder, const Problem& problem) {
  const char* collective = collective_name(problem.collective);
  if (!problem.commutative && !builder.order_preserving)
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "SGLCOLL_ALGORITHM asks for {}={}, which does not keep the order of ranks that a "
                 "non-commutative operation needs; these do: {}",
                 collective, builder.name, fitting_names(problem));
  return error(SGLCOLL_ERR_UNSUPPORTED,
               "SGLCOLL_ALGORITHM asks for {}={}, which does not support {} ranks with {} bytes; "
               "these do: {}",
               collective, builder.name, problem.size, problem.blocks.total(),
               fitting_names(problem));
}

}  // namespace

Result<const Builder*> select_builder(const Problem& problem, bool on_node,
                                      std::string_view forced) {
  Result<const Builder*> named = forced_builder(problem.collective, forced);
  if (!named.ok()) return std::move(named.status());
  if (const Builder* builder = named.value()) {
    if (!fits(*builder, problem)) return refuse(*builder, problem);
    return builder;
  }
  const Builder* chosen = find_builder(problem.collective, table_choice(problem, on_node));
  if (chosen && fits(*chosen, problem)) return chosen;
  for (const Builder& builder : all_builders())
    if (fits(builder, problem)) return &builder;
  return error(SGLCOLL_ERR_INTERNAL, "no algorithm of {} fits {} ranks",
               collective_name(problem.collective), problem.size);
}

}  // namespace sgl
