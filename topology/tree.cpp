#include "topology/tree.hpp"

#include "topology/rank_places.hpp"

#include <algorithm>
#include <utility>

namespace sgl {
namespace {

// Gives every rank of a k-nomial tree its parent: members[0] is the root, member v hangs
// on the member whose number is v with its lowest nonzero digit (to the base radix) cleared.
// Children come out with the highest digit, so the largest subtree, first.
void add_knomial(std::span<const int> members, int radix, RankTree* tree) {
  const auto count = static_cast<int64_t>(members.size());
  int64_t place = 1;
  while (place < count) place *= radix;
  for (place /= radix; place >= 1; place /= radix) {
    for (int64_t v = 0; v < count; v += place) {
      if (v % (place * radix) == 0) continue;
      const int64_t parent = v - v % (place * radix);
      tree->parent[members[v]] = members[parent];
      tree->children[members[parent]].push_back(members[v]);
    }
  }
}

class TreeBuilder {
 public:
  TreeBuilder(std::span<const RankPath> paths, int root, int radix)
      : paths_(paths), root_(root), radix_(radix) {
    const size_t ranks = paths.size();
    tree_.root = root;
    tree_.parent.assign(ranks, -1);
    tree_.children.resize(ranks);
  }

  RankTree build() {
    const std::vector<int> ranks = ranks_by_path(paths_);
    connect(ranks, 0);
    return std::move(tree_);
  }

 private:
  static constexpr size_t kDepth = 1 + kLevelCount;  // the node, then its levels

  // The domain of a rank at the level of this depth. All ranks of a node without a place
  // are in one that no other rank is in, at every level.
  int domain_of(int rank, size_t depth) const {
    const RankPath& path = paths_[static_cast<size_t>(rank)];
    if (depth == 0) return path.node;
    return path.known() ? path.domain[depth - 1] : -2;
  }

  int leader_of(std::span<const int> ranks) const {
    return std::ranges::find(ranks, root_) != ranks.end() ? root_
                                                          : *std::ranges::min_element(ranks);
  }

  // Connects the leaders of the domains that `ranks` (by place) have at the level of this
  // depth, and the ranks of each domain. Recursion is at most one call a level deep.
  void connect(std::span<const int> ranks, size_t depth) {
    const int leader = leader_of(ranks);
    if (depth == kDepth) {
      std::vector<int> members(ranks.begin(), ranks.end());
      std::stable_partition(members.begin(), members.end(),
                            [&](int rank) { return rank == leader; });
      return add_knomial(members, radix_, &tree_);
    }
    std::vector<std::span<const int>> parts;
    for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
      while (end < ranks.size() && domain_of(ranks[end], depth) == domain_of(ranks[begin], depth))
        ++end;
      parts.push_back(ranks.subspan(begin, end - begin));
    }
    // The tree's neighbours are near each other when it starts at the leader's part and
    // goes around.
    const auto own = std::ranges::find_if(
        parts, [&](auto part) { return std::ranges::find(part, leader) != part.end(); });
    std::rotate(parts.begin(), own, parts.end());
    std::vector<int> leaders;
    leaders.reserve(parts.size());
    for (auto part : parts) leaders.push_back(leader_of(part));
    add_knomial(leaders, radix_, &tree_);
    for (auto part : parts) connect(part, depth + 1);
  }

  std::span<const RankPath> paths_;
  int root_;
  int radix_;
  RankTree tree_;
};

}  // namespace

int RankTree::depth() const {
  int deepest = 0;
  std::vector<std::pair<int, int>> open = {{root, 0}};  // rank, its depth
  while (!open.empty()) {
    const auto [rank, at] = open.back();
    open.pop_back();
    deepest = std::max(deepest, at);
    for (int child : children[rank]) open.emplace_back(child, at + 1);
  }
  return deepest;
}

Result<RankTree> shape_tree(const Node& node, std::span<const int> pu_of_rank, int root,
                            int radix) {
  return shape_tree(rank_paths(node, pu_of_rank), root, radix);
}

Result<RankTree> shape_tree(std::span<const RankPath> paths, int root, int radix) {
  if (paths.empty()) return error(SGLCOLL_ERR_ARG, "a tree needs at least one rank");
  if (root < 0 || root >= static_cast<int>(paths.size()))
    return error(SGLCOLL_ERR_ARG, "root={} is not one of the ranks 0 to {}", root,
                 paths.size() - 1);
  if (radix < 2)
    return error(SGLCOLL_ERR_ARG, "radix={} makes no tree: it must be 2 or more", radix);
  return TreeBuilder(paths, root, radix).build();
}

int leader_near(const Node& node, std::span<const int> pu_of_rank, const NearDevice& device) {
  const std::vector<int> places = rank_places(node, pu_of_rank);
  int nearest = -1, nearest_distance = 0;
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const int distance = places[rank] == kNowhere ? static_cast<int>(node.levels.size())
                                                  : node.distance(places[rank], device);
    if (nearest < 0 || distance < nearest_distance) nearest = rank, nearest_distance = distance;
  }
  return nearest;
}

int choose_leader(const Node& node, std::span<const int> pu_of_rank) {
  if (node.devices.empty()) return pu_of_rank.empty() ? -1 : 0;
  return leader_near(node, pu_of_rank, node.devices.front());
}

}  // namespace sgl
