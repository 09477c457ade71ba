#include "datatype/cursor.hpp"

#include <algorithm>

namespace sgl {
namespace {

// How far copy or child `index` of a node is moved against the node itself.
int64_t moved_by(const LayoutNode& node, int64_t index) {
  switch (node.kind) {
    case LayoutKind::loop:
      return node.offset + index * node.stride;
    case LayoutKind::indexed:
      return node.displacements[static_cast<size_t>(index)];
    default:
      return 0;
  }
}

int64_t part_count_of(const LayoutNode& node) {
  return node.kind == LayoutKind::seq ? seq_parts(node) : node.count;
}

// Writes `copies` runs of `length` bytes: those of copies index, index + 1 ...
void fill(const LayoutNode& node, int64_t index, int64_t copies, int64_t base, int64_t length,
          Segment* segments) {
  if (node.kind == LayoutKind::loop) {
    int64_t offset = base + node.offset + index * node.stride;
    for (int64_t i = 0; i < copies; ++i) {
      segments[i] = {offset + i * node.stride, length};
    }
    return;
  }
  const int64_t* displacements = node.displacements.data() + index;
  for (int64_t i = 0; i < copies; ++i) segments[i] = {base + displacements[i], length};
}

// Writes the parts of a seq from `part` on, as far as they are runs and fit. Returns how many.
int64_t fill_from_seq(const LayoutNode& node, int64_t part, int64_t base,
                      std::span<Segment> segments, int64_t max_bytes) {
  const int64_t parts = seq_parts(node);
  size_t used = 0;
  for (; part < parts && part_is_run(node, part) && used < segments.size(); ++part, ++used) {
    const Segment run = run_part(node, part);
    if (run.length > max_bytes) break;
    max_bytes -= run.length;
    segments[used] = {base + run.offset, run.length};
  }
  return static_cast<int64_t>(used);
}

}  // namespace

void Cursor::attach(const Layout& layout) {
  layout_ = layout;
  frames_.reserve(static_cast<size_t>(layout.node().depth));
  seek(0);
}

void Cursor::seek(int64_t position) {
  position_ = position;
  frames_.clear();
  run_ = {0, 0};
  if (position < layout_.size()) descend(&layout_.node(), 0, position);
}

// Enters `node`, moved by `offset`, at its payload byte `within`.
void Cursor::descend(const LayoutNode* node, int64_t offset, int64_t within) {
  while (node->kind != LayoutKind::run) {
    int64_t index = 0;
    if (within > 0 && node->kind == LayoutKind::seq) {
      const auto& starts = node->payload_starts;
      index = std::upper_bound(starts.begin(), starts.end(), within) - starts.begin() - 1;
      within -= starts[static_cast<size_t>(index)];
    } else if (within > 0) {
      const int64_t child_size = node->children[0].size();
      index = within / child_size;
      within -= index * child_size;
    }
    frames_.push_back({node, index, offset});
    if (node->kind != LayoutKind::seq) {
      offset += moved_by(*node, index);
      node = &node->children[0].node();
    } else if (part_is_run(*node, index)) {
      const Segment run = run_part(*node, index);
      run_ = {offset + run.offset + within, run.length - within};
      return;
    } else {
      node = &child_part(*node, index).node();
    }
  }
  run_ = {offset + node->offset + within, node->length - within};
}

// The first run of the frame's copy or part.
void Cursor::enter(const Frame& frame) {
  const LayoutNode& node = *frame.node;
  if (node.kind != LayoutKind::seq)
    return descend(&node.children[0].node(), frame.offset + moved_by(node, frame.index), 0);
  if (!part_is_run(node, frame.index))
    return descend(&child_part(node, frame.index).node(), frame.offset, 0);
  run_ = run_part(node, frame.index);
  run_.offset += frame.offset;
}

void Cursor::step_to_next_run() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (++frame.index < part_count_of(*frame.node)) return enter(Frame(frame));
    frames_.pop_back();
  }
  run_ = {0, 0};
}

// With the current run used up: the following whole runs of the innermost node;
// no two of them are adjacent. Leaves the last as the current
// one, used up.
size_t Cursor::take_runs(std::span<Segment> segments, int64_t max_bytes) {
  if (frames_.empty()) return 0;
  Frame& frame = frames_.back();
  const LayoutNode& node = *frame.node;
  if (node.kind == LayoutKind::seq) {
    const int64_t taken = fill_from_seq(node, frame.index + 1, frame.offset, segments, max_bytes);
    frame.index += taken;
    for (const Segment& segment : segments.first(static_cast<size_t>(taken))) {
      position_ += segment.length;
    }
    return static_cast<size_t>(taken);
  }
  const LayoutNode& run = node.children[0].node();
  if (run.kind != LayoutKind::run) return 0;
  const int64_t copies = std::min({node.count - frame.index - 1,
                                   static_cast<int64_t>(segments.size()), max_bytes / run.length});
  if (copies <= 0) return 0;
  fill(node, frame.index + 1, copies, frame.offset + run.offset, run.length, segments.data());
  frame.index += copies;
  position_ += copies * run.length;
  return static_cast<size_t>(copies);
}

size_t Cursor::next(std::span<Segment> segments, int64_t max_bytes) {
  size_t used = 0;
  while (run_.length > 0 && max_bytes > 0) {
    const int64_t length = std::min(run_.length, max_bytes);
    if (used > 0 && segments[used - 1].offset + segments[used - 1].length == run_.offset) {
      segments[used - 1].length += length;
    } else if (used < segments.size()) {
      segments[used++] = {run_.offset, length};
    } else {
      break;
    }
    max_bytes -= length;
    position_ += length;
    run_ = {run_.offset + length, run_.length - length};
    if (run_.length > 0) break;
    const int64_t before = position_;
    used += take_runs(segments.subspan(used), max_bytes);
    max_bytes -= position_ - before;
    step_to_next_run();
  }
  return used;
}

Segment Cursor::peek(int64_t max_bytes) const {
  return {run_.offset, std::min(run_.length, max_bytes)};
}

void Cursor::advance(int64_t bytes) {
  bytes = std::min(bytes, layout_.size() - position_);
  if (bytes > run_.length) return seek(position_ + bytes);
  position_ += bytes;
  run_ = {run_.offset + bytes, run_.length - bytes};
  if (run_.length == 0) step_to_next_run();
}

}  // namespace sgl
