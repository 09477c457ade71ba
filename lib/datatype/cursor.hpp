// Cursor: walks the payload of a layout from any byte on, run by run.
#pragma once

#include "datatype/layout.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sgl {

// Resumable and copyable. Allocates only when it is attached to a layout deeper
// than any before; seek is O(depth * log(children)), a step amortised O(1).
class Cursor {
 public:
  Cursor() = default;
  // At payload byte 0 of `layout`, which the cursor keeps alive.
  explicit Cursor(const Layout& layout) { attach(layout); }
  void attach(const Layout& layout);

  // Moves to payload byte `position` in [0, size].
  void seek(int64_t position);
  int64_t position() const { return position_; }
  bool at_end() const { return position_ == layout_.size(); }

  // The next segments of the payload, none of length 0, at most segments.size() of them and at
  // most max_bytes together (the last is cut), and moves past them. Runs that
  // happen to be adjacent are merged. Returns how many were written.
  size_t next(std::span<Segment> segments, int64_t max_bytes);

  // The current run's rest, cut to max_bytes, without moving; length 0 at the end.
  Segment peek(int64_t max_bytes) const;
  // Moves `bytes` on, at most to the end.
  void advance(int64_t bytes);

 private:
  struct Frame {
    const LayoutNode* node;
    int64_t index;   // which copy or child
    int64_t offset;  // by how much the levels above move the node
  };
  void descend(const LayoutNode* node, int64_t offset, int64_t within);
  void enter(const Frame& frame);
  void step_to_next_run();
  size_t take_runs(std::span<Segment> segments, int64_t max_bytes);

  Layout layout_;
  int64_t position_ = 0;
  std::vector<Frame> frames_;
  Segment run_{0, 0};  // rest of the current run
};

}  // namespace sgl
