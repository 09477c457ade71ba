#include "collectives/select/table.hpp"

#include "collectives/patterns/doubling.hpp"

namespace sgl {
namespace {

constexpr int64_t KiB = 1024;

// On a node. Not from the literature but for tuning by measurement: see docs/algorithms.md.
// NodeChoices has the sizes that sglcoll-tune measures.
constexpr int kCooperativeRanks = 3;
// An allreduce of whole vectors, in one step, beats two steps on pieces up to NodeChoices'
// size of a vector, if a rank takes in no more than this.
constexpr int64_t kWholeTotalBytes = 32 * KiB;
// Up to this many ranks a barrier of one step beats one of log2 P.
constexpr int kDirectBarrierRanks = 8;

// Over a network: MPICH's defaults, from Thakur, Rabenseifner, Gropp 2005, except
// where noted. Bytes are of the whole vector.
constexpr int64_t kAllgatherShortBytes = 80 * KiB;
constexpr int64_t kAllgatherLongBytes = 512 * KiB;
constexpr int64_t kReduceScatterLongBytes = 512 * KiB;
constexpr int64_t kAllreduceShortBytes = 2 * KiB;
constexpr int64_t kBcastShortBytes = 12 * KiB;
constexpr int kBcastFewRanks = 8;
// From here the two-tree algorithms (Sanders, Speck, Traeff 2009) have pieces enough to
// fill their pipelines.
constexpr int64_t kDoubleTreeBytes = 512 * KiB;
// From here a ring beats folding to a power of two (Patarasuk, Yuan 2009): the fold
// moves the whole vector twice more.
constexpr int64_t kAllreduceRingBytes = 512 * KiB;
// Up to here one rank speaks for its node: fewer messages go over the network, and the same
// bytes once. Beyond, all ranks of a node share the work of sending and reducing.
constexpr int64_t kAllreduceTwoLevelBytes = 512 * KiB;
// A block; from here passing it through inner ranks costs more than a start-up at the
// root (as Open MPI's choice for gather, Pjesivac-Grbovic et al. 2007).
constexpr int64_t kGatherLinearBytes = 6 * KiB;

// A block of an alltoall: up to here passing it on pays when there are enough ranks; from
// there on one partner at a time keeps messages from meeting in the network.
constexpr int64_t kAlltoallBruckBytes = 256;
constexpr int kAlltoallBruckRanks = 8;
constexpr int64_t kAlltoallPairwiseBytes = 32 * KiB;

// A plan is unrolled to be run: beyond so many ranks, memory for each of them (docs/algorithms.md,
// section 6) costs more than what an algorithm of log P rounds moves twice.
constexpr int kRingRanks = 4096;

Choice network_allgather(const Problem& problem) {
  const int64_t total = problem.blocks.total();
  if (problem.nodes && problem.nodes->consecutive && total < kAllgatherLongBytes)
    return {"two_level", "less than 512 KiB in all and nodes of several ranks"};
  if (problem.size > kRingRanks)
    return {is_power_of_two(problem.size) ? "recursive_doubling" : "bruck",
            "more than 4096 ranks, whose rounds a ring's plan would have"};
  if (total < kAllgatherLongBytes && is_power_of_two(problem.size))
    return {"recursive_doubling", "less than 512 KiB in all and a power of two of ranks"};
  if (total < kAllgatherShortBytes)
    return {"bruck", "less than 80 KiB in all, no power of two of ranks"};
  // Half the steps of a ring for the same bytes (Chen et al. 2005).
  if (total < kAllgatherLongBytes && problem.size % 2 == 0)
    return {"neighbor_exchange", "80 to 512 KiB in all and an even number of ranks"};
  return {"ring", total < kAllgatherLongBytes ? "80 to 512 KiB in all, an odd number of ranks"
                                              : "512 KiB or more in all"};
}

Choice network_reduce_scatter(const Problem& problem) {
  if (!problem.commutative) return {"pairwise", "the operation does not commute"};
  if (problem.nodes && problem.nodes->consecutive &&
      problem.blocks.total() < kReduceScatterLongBytes)
    return {"two_level", "less than 512 KiB in all and nodes of several ranks"};
  if (problem.size > kRingRanks)
    return {"recursive_halving", "more than 4096 ranks, whose rounds a pairwise plan would have"};
  if (problem.blocks.total() < kReduceScatterLongBytes)
    return {"recursive_halving", "less than 512 KiB in all and the operation commutes"};
  return {"pairwise", "512 KiB or more in all"};
}

Choice network_allreduce(const Problem& problem) {
  const int64_t total = problem.blocks.total();
  if (problem.nodes && problem.commutative && total < kAllreduceTwoLevelBytes)
    return {"two_level", "less than 512 KiB and nodes of several ranks"};
  if (total <= kAllreduceShortBytes) return {"recursive_doubling", "2 KiB or less"};
  const bool ring_pays = total >= kAllreduceRingBytes && !is_power_of_two(problem.size);
  if (problem.size > kRingRanks)
    return {"rabenseifner", "more than 4096 ranks, whose rounds a ring's plan would have"};
  if (ring_pays && problem.commutative)
    return {"ring", "512 KiB or more and no power of two of ranks"};
  return {"rabenseifner", ring_pays ? "the operation does not commute"
                          : total < kAllreduceRingBytes
                              ? "2 to 512 KiB"
                              : "more than 2 KiB and a power of two of ranks"};
}

Choice network_bcast(const Problem& problem) {
  const int64_t total = problem.blocks.total();
  if (problem.size == 2) return {"binomial", "two ranks"};
  if (total >= kDoubleTreeBytes) return {"double_tree", "512 KiB or more"};
  if (total < kBcastShortBytes) return {"binomial", "less than 12 KiB"};
  if (problem.size < kBcastFewRanks) return {"binomial", "less than 512 KiB and than 8 ranks"};
  if (problem.size > kRingRanks)
    return {"double_tree",
            "12 to 512 KiB and more than 4096 ranks, whose rounds a ring would have"};
  return {"scatter_allgather", "12 to 512 KiB and 8 ranks or more"};
}

Choice network_alltoall(const Problem& problem) {
  const int64_t block = problem.blocks.largest();
  if (block > kAlltoallPairwiseBytes) return {"pairwise", "blocks of more than 32 KiB"};
  if (block > kAlltoallBruckBytes) return {"linear", "blocks of 256 bytes to 32 KiB"};
  if (problem.size < kAlltoallBruckRanks) return {"linear", "less than 8 ranks"};
  return {"bruck", "blocks of 256 bytes or less and 8 ranks or more"};
}

}  // namespace

Choice on_node_choice(const Problem& problem, const NodeChoices& choices) {
  const int64_t total = problem.blocks.total();
  switch (problem.collective) {
    case Collective::bcast:
    case Collective::reduce:
      if (total >= choices.cooperative_bytes && problem.size >= kCooperativeRanks)
        return {"cooperative",
                "the ranks share memory; the tuning's cooperative_bytes or more and 3 "
                "ranks or more"};
      return {"direct",
              "the ranks share memory; less than the tuning's cooperative_bytes or than 3 "
              "ranks"};
    case Collective::allreduce:
      if (total <= choices.whole_bytes && (problem.size - 1) * total <= kWholeTotalBytes)
        return {"direct_whole",
                "the ranks share memory; the tuning's whole_bytes (32 KiB) or less, 32 KiB or less "
                "from all others"};
      if (total >= choices.whole_from_bytes && problem.size == 2)
        return {
            "direct_whole",
            "two ranks with a processor each share memory; the tuning's whole_from_bytes (2 MiB) "
            "or more"};
      return {"direct",
              "the ranks share memory; more than the tuning's whole_bytes (32 KiB), or than 32 KiB "
              "from all others"};
    case Collective::barrier:
      if (problem.size <= kDirectBarrierRanks)
        return {"direct", "the ranks share memory; 8 ranks or less"};
      return {"dissemination", "the ranks share memory; more than 8 ranks"};
    default:
      return {"direct", "the ranks share memory"};
  }
}

Choice network_choice(const Problem& problem) {
  switch (problem.collective) {
    case Collective::allgather:
    case Collective::allgatherv:
      return network_allgather(problem);
    case Collective::reduce_scatter_block:
    case Collective::reduce_scatter:
      return network_reduce_scatter(problem);
    case Collective::allreduce:
      return network_allreduce(problem);
    case Collective::bcast:
      return network_bcast(problem);
    case Collective::reduce:
      if (!problem.commutative) return {"binomial", "the operation does not commute"};
      if (problem.blocks.total() >= kDoubleTreeBytes) return {"double_tree", "512 KiB or more"};
      return {"binomial", "less than 512 KiB"};
    case Collective::gather:
    case Collective::scatter:
      if (problem.blocks.largest() < kGatherLinearBytes)
        return {"binomial", "blocks of less than 6 KiB"};
      return {"linear", "blocks of 6 KiB or more"};
    case Collective::gatherv:
    case Collective::scatterv:
      return {"linear", "the only one for blocks that only the root knows"};
    case Collective::alltoall:
      return network_alltoall(problem);
    case Collective::alltoallv:
    case Collective::alltoallw:
      return {"linear", "no rank knows how long the blocks of others are"};
    case Collective::barrier:
      if (problem.nodes) return {"two_level", "nodes of several ranks"};
      return {"dissemination", "one rank on each node"};
  }
  return {"direct", ""};
}

}  // namespace sgl
