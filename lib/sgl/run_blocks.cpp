#include "sgl/run_blocks.hpp"

#include "sgl/layout_steps.hpp"

namespace sgl {
namespace {

bool is_leaf(const LayoutNode& node) {
  if (node.kind == LayoutKind::run) return true;
  return node.kind != LayoutKind::seq && repeated(node).kind == LayoutKind::run;
}

}  // namespace

BlockWalker::BlockWalker(const View& view) {
  frames_ = inline_frames_.data();
  const LayoutNode& root = view.layout->node();
  if (view.length == 0) return;
  if (root.depth > static_cast<int>(kInlineDepth)) {
    deep_frames_.resize(static_cast<size_t>(root.depth));
    frames_ = deep_frames_.data();
  }
  descend(root, view.base, view.offset);
}

void BlockWalker::descend(const LayoutNode& root, std::byte* memory, int64_t skip) {
  const LayoutNode* node = &root;
  while (!is_leaf(*node)) {
    const ChildPosition position = locate(*node, skip);
    frames_[depth_++] = {node, position.index, memory};
    skip = position.skip;
    if (is_run_part(*node, position.index))
      return enter_run(run_part(*node, position.index), memory, skip);
    memory += moved_by(*node, position.index);
    node = &child_of(*node, position.index);
  }
  enter_leaf(*node, memory, skip);
}

void BlockWalker::enter_run(const Segment& run, std::byte* memory, int64_t skip) {
  leaf_ = {memory + run.offset, run.length, 1, 0, nullptr};
  index_ = 0;
  within_ = skip;
}

void BlockWalker::enter_leaf(const LayoutNode& node, std::byte* memory, int64_t skip) {
  if (node.kind == LayoutKind::run) return enter_run({node.offset, node.length}, memory, skip);
  const LayoutNode& run = repeated(node);
  const bool indexed = node.kind == LayoutKind::indexed;
  leaf_ = {memory + run.offset + (indexed ? 0 : node.offset), run.length, node.count, node.stride,
           indexed ? node.displacements.data() : nullptr};
  const ChildPosition position = locate(node, skip);
  index_ = position.index;
  within_ = position.skip;
}

void BlockWalker::next_leaf() {
  while (depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    if (++frame.index < child_count(*frame.node)) {
      const LayoutNode& node = *frame.node;
      if (is_run_part(node, frame.index))
        return enter_run(run_part(node, frame.index), frame.memory, 0);
      return descend(child_of(node, frame.index), frame.memory + moved_by(node, frame.index), 0);
    }
    --depth_;
  }
}

RunBlock BlockWalker::block() const {
  if (within_ > 0) return {leaf_.run(index_) + within_, leaf_.length - within_, 1, 0, nullptr};
  const int64_t count = leaf_.count - index_;
  if (leaf_.displacements != nullptr) {
    return {leaf_.first, leaf_.length, count, 0, leaf_.displacements + index_};
  }
  return {leaf_.first + index_ * leaf_.stride, leaf_.length, count, leaf_.stride, nullptr};
}

void BlockWalker::take(int64_t bytes) {
  within_ += bytes;
  if (within_ < leaf_.length) return;
  if (within_ < 2 * leaf_.length) {
    ++index_;
    within_ -= leaf_.length;
  } else {
    index_ += within_ / leaf_.length;
    within_ %= leaf_.length;
  }
  if (index_ == leaf_.count) next_leaf();
}

}  // namespace sgl
