// Arrangement: the order and the trees that a communicator's schedules take from where its
// ranks run.
#pragma once

#include "schedule/problem.hpp"
#include "topology/rank_path.hpp"

#include <memory>
#include <vector>

namespace sgl {

class Arrangement {
 public:
  Arrangement() = default;  // by rank numbers
  // paths[r] is of rank r and the same on all ranks. O(P log P).
  explicit Arrangement(std::vector<RankPath> paths);

  // Whether any schedule is other than it would be by rank numbers.
  bool matters() const { return order_ || shapes_trees_ || nodes_; }
  // Gives the problem the order, and the tree from its root, where they change something.
  // O(1), or O(P log P) for a tree of another root than the last.
  void apply(Problem* problem) const;

 private:
  std::vector<RankPath> paths_;
  std::shared_ptr<const RankOrder> order_;
  std::shared_ptr<const RankNodes> nodes_;
  bool shapes_trees_ = false;
  mutable std::shared_ptr<const RankTree> last_tree_;
};

}  // namespace sgl
