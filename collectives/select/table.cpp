#include "collectives/select/table.hpp"

#include <bit>

namespace sgl {
namespace {

constexpr int64_t KiB = 1024;

// On a node. Not from the literature but for tuning by measurement: see docs/algorithms.md.
// From here a broadcast or reduction is worth sharing among the ranks' processors.
constexpr int64_t kCooperativeBytes = 64 * KiB;
constexpr int kCooperativeRanks = 3;
// Up to here an allreduce of whole vectors, in one step, beats two steps on pieces: of
// one vector, and of what a rank takes in.
constexpr int64_t kWholeBytes = 2 * KiB;
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
// A block; from here passing it through inner ranks costs more than a start-up at the
// root (as Open MPI's choice for gather, Pjesivac-Grbovic et al. 2007).
constexpr int64_t kGatherLinearBytes = 6 * KiB;

bool power_of_two(int size) {
  return std::has_single_bit(static_cast<unsigned>(size));
}

std::string_view network_allgather(const Problem& problem) {
  const int64_t total = problem.blocks.total();
  if (total < kAllgatherLongBytes && power_of_two(problem.size)) return "recursive_doubling";
  if (total < kAllgatherShortBytes) return "bruck";
  // Half the steps of a ring for the same bytes (Chen et al. 2005).
  if (total < kAllgatherLongBytes && problem.size % 2 == 0) return "neighbor_exchange";
  return "ring";
}

std::string_view network_reduce_scatter(const Problem& problem) {
  const bool halves = problem.commutative && problem.blocks.total() < kReduceScatterLongBytes;
  return halves ? "recursive_halving" : "pairwise";
}

std::string_view network_allreduce(const Problem& problem) {
  const int64_t total = problem.blocks.total();
  if (total <= kAllreduceShortBytes) return "recursive_doubling";
  const bool ring_pays = total >= kAllreduceRingBytes && !power_of_two(problem.size);
  return ring_pays && problem.commutative ? "ring" : "rabenseifner";
}

std::string_view network_bcast(const Problem& problem) {
  const int64_t total = problem.blocks.total();
  if (problem.size == 2) return "binomial";
  if (total >= kDoubleTreeBytes) return "double_tree";
  if (total < kBcastShortBytes || problem.size < kBcastFewRanks) return "binomial";
  return "scatter_allgather";
}

}  // namespace

std::string_view on_node_choice(const Problem& problem) {
  const int64_t total = problem.blocks.total();
  switch (problem.collective) {
    case Collective::bcast:
    case Collective::reduce:
      return total >= kCooperativeBytes && problem.size >= kCooperativeRanks ? "cooperative"
                                                                             : "direct";
    case Collective::allreduce:
      return total <= kWholeBytes && (problem.size - 1) * total <= kWholeTotalBytes ? "direct_whole"
                                                                                    : "direct";
    case Collective::barrier:
      return problem.size <= kDirectBarrierRanks ? "direct" : "dissemination";
    default:
      return "direct";
  }
}

std::string_view network_choice(const Problem& problem) {
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
      return problem.commutative && problem.blocks.total() >= kDoubleTreeBytes ? "double_tree"
                                                                               : "binomial";
    case Collective::gather:
    case Collective::scatter:
      return problem.blocks.largest() < kGatherLinearBytes ? "binomial" : "linear";
    case Collective::gatherv:
    case Collective::scatterv:
      return "linear";
    case Collective::barrier:
      return "dissemination";
  }
  return "direct";
}

}  // namespace sgl
