// Walks a view's payload in blocks of runs of one length. Internal to copy.
#pragma once

#include "sgl/view.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgl {

// Run i is at first + (displacements ? displacements[i] : i * stride).
struct RunBlock {
  std::byte* first;
  int64_t length;  // of a run
  int64_t count;   // at least 1
  int64_t stride;
  const int64_t* displacements;

  std::byte* run(int64_t i) const {
    return first + (displacements != nullptr ? displacements[i] : i * stride);
  }
};

// A copy of runs in the tree is one block; a run of which a part is taken, or that
// has no equal neighbours, is a block of one. Blocks may pass the view's end.
// Allocates only for layouts more than 16 nodes deep. Not copyable.
class BlockWalker {
 public:
  explicit BlockWalker(const View& view);
  BlockWalker(const BlockWalker&) = delete;
  BlockWalker& operator=(const BlockWalker&) = delete;

  // What is left of the current block. Only while payload is left.
  RunBlock block() const;
  // Moves on, at most by the bytes of block().
  void take(int64_t bytes);

 private:
  struct Frame {
    const LayoutNode* node;
    int64_t index;      // of the copy or child that the walk is in
    std::byte* memory;  // the node's base
  };
  void descend(const LayoutNode& node, std::byte* memory, int64_t skip);
  void enter_leaf(const LayoutNode& node, std::byte* memory, int64_t skip);
  void enter_run(const Segment& run, std::byte* memory, int64_t skip);
  void next_leaf();

  static constexpr size_t kInlineDepth = 16;
  std::array<Frame, kInlineDepth> inline_frames_;
  std::vector<Frame> deep_frames_;
  Frame* frames_ = nullptr;
  size_t depth_ = 0;

  // The leaf: a run, or a loop or indexed of one run.
  RunBlock leaf_{};
  int64_t index_ = 0;   // of the current run
  int64_t within_ = 0;  // bytes of it that are taken
};

}  // namespace sgl
