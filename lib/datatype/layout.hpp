// Layout: where the bytes of a buffer are, in payload order.
//
// An immutable tree over byte offsets relative to a base address. Its payload
// is the concatenation of its runs in type-map order (not address order).
// Memory is O(description), never O(number of runs): a vector of 2^40 blocks is
// one Loop node. Layouts are value handles: copying one shares the tree, any
// thread may read it.
#pragma once

#include "base/status.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sgl {

enum class LayoutKind : uint8_t {
  empty,    // no bytes
  run,      // `length` bytes at `offset`
  loop,     // `count` copies of a child, copy i moved by offset + i * stride
  seq,      // children one after the other (in payload order)
  indexed,  // one child, copy i moved by displacements[i] (copies in payload order)
};

struct LayoutNode;

// `length` bytes at base + offset.
struct Segment {
  int64_t offset;
  int64_t length;
  bool operator==(const Segment&) const = default;
};

class Layout {
 public:
  Layout();  // empty

  // Constructors of the normal form: each applies the rewrites of
  // docs/datatypes.md (merge adjacent runs, collapse loops, equal gaps to a
  // loop ...), so equal descriptions reach equal trees. Sizes are checked: the
  // caller guarantees that no offset or size overflows 64 bits (Type does).
  static Layout run(int64_t offset, int64_t length);
  static Layout loop(int64_t count, int64_t stride, const Layout& child);
  static Layout seq(const std::vector<Layout>& children);
  // seq() of runs, without a node for each: 16 bytes a run. Those of length 0 count for nothing.
  static Layout runs(std::vector<Segment> runs);
  static Layout indexed(std::vector<int64_t> displacements, const Layout& child);
  Layout shifted(int64_t offset) const;

  int64_t size() const;       // payload bytes
  int64_t true_lb() const;    // lowest offset of a byte, 0 when empty
  int64_t true_ub() const;    // highest offset of a byte + 1, 0 when empty
  int64_t run_count() const;  // runs that a Cursor would yield
  // Shortest and longest run of the tree, 0 when empty; a Cursor's runs may be
  // longer, as it merges those that meet between two copies or children.
  int64_t min_run() const;
  int64_t max_run() const;
  bool empty() const { return size() == 0; }
  // One run: the payload is the bytes [true_lb, true_ub).
  bool contiguous() const;

  const LayoutNode& node() const { return *node_; }

  // Structural equality and hash of the normal form.
  bool operator==(const Layout& other) const;
  uint64_t hash() const;

  // Portable form for the wire, little-endian; deserialise checks every bound
  // and refuses what serialise could not have made.
  void serialise(std::vector<std::byte>* bytes) const;
  static Result<Layout> deserialise(std::span<const std::byte> bytes);

  std::string describe() const;  // e.g. "loop(4096, 8192, run(0, 4096))"
  int64_t memory_bytes() const;  // of the tree

 private:
  friend class NodeFactory;
  explicit Layout(std::shared_ptr<const LayoutNode> node) : node_(std::move(node)) {}
  std::shared_ptr<const LayoutNode> node_;
};

// The parts of a node that its kind names; the totals are of the whole subtree.
struct LayoutNode {
  LayoutKind kind = LayoutKind::empty;
  int depth = 0;                        // nodes on the longest path below this one
  int64_t offset = 0;                   // run, loop: offset of copy 0
  int64_t length = 0;                   // run
  int64_t count = 0;                    // loop; indexed: number of displacements
  int64_t stride = 0;                   // loop
  std::vector<Layout> children;         // loop, indexed: one; seq: those that are no runs
  std::vector<int64_t> displacements;   // indexed
  std::vector<int64_t> payload_starts;  // seq: payload offset of each part
  std::vector<int64_t> run_offsets;     // seq: offset of each part that is a run, else kNoRun +
                                        // the index of the child
  // seq of runs and groups of them, most of which are of one or two units: the same bytes as blocks
  // of one length, whose copies need not look at lengths that no processor can foresee.
  int64_t unit_bytes = 0;             // a power of two; 0: there are no units
  std::vector<int64_t> unit_offsets;  // in payload order
  int64_t size = 0;
  int64_t true_lb = 0, true_ub = 0;
  int64_t first = 0, end = 0;  // offset of the first payload byte, and behind the last one
  int64_t run_count = 0;
  int64_t min_run = 0, max_run = 0;
  uint64_t hash = 0;
};

// No run begins in [kNoRun, kEndNoRun).
inline constexpr int64_t kNoRun = INT64_MIN;
inline constexpr int64_t kEndNoRun = kNoRun / 2;

// The parts of a seq, in payload order: runs, which have no nodes, and children.
inline int64_t seq_parts(const LayoutNode& seq) {
  return static_cast<int64_t>(seq.payload_starts.size());
}
inline bool part_is_run(const LayoutNode& seq, int64_t part) {
  return seq.run_offsets[static_cast<size_t>(part)] >= kEndNoRun;
}
// All parts are runs.
inline bool only_runs(const LayoutNode& seq) {
  return seq.kind == LayoutKind::seq && seq.children.empty();
}
inline Segment run_part(const LayoutNode& seq, int64_t part) {
  const auto index = static_cast<size_t>(part);
  const bool last = index + 1 == seq.payload_starts.size();
  return {seq.run_offsets[index],
          (last ? seq.size : seq.payload_starts[index + 1]) - seq.payload_starts[index]};
}
inline const Layout& child_part(const LayoutNode& seq, int64_t part) {
  return seq.children[static_cast<size_t>(seq.run_offsets[static_cast<size_t>(part)] - kNoRun)];
}

}  // namespace sgl
