// The rewrites of docs/datatypes.md: the constructors of the normal form.
#include "base/checked.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <span>

namespace sgl {
namespace {

// Fewer equal runs within a longer seq stay runs: a seq of blocks of irregular lengths
// is then mostly runs, which are quick to walk.
constexpr size_t kMinGroupedRuns = 16;

// `count` copies, `stride` apart, of a run of `length` bytes or, when that is 0,
// of `shape`, whose first payload byte is at 0. A part of a seq before it
// becomes a node, so that merging and counting up allocate nothing.
struct Piece {
  int64_t offset = 0;
  int64_t count = 1;
  int64_t stride = 0;
  int64_t length = 0;
  Layout shape;

  bool is_run() const { return count == 1 && length > 0; }
  bool same_base(const Piece& other) const {
    return length == other.length && shape == other.shape;
  }
  bool same_but_offset(const Piece& other) const {
    return count == other.count && stride == other.stride && same_base(other);
  }
  Layout layout() const {
    const Layout base = length > 0 ? NodeFactory::run(0, length) : shape;
    return count == 1 ? base.shifted(offset) : NodeFactory::loop(count, offset, stride, base);
  }
};

Layout at_zero(const Layout& layout) {
  return layout.shifted(-layout.node().first);
}

Piece piece_of(const Segment& run) {
  Piece piece;
  piece.offset = run.offset;
  piece.length = run.length;
  return piece;
}

Piece piece_of(const Layout& layout) {
  const LayoutNode& node = layout.node();
  Piece piece;
  piece.offset = node.first;
  if (node.kind == LayoutKind::run) {
    piece.length = node.length;
  } else if (node.kind == LayoutKind::loop) {
    const LayoutNode& child = node.children[0].node();
    piece.count = node.count;
    piece.stride = node.stride;
    if (child.kind == LayoutKind::run) {
      piece.length = child.length;
    } else {
      piece.shape = node.children[0];
    }
  } else {
    piece.shape = at_zero(layout);
  }
  return piece;
}

// Whether `whole`, itself a loop, is what `pieces` has copies of.
bool is_copy(const Piece& whole, const Piece& pieces) {
  if (pieces.shape.node().kind != LayoutKind::loop) return false;
  return whole.same_but_offset(piece_of(pieces.shape));
}

// Whether a copy `count` strides behind the piece's offset would be at `offset`.
bool follows(const Piece& piece, int64_t count, int64_t stride, int64_t offset) {
  int64_t reach = 0, expected = 0;
  return checked_mul(count, stride, &reach) && checked_add(piece.offset, reach, &expected) &&
         expected == offset;
}

// Makes `second`, which follows `first` in the payload, part of `first`: a run
// that continues a run, or copies that continue copies of the same at the same gap.
bool absorb(Piece* first, const Piece& second) {
  if (first->is_run() && second.is_run()) {
    if (first->offset + first->length != second.offset) return false;
    first->length += second.length;
    return true;
  }
  if (first->count > 1 && follows(*first, first->count, first->stride, second.offset)) {
    const bool same_base = first->same_base(second);
    if (same_base && (second.count == 1 || second.stride == first->stride)) {
      first->count += second.count;
      return true;
    }
    if (second.count > 1 && is_copy(second, *first)) {
      ++first->count;
      return true;
    }
  }
  if (second.count > 1 && follows(*first, 1, second.stride, second.offset) &&
      (first->count == 1 ? first->same_base(second) : is_copy(*first, second))) {
    const int64_t offset = first->offset;
    *first = second;
    first->offset = offset;
    ++first->count;
    return true;
  }
  return false;
}

// Adds a piece; one that completes its predecessor may complete the one before.
void push(std::vector<Piece>* pieces, Piece piece) {
  while (!pieces->empty() && absorb(&pieces->back(), piece)) {
    piece = std::move(pieces->back());
    pieces->pop_back();
  }
  pieces->push_back(std::move(piece));
}

// Copies of `child`, which starts at 0: a loop when the gaps are equal. No two
// of them merge.
Layout copies_at(std::vector<int64_t> displacements, const Layout& child) {
  const size_t count = displacements.size();
  if (count == 1) return child.shifted(displacements[0]);
  int64_t gap = 0;
  bool equal = checked_sub(displacements[1], displacements[0], &gap);
  for (size_t i = 2; equal && i < count; ++i) {
    int64_t next = 0;
    equal = checked_add(displacements[i - 1], gap, &next) && next == displacements[i];
  }
  const int64_t first = displacements[0];
  if (equal) return Layout::loop(static_cast<int64_t>(count), gap, child).shifted(first);
  if (static_cast<int64_t>(count) <= kMaxInlineParts) {
    return NodeFactory::indexed(std::move(displacements), child);
  }
  for (int64_t& displacement : displacements) displacement -= first;
  return NodeFactory::indexed(std::move(displacements), child).shifted(first);
}

// Whether `stretch` of `all` pieces, equal to `piece`, become copies of one.
bool worth_grouping(const Piece& piece, size_t stretch, size_t all, bool only_seqs) {
  if (stretch == all) return stretch > 1;
  if (only_seqs) return stretch > 1 && piece.shape.node().kind == LayoutKind::seq;
  return stretch >= (piece.is_run() ? kMinGroupedRuns : 2);
}

// The layout of `stretch` pieces, equal but for their offsets.
Layout group_of(std::span<const Piece> stretch) {
  std::vector<int64_t> displacements;
  displacements.reserve(stretch.size());
  for (const Piece& piece : stretch) displacements.push_back(piece.offset);
  Piece part = stretch[0];
  part.offset = 0;
  return copies_at(std::move(displacements), part.layout());
}

// Stretches of equal pieces become one part each, the other pieces one each.
SeqParts grouped(std::span<const Piece> pieces, bool only_seqs) {
  SeqParts parts;
  parts.reserve(pieces.size());
  for (size_t begin = 0; begin < pieces.size();) {
    size_t end = begin + 1;
    while (end < pieces.size() && pieces[begin].same_but_offset(pieces[end])) ++end;
    if (worth_grouping(pieces[begin], end - begin, pieces.size(), only_seqs)) {
      parts.add(group_of(pieces.subspan(begin, end - begin)));
    } else {
      for (size_t i = begin; i < end; ++i) {
        if (pieces[i].is_run())
          parts.add_run({pieces[i].offset, pieces[i].length});
        else
          parts.add(pieces[i].layout());
      }
    }
    begin = end;
  }
  return parts;
}

Layout seq_of(SeqParts parts) {
  if (parts.count() == 0) return {};
  if (parts.count() == 1) return parts.only();
  Layout seq = NodeFactory::seq(std::move(parts));
  const int64_t first = seq.node().first;
  if (first == 0 || part_count(seq.node()) <= kMaxInlineParts) return seq;
  SeqParts moved;
  moved.add_shifted_parts(seq.node(), -first);
  return NodeFactory::seq(std::move(moved)).shifted(first);
}

// Adds the pieces of a child of a seq, flattening what is small.
void push_flat(std::vector<Piece>* pieces, const Layout& layout) {
  const LayoutNode& node = layout.node();
  const bool inlined = part_count(node) <= kMaxInlineParts;
  if (node.kind == LayoutKind::seq && inlined) {
    for (int64_t part = 0; part < seq_parts(node); ++part) {
      if (part_is_run(node, part))
        push(pieces, piece_of(run_part(node, part)));
      else
        push_flat(pieces, child_part(node, part));
    }
  } else if (node.kind == LayoutKind::indexed && inlined) {
    Piece piece = piece_of(node.children[0]);
    for (int64_t displacement : node.displacements) {
      piece.offset = displacement;
      push(pieces, piece);
    }
  } else if (node.kind == LayoutKind::loop && node.children[0].contiguous() &&
             node.count < static_cast<int64_t>(kMinGroupedRuns)) {
    for (int64_t i = 0; i < node.count; ++i) {
      push(pieces, piece_of(node.children[0].shifted(node.offset + i * node.stride)));
    }
  } else if (node.kind != LayoutKind::empty) {
    push(pieces, piece_of(layout));
  }
}

}  // namespace

Layout Layout::loop(int64_t count, int64_t stride, const Layout& child) {
  if (count <= 0 || child.empty()) return {};
  if (count == 1) return child;
  const LayoutNode& node = child.node();
  if (node.kind == LayoutKind::run) {
    if (stride == node.length) return run(node.offset, count * stride);
    return NodeFactory::loop(count, node.offset, stride, run(0, node.length));
  }
  if (node.kind != LayoutKind::loop) {
    return NodeFactory::loop(count, node.first, stride, at_zero(child));
  }
  int64_t reach = 0;
  if (node.count == 1) {
    return NodeFactory::loop(count, node.offset, stride, node.children[0]);
  }
  if (checked_mul(node.count, node.stride, &reach) && reach == stride) {
    return NodeFactory::loop(count * node.count, node.offset, node.stride, node.children[0]);
  }
  return NodeFactory::loop(count, node.offset, stride, at_zero(child));
}

Layout Layout::seq(const std::vector<Layout>& children) {
  // Equal children become copies, as repeating the type would make them, before
  // flattening hides what they are.
  std::vector<Piece> whole;
  for (const Layout& child : children) {
    if (!child.empty()) push(&whole, piece_of(child));
  }
  SeqParts parts = grouped(whole, true);
  if (parts.count() <= 1) return seq_of(std::move(parts));
  std::vector<Piece> pieces;
  pieces.reserve(parts.count());
  const Layout once = NodeFactory::seq(std::move(parts));
  for (int64_t part = 0; part < seq_parts(once.node()); ++part) {
    if (part_is_run(once.node(), part))
      push(&pieces, piece_of(run_part(once.node(), part)));
    else
      push_flat(&pieces, child_part(once.node(), part));
  }
  return seq_of(grouped(pieces, false));
}

// What seq() does with runs, on less than pieces.
Layout Layout::runs(std::vector<Segment> runs) {
  size_t count = 0;
  for (const Segment& run : runs) {
    if (run.length == 0) continue;
    if (count > 0 && runs[count - 1].offset + runs[count - 1].length == run.offset)
      runs[count - 1].length += run.length;
    else
      runs[count++] = run;
  }
  runs.resize(count);
  SeqParts parts;
  parts.reserve(count);
  std::vector<Piece> stretch;
  for (size_t begin = 0; begin < count;) {
    size_t end = begin + 1;
    while (end < count && runs[end].length == runs[begin].length) ++end;
    if (end - begin >= kMinGroupedRuns || end - begin == count) {
      stretch.clear();
      for (size_t i = begin; i < end; ++i) stretch.push_back(piece_of(runs[i]));
      parts.add(group_of(stretch));
    } else {
      for (size_t i = begin; i < end; ++i) parts.add_run(runs[i]);
    }
    begin = end;
  }
  return seq_of(std::move(parts));
}

Layout Layout::indexed(std::vector<int64_t> displacements, const Layout& child) {
  if (displacements.empty() || child.empty()) return {};
  const int64_t first = child.node().first;
  for (int64_t& displacement : displacements) displacement += first;
  Piece piece = piece_of(child);
  if (!piece.is_run() && piece.count == 1)
    return copies_at(std::move(displacements), at_zero(child));
  std::vector<Piece> pieces;
  pieces.reserve(displacements.size());
  for (int64_t displacement : displacements) {
    piece.offset = displacement;
    push(&pieces, piece);
  }
  return seq_of(grouped(pieces, false));
}

}  // namespace sgl
