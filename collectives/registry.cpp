// The table of all builders.
#include "collectives/builders.hpp"

#include <iterator>

namespace sgl {

std::span<const Builder> all_builders() {
  static const Builder table[] = {
      allgather_direct(Collective::allgather),
      allgather_ring(Collective::allgather),
      allgather_neighbor_exchange(Collective::allgather),
      allgather_recursive_doubling(Collective::allgather),
      allgather_bruck(Collective::allgather),
      allgather_two_level(Collective::allgather),

      allgather_direct(Collective::allgatherv),
      allgather_ring(Collective::allgatherv),
      allgather_neighbor_exchange(Collective::allgatherv),
      allgather_recursive_doubling(Collective::allgatherv),
      allgather_bruck(Collective::allgatherv),
      allgather_two_level(Collective::allgatherv),

      reduce_scatter_direct(Collective::reduce_scatter_block),
      reduce_scatter_ring(Collective::reduce_scatter_block),
      reduce_scatter_recursive_halving(Collective::reduce_scatter_block),
      reduce_scatter_pairwise(Collective::reduce_scatter_block),
      reduce_scatter_two_level(Collective::reduce_scatter_block),

      reduce_scatter_direct(Collective::reduce_scatter),
      reduce_scatter_ring(Collective::reduce_scatter),
      reduce_scatter_recursive_halving(Collective::reduce_scatter),
      reduce_scatter_pairwise(Collective::reduce_scatter),
      reduce_scatter_two_level(Collective::reduce_scatter),

      allreduce_direct(),
      allreduce_direct_whole(),
      allreduce_recursive_doubling(),
      allreduce_rabenseifner(),
      allreduce_ring(),
      allreduce_two_level(),

      reduce_direct(),
      reduce_cooperative(),
      reduce_binomial(),
      reduce_double_tree(),

      bcast_direct(),
      bcast_cooperative(),
      bcast_binomial(),
      bcast_knomial(),
      bcast_chain(),
      bcast_scatter_allgather(),
      bcast_double_tree(),

      gather_direct(Collective::gather),
      gather_binomial(),
      gather_linear(Collective::gather),

      gather_direct(Collective::gatherv),
      gather_linear(Collective::gatherv),

      scatter_direct(Collective::scatter),
      scatter_binomial(),
      scatter_linear(Collective::scatter),

      scatter_direct(Collective::scatterv),
      scatter_linear(Collective::scatterv),

      alltoall_direct(Collective::alltoall),
      alltoall_pairwise(Collective::alltoall),
      alltoall_linear(Collective::alltoall),
      alltoall_bruck(),

      alltoall_direct(Collective::alltoallv),
      alltoall_pairwise(Collective::alltoallv),
      alltoall_linear(Collective::alltoallv),

      alltoall_direct(Collective::alltoallw),
      alltoall_pairwise(Collective::alltoallw),
      alltoall_linear(Collective::alltoallw),

      barrier_direct(),
      barrier_dissemination(),
      barrier_two_level(),
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
