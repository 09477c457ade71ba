#include "sgl/copy.hpp"

#include "sgl/byte_pattern.hpp"
#include "sgl/copy_kernels.hpp"
#include "sgl/layout_steps.hpp"
#include "sgl/run_blocks.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {
namespace {

// Memory that a struct's members are gathered from, member by member, in one go:
// it should stay in the first-level cache.
constexpr int64_t kMemberTileBytes = 16 << 10;
constexpr int64_t kFewestTileCopies = 8;

// The two directions: `memory` is laid out, `packed` is not.
struct Packing {
  static void run(std::byte* memory, std::byte* packed, int64_t length) {
    std::memcpy(packed, memory, static_cast<size_t>(length));
  }
  static void grid(std::byte* memory, std::byte* packed, const RunGrid& grid) {
    run_kernels(grid.length).pack(packed, memory, grid);
  }
  static void indexed(std::byte* memory, std::byte* packed, const int64_t* displacements,
                      int64_t count, int64_t length) {
    run_kernels(length).pack_indexed(packed, memory, displacements, count, length);
  }
  static void spread(std::byte* memory, int64_t stride, std::byte* packed, int64_t packed_stride,
                     int64_t count, int64_t length) {
    run_kernels(length).move(packed, packed_stride, memory, stride, count, length);
  }
  static void list(std::byte* memory, std::byte* packed, const RunList& list) {
    copy_kernels().pack_list(packed, memory, list);
  }
  static void patterns(const BytePattern& pattern, std::byte* memory, std::byte* packed,
                       int64_t count) {
    pack_patterns(pattern, packed, memory, count);
  }
};

struct Unpacking {
  static void run(std::byte* memory, std::byte* packed, int64_t length) {
    std::memcpy(memory, packed, static_cast<size_t>(length));
  }
  static void grid(std::byte* memory, std::byte* packed, const RunGrid& grid) {
    run_kernels(grid.length).unpack(memory, packed, grid);
  }
  static void indexed(std::byte* memory, std::byte* packed, const int64_t* displacements,
                      int64_t count, int64_t length) {
    run_kernels(length).unpack_indexed(memory, packed, displacements, count, length);
  }
  static void spread(std::byte* memory, int64_t stride, std::byte* packed, int64_t packed_stride,
                     int64_t count, int64_t length) {
    run_kernels(length).move(memory, stride, packed, packed_stride, count, length);
  }
  static void list(std::byte* memory, std::byte* packed, const RunList& list) {
    copy_kernels().unpack_list(memory, packed, list);
  }
  static void patterns(const BytePattern& pattern, std::byte* memory, std::byte* packed,
                       int64_t count) {
    unpack_patterns(pattern, memory, packed, count);
  }
};

// The run's node, which is at offset 0, need not be looked at.
bool is_loop_of_runs(const LayoutNode& node) {
  return node.kind == LayoutKind::loop && node.depth == 1;
}

RunGrid row_of(const LayoutNode& loop, int64_t count) {
  return {loop.max_run, count, loop.stride, 1, 0};
}

template <class Direction>
void move_node(const LayoutNode& node, std::byte* memory, std::byte* packed);

// Copies of a struct of short members: the loops are interchanged, so that each
// member of a tile of copies is moved by one kernel.
template <class Direction>
bool move_members(const LayoutNode& loop, int64_t count, std::byte* memory, std::byte* packed) {
  const LayoutNode& seq = repeated(loop);
  const int64_t reach = std::max({std::abs(loop.stride), seq.true_ub - seq.true_lb, seq.size});
  const int64_t tile = kMemberTileBytes / reach;
  if (tile < kFewestTileCopies || count < kFewestTileCopies || !only_runs(seq)) return false;
  while (count > 0) {
    const int64_t copies = std::min(count, tile);
    for (int64_t i = 0; i < seq_parts(seq); ++i) {
      const Segment member = run_part(seq, i);
      Direction::spread(memory + member.offset, loop.stride,
                        packed + seq.payload_starts[static_cast<size_t>(i)], seq.size, copies,
                        member.length);
    }
    memory += copies * loop.stride;
    packed += copies * seq.size;
    count -= copies;
  }
  return true;
}

// Whole copies [first, first + count) of a loop.
template <class Direction>
[[gnu::noinline]] void move_loop(const LayoutNode& loop, int64_t first, int64_t count,
                                 std::byte* memory, std::byte* packed) {
  memory += loop.offset + first * loop.stride;
  if (is_loop_of_runs(loop)) return Direction::grid(memory, packed, row_of(loop, count));
  const LayoutNode& child = repeated(loop);
  BytePattern pattern;
  if (make_byte_pattern(child, count, loop.stride, &pattern)) {
    return Direction::patterns(pattern, memory, packed, count);
  }
  if (child.kind == LayoutKind::loop && repeated(child).kind == LayoutKind::run) {
    const LayoutNode& run = repeated(child);
    const RunGrid grid{run.length, child.count, child.stride, count, loop.stride};
    return Direction::grid(memory + child.offset + run.offset, packed, grid);
  }
  if (child.kind == LayoutKind::seq && move_members<Direction>(loop, count, memory, packed)) return;
  for (int64_t i = 0; i < count; ++i) {
    move_node<Direction>(child, memory + i * loop.stride, packed + i * child.size);
  }
}

template <class Direction>
void move_indexed(const LayoutNode& indexed, int64_t first, int64_t count, std::byte* memory,
                  std::byte* packed) {
  const LayoutNode& child = repeated(indexed);
  const int64_t* displacements = indexed.displacements.data() + first;
  if (child.kind == LayoutKind::run) {
    return Direction::indexed(memory + child.offset, packed, displacements, count, child.length);
  }
  for (int64_t i = 0; i < count; ++i) {
    move_node<Direction>(child, memory + displacements[i], packed + i * child.size);
  }
}

// The parts [first, first + count) of a seq.
template <class Direction>
void move_parts(const LayoutNode& seq, int64_t first, int64_t count, std::byte* memory,
                std::byte* packed) {
  const int64_t* starts = seq.payload_starts.data();
  const int64_t* runs = seq.run_offsets.data();
  const int64_t parts = child_count(seq), end = first + count;
  if (seq.unit_bytes > 0) {
    const int64_t bytes = (end < parts ? starts[end] : seq.size) - starts[first];
    return Direction::indexed(memory, packed,
                              seq.unit_offsets.data() + starts[first] / seq.unit_bytes,
                              bytes / seq.unit_bytes, seq.unit_bytes);
  }
  std::byte* const payload = packed - starts[first];
  for (int64_t i = first; i < end;) {
    if (runs[i] < kEndNoRun) {
      move_node<Direction>(child_of(seq, i), memory, payload + starts[i]);
      ++i;
      continue;
    }
    int64_t next = seq.children.empty() ? end : i + 1;
    while (next < end && runs[next] >= kEndNoRun) ++next;
    Direction::list(memory, payload,
                    {runs + i, starts + i, next - i, next < parts ? starts[next] : seq.size});
    i = next;
  }
}

// Whole copies or children [first, first + count).
template <class Direction>
void move_children(const LayoutNode& node, int64_t first, int64_t count, std::byte* memory,
                   std::byte* packed) {
  if (count <= 0) return;
  switch (node.kind) {
    case LayoutKind::loop:
      return move_loop<Direction>(node, first, count, memory, packed);
    case LayoutKind::indexed:
      return move_indexed<Direction>(node, first, count, memory, packed);
    default:
      return move_parts<Direction>(node, first, count, memory, packed);
  }
}

// The whole payload of a node.
template <class Direction>
void move_node(const LayoutNode& node, std::byte* memory, std::byte* packed) {
  if (node.kind == LayoutKind::run) {
    return Direction::run(memory + node.offset, packed, node.length);
  }
  move_children<Direction>(node, 0, child_count(node), memory, packed);
}

// Not inlined, nor is move_loop: move_view's short ways should not pay for the registers that it
// saves.
template <class Direction>
[[gnu::noinline]] void move_part(const LayoutNode& node, int64_t skip, int64_t length,
                                 std::byte* memory, std::byte* packed);

// Payload bytes [skip, skip + length) of a node's copy or part.
template <class Direction>
void move_part_of(const LayoutNode& node, int64_t index, int64_t skip, int64_t length,
                  std::byte* memory, std::byte* packed) {
  if (is_run_part(node, index))
    return Direction::run(memory + run_part(node, index).offset + skip, packed, length);
  move_part<Direction>(child_of(node, index), skip, length, memory + moved_by(node, index), packed);
}

// Payload bytes [skip, skip + length) of a node; length > 0.
template <class Direction>
void move_part(const LayoutNode& node, int64_t skip, int64_t length, std::byte* memory,
               std::byte* packed) {
  if (node.kind == LayoutKind::run) {
    return Direction::run(memory + node.offset + skip, packed, length);
  }
  if (length == node.size) return move_node<Direction>(node, memory, packed);
  ChildPosition start = locate(node, skip);
  if (start.skip > 0) {
    const int64_t bytes = std::min(length, size_of(node, start.index) - start.skip);
    move_part_of<Direction>(node, start.index, start.skip, bytes, memory, packed);
    packed += bytes;
    length -= bytes;
    skip += bytes;
    ++start.index;
  }
  if (length == 0) return;
  // The last copy or child is a part when the range ends inside it.
  const ChildPosition end = skip + length == node.size ? ChildPosition{child_count(node), 0}
                                                       : locate(node, skip + length);
  move_children<Direction>(node, start.index, end.index - start.index, memory, packed);
  if (end.skip > 0) {
    move_part_of<Direction>(node, end.index, 0, end.skip, memory, packed + length - end.skip);
  }
}

template <class Direction>
void move_view(const View& view, std::byte* packed) {
  if (view.length == 0) return;
  const LayoutNode& node = view.layout->node();
  // The way through the tree costs as much as moving some kilobytes: short for the plainest
  // layouts.
  if (node.kind == LayoutKind::run) {
    return Direction::run(view.base + node.offset + view.offset, packed, view.length);
  }
  if (node.kind == LayoutKind::loop && view.length == node.size) {
    if (node.depth == 1)
      return Direction::grid(view.base + node.offset, packed, row_of(node, node.count));
    return move_loop<Direction>(node, 0, node.count, view.base, packed);
  }
  move_part<Direction>(node, view.offset, view.length, view.base, packed);
}

void pack_to(const RunBlock& block, int64_t runs, std::byte* packed) {
  const RunKernels& kernels = run_kernels(block.length);
  if (block.displacements != nullptr) {
    return kernels.pack_indexed(packed, block.first, block.displacements, runs, block.length);
  }
  kernels.pack(packed, block.first, {block.length, runs, block.stride, 1, 0});
}

void unpack_from(const RunBlock& block, int64_t runs, const std::byte* packed) {
  const RunKernels& kernels = run_kernels(block.length);
  if (block.displacements != nullptr) {
    return kernels.unpack_indexed(block.first, packed, block.displacements, runs, block.length);
  }
  kernels.unpack(block.first, packed, {block.length, runs, block.stride, 1, 0});
}

void move_equal(const RunBlock& to, const RunBlock& from, int64_t runs) {
  if (to.displacements == nullptr && from.displacements == nullptr) {
    return run_kernels(to.length).move(to.first, to.stride, from.first, from.stride, runs,
                                       to.length);
  }
  for (int64_t i = 0; i < runs; ++i) {
    std::memcpy(to.run(i), from.run(i), static_cast<size_t>(to.length));
  }
}

// Moves the runs that the two blocks allow at once, at most `length` bytes; returns
// the bytes moved.
int64_t move_blocks(const RunBlock& to, const RunBlock& from, int64_t length) {
  const int64_t shorter = std::min(to.length, from.length);
  if (length < shorter) {
    std::memcpy(to.run(0), from.run(0), static_cast<size_t>(length));
    return length;
  }
  const int64_t most = length / shorter;
  int64_t runs;
  if (to.length == from.length) {
    runs = std::min({most, to.count, from.count});
    move_equal(to, from, runs);
  } else if (to.length < from.length) {
    runs = std::min({most, to.count, from.length / shorter});
    unpack_from(to, runs, from.run(0));
  } else {
    runs = std::min({most, from.count, to.length / shorter});
    pack_to(from, runs, to.run(0));
  }
  return runs * shorter;
}

}  // namespace

void pack(const View& view, std::byte* packed) {
  move_view<Packing>(view, packed);
}

void unpack(const View& view, const std::byte* packed) {
  // Unpacking only reads `packed`; the type is that of the direction it shares code with.
  move_view<Unpacking>(view, const_cast<std::byte*>(packed));
}

void copy(const View& to, const View& from) {
  if (to.length == 0) return;
  if (std::byte* packed = contiguous_address(to)) return pack(from, packed);
  if (const std::byte* packed = contiguous_address(from)) return unpack(to, packed);
  BlockWalker to_walker(to);
  BlockWalker from_walker(from);
  for (int64_t left = to.length; left > 0;) {
    const int64_t bytes = move_blocks(to_walker.block(), from_walker.block(), left);
    left -= bytes;
    to_walker.take(bytes);
    from_walker.take(bytes);
  }
}

}  // namespace sgl
