#include "schedule/cases.hpp"

#include <random>

#include <fmt/format.h>

namespace sgl::test {
namespace {

constexpr int64_t kUnknownBytes = 77;

std::vector<int64_t> drawn_bytes(const Case& of, int count) {
  std::mt19937_64 random(of.seed);
  std::vector<int64_t> bytes;
  for (int block = 0; block < count; ++block) {
    const int64_t drawn = static_cast<int64_t>(random() % (2 * of.elements + 1));
    int64_t elements = 0;
    switch (of.counts) {
      case Counts::uniform:
        elements = of.elements;
        break;
      case Counts::irregular:
        elements = drawn;
        break;
      case Counts::some_zero:
        elements = random() % 2 ? drawn : 0;
        break;
      case Counts::all_zero:
        break;
    }
    bytes.push_back(elements * of.grain);
  }
  return bytes;
}

Blocks blocks_for(const Case& of, int rank) {
  const int64_t elements = of.counts == Counts::all_zero ? 0 : of.elements;
  if (of.collective == Collective::barrier) return Blocks::uniform(of.size, 0);
  if (of.collective == Collective::allreduce || of.collective == Collective::reduce ||
      of.collective == Collective::bcast)
    return Blocks::uniform(1, elements * of.grain);
  if (!has_irregular_blocks(of.collective)) return Blocks::uniform(of.size, elements * of.grain);
  std::vector<int64_t> bytes = drawn_bytes(of, of.size);
  if (is_rooted(of.collective) && rank != of.root)
    for (int block = 0; block < of.size; ++block)
      if (block != rank) bytes[block] = kUnknownBytes;
  return Blocks::per_rank(bytes);
}

std::vector<int> node_of_rank(const Case& of) {
  std::mt19937_64 random(of.seed);
  std::vector<int> nodes;
  for (int rank = 0; rank < of.size; ++rank) {
    switch (of.grouping) {
      case Grouping::none:
        nodes.push_back(0);
        break;
      case Grouping::pairs:
        nodes.push_back(rank / 2);
        break;
      case Grouping::uneven:
        nodes.push_back((rank + 2) / 3);
        break;
      case Grouping::halves:
        nodes.push_back(2 * rank / of.size);
        break;
      case Grouping::dealt:
        nodes.push_back(rank % 3);
        break;
      case Grouping::drawn:
        nodes.push_back(static_cast<int>(random() % 5));
        break;
    }
  }
  return nodes;
}

// What each pair exchanges, by sender and receiver; in place the same both ways.
void set_pair_blocks(const Case& of, Problem* problem) {
  const std::vector<int64_t> drawn = drawn_bytes(of, of.size * of.size);
  auto bytes = [&](int from, int to) {
    if (of.in_place && from > to) std::swap(from, to);
    return drawn[static_cast<size_t>(from * of.size + to)];
  };
  std::vector<int64_t> come, go;
  for (int peer = 0; peer < of.size; ++peer) {
    come.push_back(bytes(peer, problem->rank));
    go.push_back(bytes(problem->rank, peer));
  }
  problem->blocks = Blocks::per_rank(come);
  if (!of.in_place) problem->send_blocks = Blocks::per_rank(go);
}

}  // namespace

bool is_reduction(Collective collective) {
  return collective == Collective::reduce_scatter_block ||
         collective == Collective::reduce_scatter || collective == Collective::allreduce ||
         collective == Collective::reduce;
}

bool has_pair_blocks(Collective collective) {
  return collective == Collective::alltoallv || collective == Collective::alltoallw;
}

bool has_irregular_blocks(Collective collective) {
  return collective == Collective::allgatherv || collective == Collective::reduce_scatter ||
         collective == Collective::gatherv || collective == Collective::scatterv ||
         has_pair_blocks(collective);
}

std::vector<Problem> problems_of(const Case& of) {
  const std::shared_ptr<const RankNodes> nodes = group_by_node(node_of_rank(of));
  std::vector<Problem> problems;
  for (int rank = 0; rank < of.size; ++rank) {
    Problem problem;
    problem.collective = of.collective;
    problem.rank = rank;
    problem.size = of.size;
    problem.root = of.root;
    if (has_pair_blocks(of.collective))
      set_pair_blocks(of, &problem);
    else
      problem.blocks = blocks_for(of, rank);
    problem.grain = of.grain;
    problem.in_place = of.in_place;
    problem.commutative = of.commutative;
    problem.chunk_bytes = of.chunk_bytes;
    problem.nodes = nodes;
    problems.push_back(problem);
  }
  return problems;
}

std::string describe(const Case& of) {
  static constexpr const char* kCounts[] = {"uniform", "irregular", "some_zero", "all_zero"};
  static constexpr const char* kGroupings[] = {
      "", ", in pairs", ", in threes", ", in halves", ", dealt to nodes", ", drawn nodes"};
  return fmt::format(
      "{} of {} ranks{}, root {}, {} counts of {} elements (seed {}), grain {}{}{}, chunks of {}",
      collective_name(of.collective), of.size, kGroupings[static_cast<int>(of.grouping)], of.root,
      kCounts[static_cast<int>(of.counts)], of.elements, of.seed, of.grain,
      of.in_place ? ", in place" : "", of.commutative ? "" : ", not commutative", of.chunk_bytes);
}

std::span<const Grouping> groupings(std::string_view builder_name) {
  static constexpr Grouping kNone[] = {Grouping::none};
  static constexpr Grouping kAll[] = {Grouping::pairs, Grouping::uneven, Grouping::halves,
                                      Grouping::dealt, Grouping::drawn};
  if (builder_name == "two_level") return kAll;
  return kNone;
}

}  // namespace sgl::test
