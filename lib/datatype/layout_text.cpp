// The text of a layout and the memory that it takes.
#include "datatype/node.hpp"

#include <unordered_set>

#include <fmt/format.h>

namespace sgl {
namespace {

// A text is for people: beyond these it says how much is left out.
constexpr size_t kMaxListed = 16;
constexpr size_t kMaxTextBytes = 4096;

void append(std::string* text, const LayoutNode& node, int64_t offset);

void append_run(std::string* text, const Segment& run) {
  *text += fmt::format("run({}, {})", run.offset, run.length);
}

void append_moved(std::string* text, const LayoutNode& node, int64_t offset) {
  if (offset == 0 || node.kind == LayoutKind::run) return append(text, node, offset);
  *text += fmt::format("at({}, ", offset);
  append(text, node, 0);
  *text += ')';
}

void append_seq(std::string* text, const LayoutNode& node) {
  *text += "seq(";
  for (int64_t i = 0; i < seq_parts(node); ++i) {
    if (i > 0) *text += ", ";
    if (i == static_cast<int64_t>(kMaxListed) || text->size() > kMaxTextBytes) {
      *text += fmt::format("... {} more", seq_parts(node) - i);
      break;
    }
    if (part_is_run(node, i))
      append_run(text, run_part(node, i));
    else
      append(text, child_part(node, i).node(), 0);
  }
  *text += ')';
}

void append_indexed(std::string* text, const LayoutNode& node) {
  *text += "indexed({";
  for (size_t i = 0; i < node.displacements.size(); ++i) {
    if (i > 0) *text += ", ";
    if (i == kMaxListed) {
      *text += fmt::format("... {} more", node.displacements.size() - i);
      break;
    }
    *text += fmt::format("{}", node.displacements[i]);
  }
  *text += "}, ";
  append(text, node.children[0].node(), 0);
  *text += ')';
}

void append(std::string* text, const LayoutNode& node, int64_t offset) {
  if (text->size() > kMaxTextBytes) {
    *text += "...";
    return;
  }
  switch (node.kind) {
    case LayoutKind::empty:
      *text += "empty";
      return;
    case LayoutKind::run:
      return append_run(text, {offset + node.offset, node.length});
    case LayoutKind::loop:
      if (node.count == 1) return append_moved(text, node.children[0].node(), node.offset);
      *text += fmt::format("loop({}, {}, ", node.count, node.stride);
      append_moved(text, node.children[0].node(), node.offset);
      *text += ')';
      return;
    case LayoutKind::seq:
      return append_seq(text, node);
    case LayoutKind::indexed:
      return append_indexed(text, node);
  }
}

using Seen = std::unordered_set<const LayoutNode*>;

int64_t memory_of(const LayoutNode& node, Seen* seen) {
  if (!seen->insert(&node).second) return 0;
  // A node and the two counters of the pointer that owns it.
  size_t bytes = sizeof(LayoutNode) + 2 * sizeof(void*);
  bytes += node.children.capacity() * sizeof(Layout);
  bytes += (node.displacements.capacity() + node.payload_starts.capacity() +
            node.run_offsets.capacity() + node.unit_offsets.capacity()) *
           sizeof(int64_t);
  auto total = static_cast<int64_t>(bytes);
  for (const Layout& child : node.children) total += memory_of(child.node(), seen);
  return total;
}

}  // namespace

std::string Layout::describe() const {
  std::string text;
  append(&text, *node_, 0);
  return text;
}

int64_t Layout::memory_bytes() const {
  Seen seen;
  return memory_of(*node_, &seen);
}

}  // namespace sgl
