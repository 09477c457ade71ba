// The builders' entries of the table in registry.cpp, one declaration a file of
// collectives/<coll>/. Where several collectives share an algorithm, the entry is
// made for the collective that is asked for.
#pragma once

#include "collectives/builder.hpp"

namespace sgl {

// allgather and allgatherv
Builder allgather_direct(Collective collective);
Builder allgather_ring(Collective collective);

Builder barrier_direct();
Builder barrier_dissemination();

}  // namespace sgl
