// The builders' entries of the table in registry.cpp, one file of collectives/<coll>/
// each. Where several collectives share an algorithm, the entry is made for the one
// that is asked for.
#pragma once

#include "collectives/builder.hpp"

namespace sgl {

Builder allgather_direct(Collective collective);
Builder allgather_ring(Collective collective);
Builder allgather_neighbor_exchange(Collective collective);
Builder allgather_recursive_doubling(Collective collective);
Builder allgather_bruck(Collective collective);

Builder reduce_scatter_direct(Collective collective);
Builder reduce_scatter_ring(Collective collective);
Builder reduce_scatter_recursive_halving(Collective collective);
Builder reduce_scatter_pairwise(Collective collective);

Builder allreduce_direct();
Builder allreduce_direct_whole();
Builder allreduce_recursive_doubling();
Builder allreduce_rabenseifner();
Builder allreduce_ring();

Builder reduce_direct();
Builder reduce_cooperative();
Builder reduce_binomial();
Builder reduce_double_tree();

Builder bcast_direct();
Builder bcast_cooperative();
Builder bcast_binomial();
Builder bcast_knomial();
Builder bcast_chain();
Builder bcast_scatter_allgather();
Builder bcast_double_tree();

Builder gather_direct(Collective collective);
Builder gather_binomial();
Builder gather_linear(Collective collective);

Builder scatter_direct(Collective collective);
Builder scatter_binomial();
Builder scatter_linear(Collective collective);

Builder alltoall_direct(Collective collective);
Builder alltoall_pairwise(Collective collective);
Builder alltoall_linear(Collective collective);
Builder alltoall_bruck();

Builder barrier_direct();
Builder barrier_dissemination();

Builder allgather_two_level(Collective collective);
Builder reduce_scatter_two_level(Collective collective);
Builder allreduce_two_level();
Builder barrier_two_level();

}  // namespace sgl
