// Steps down a layout's tree that pack and copy share. Internal to lib/sgl.
#pragma once

#include "datatype/layout.hpp"

#include <algorithm>
#include <cstdint>

namespace sgl {

// The node below a loop or indexed. Parts of a seq: seq_parts(), part_is_run() ...
inline const LayoutNode& repeated(const LayoutNode& node) {
  return node.children[0].node();
}

// Copy or part `index`, which is no run of a seq.
inline const LayoutNode& child_of(const LayoutNode& node, int64_t index) {
  return node.kind == LayoutKind::seq ? child_part(node, index).node() : repeated(node);
}
inline bool is_run_part(const LayoutNode& node, int64_t index) {
  return node.kind == LayoutKind::seq && part_is_run(node, index);
}
// Payload bytes of copy or part `index`.
inline int64_t size_of(const LayoutNode& node, int64_t index) {
  return is_run_part(node, index) ? run_part(node, index).length : child_of(node, index).size;
}

inline int64_t child_count(const LayoutNode& node) {
  return node.kind == LayoutKind::seq ? seq_parts(node) : node.count;
}

// How far copy or child `index` is moved against the node itself.
inline int64_t moved_by(const LayoutNode& node, int64_t index) {
  switch (node.kind) {
    case LayoutKind::loop:
      return node.offset + index * node.stride;
    case LayoutKind::indexed:
      return node.displacements[static_cast<size_t>(index)];
    default:
      return 0;
  }
}

// The copy or child that holds payload byte `skip`, and the bytes before it in there.
struct ChildPosition {
  int64_t index, skip;
};
inline ChildPosition locate(const LayoutNode& node, int64_t skip) {
  if (skip == 0) return {0, 0};
  if (node.kind != LayoutKind::seq) {
    const int64_t size = repeated(node).size;
    return {skip / size, skip % size};
  }
  const auto& starts = node.payload_starts;
  const auto after = std::upper_bound(starts.begin(), starts.end(), skip);
  const int64_t index = after - starts.begin() - 1;
  return {index, skip - starts[static_cast<size_t>(index)]};
}

}  // namespace sgl
