#include "datatype/node.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <limits>

namespace sgl {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xd6e8feb86659fd93u;
  return hash ^ (hash >> 32);
}

uint64_t mixed(uint64_t hash, int64_t value) {
  return mixed(hash, static_cast<uint64_t>(value));
}

uint64_t new_hash(LayoutKind kind) {
  return mixed(uint64_t{0x9e3779b97f4a7c15u}, static_cast<uint64_t>(kind));
}

std::shared_ptr<LayoutNode> new_node(LayoutKind kind) {
  auto node = std::make_shared<LayoutNode>();
  node->kind = kind;
  node->hash = new_hash(kind);
  return node;
}

// The totals of a node that do not depend on where its child's copies are.
void take_from_child(LayoutNode* node, const LayoutNode& child, int64_t copies) {
  node->count = copies;
  node->depth = child.depth + 1;
  node->size = copies * child.size;
  node->min_run = child.min_run;
  node->max_run = child.max_run;
  node->hash = mixed(mixed(node->hash, copies), child.hash);
}

uint64_t run_hash(const Segment& run) {
  return mixed(mixed(new_hash(LayoutKind::run), run.offset), run.length);
}

// What a seq's totals need of a part.
struct PartTotals {
  int64_t run_count, first, end, true_lb, true_ub, min_run, max_run;
};

// Fewer runs than these are not worth the memory of their units.
constexpr int64_t kFewestRunsInUnits = 16;
// Units that a run has on average at most.
constexpr int64_t kMostUnitsOfRun = 2;
// Longer blocks are moved no faster.
constexpr int64_t kLongestUnitBytes = 64;

// A loop or indexed of one run, as grouped runs of a seq are.
bool is_group_of_runs(const LayoutNode& node) {
  return node.depth == 1 && node.kind != LayoutKind::seq;
}

void add_run_units(LayoutNode* seq, const Segment& run) {
  for (int64_t done = 0; done < run.length; done += seq->unit_bytes) {
    seq->unit_offsets.push_back(run.offset + done);
  }
}

void add_group_units(LayoutNode* seq, const LayoutNode& group) {
  const LayoutNode& run = group.children[0].node();
  for (int64_t i = 0; i < group.count; ++i) {
    const int64_t moved = group.kind == LayoutKind::loop
                              ? group.offset + i * group.stride
                              : group.displacements[static_cast<size_t>(i)];
    add_run_units(seq, {run.offset + moved, run.length});
  }
}

void add_units(LayoutNode* seq) {
  const int64_t parts = seq_parts(*seq);
  if (parts < kFewestRunsInUnits) return;
  int64_t bits = kLongestUnitBytes;
  for (const Layout& child : seq->children) {
    if (!is_group_of_runs(child.node())) return;
    bits |= child.max_run();
  }
  for (int64_t part = 0; part < parts; ++part) {
    if (part_is_run(*seq, part)) bits |= run_part(*seq, part).length;
  }
  const int64_t unit = bits & -bits;
  if (seq->size / unit > kMostUnitsOfRun * parts) return;
  seq->unit_bytes = unit;
  seq->unit_offsets.reserve(static_cast<size_t>(seq->size / unit));
  for (int64_t part = 0; part < parts; ++part) {
    if (part_is_run(*seq, part)) {
      add_run_units(seq, run_part(*seq, part));
    } else {
      add_group_units(seq, child_part(*seq, part).node());
    }
  }
}

void add_part(LayoutNode* seq, int64_t part, const PartTotals& totals) {
  if (part == 0) seq->first = totals.first;
  seq->run_count += totals.run_count;
  if (part > 0 && seq->end == totals.first) --seq->run_count;
  seq->end = totals.end;
  seq->true_lb = std::min(seq->true_lb, totals.true_lb);
  seq->true_ub = std::max(seq->true_ub, totals.true_ub);
  seq->min_run = std::min(seq->min_run, totals.min_run);
  seq->max_run = std::max(seq->max_run, totals.max_run);
}

}  // namespace

Layout NodeFactory::empty() {
  static const std::shared_ptr<const LayoutNode> node = new_node(LayoutKind::empty);
  return Layout(node);
}

Layout NodeFactory::run(int64_t offset, int64_t length) {
  auto node = new_node(LayoutKind::run);
  node->offset = offset;
  node->length = length;
  node->size = length;
  node->true_lb = node->first = offset;
  node->true_ub = node->end = offset + length;
  node->run_count = 1;
  node->min_run = node->max_run = length;
  node->hash = run_hash({offset, length});
  return Layout(std::move(node));
}

Layout NodeFactory::loop(int64_t count, int64_t offset, int64_t stride, const Layout& child) {
  const LayoutNode& part = child.node();
  auto node = new_node(LayoutKind::loop);
  take_from_child(node.get(), part, count);
  const int64_t reach = (count - 1) * stride;
  node->offset = offset;
  node->stride = stride;
  node->children.push_back(child);
  node->true_lb = offset + part.true_lb + std::min<int64_t>(reach, 0);
  node->true_ub = offset + part.true_ub + std::max<int64_t>(reach, 0);
  node->first = offset + part.first;
  node->end = offset + part.end + reach;
  int64_t runs = count * part.run_count;  // at most the size
  if (part.end == part.first + stride) runs -= count - 1;
  node->run_count = runs;
  node->hash = mixed(mixed(node->hash, offset), stride);
  return Layout(std::move(node));
}

void SeqParts::reserve(size_t parts) {
  starts_.reserve(parts);
  offsets_.reserve(parts);
}

void SeqParts::add_run(const Segment& run) {
  starts_.push_back(size_);
  offsets_.push_back(run.offset);
  size_ += run.length;
}

void SeqParts::add(const Layout& layout) {
  const LayoutNode& node = layout.node();
  if (node.kind == LayoutKind::run) return add_run({node.offset, node.length});
  starts_.push_back(size_);
  offsets_.push_back(kNoRun + static_cast<int64_t>(children_.size()));
  children_.push_back(layout);
  size_ += node.size;
}

Layout SeqParts::only() const {
  return children_.empty() ? NodeFactory::run(offsets_[0], size_) : children_[0];
}

void SeqParts::add_shifted_parts(const LayoutNode& seq, int64_t offset) {
  reserve(count() + seq.payload_starts.size());
  for (int64_t part = 0; part < seq_parts(seq); ++part) {
    if (part_is_run(seq, part)) {
      Segment run = run_part(seq, part);
      run.offset += offset;
      add_run(run);
    } else {
      add(child_part(seq, part).shifted(offset));
    }
  }
}

Layout NodeFactory::seq(SeqParts parts) {
  auto node = new_node(LayoutKind::seq);
  node->true_lb = kMax;
  node->true_ub = std::numeric_limits<int64_t>::min();
  node->min_run = kMax;
  node->size = parts.size_;
  node->payload_starts = std::move(parts.starts_);
  node->run_offsets = std::move(parts.offsets_);
  node->children = std::move(parts.children_);
  const int64_t count = seq_parts(*node);
  for (int64_t part = 0; part < count; ++part) {
    if (part_is_run(*node, part)) {
      const Segment run = run_part(*node, part);
      const int64_t end = run.offset + run.length;
      add_part(node.get(), part, {1, run.offset, end, run.offset, end, run.length, run.length});
      node->depth = std::max(node->depth, 1);
      node->hash = mixed(node->hash, run_hash(run));
    } else {
      const LayoutNode& child = child_part(*node, part).node();
      add_part(node.get(), part,
               {child.run_count, child.first, child.end, child.true_lb, child.true_ub,
                child.min_run, child.max_run});
      node->depth = std::max(node->depth, child.depth + 1);
      node->hash = mixed(node->hash, child.hash);
    }
  }
  add_units(node.get());
  return Layout(std::move(node));
}

Layout NodeFactory::indexed(std::vector<int64_t> displacements, const Layout& child) {
  const LayoutNode& part = child.node();
  auto node = new_node(LayoutKind::indexed);
  const auto count = static_cast<int64_t>(displacements.size());
  take_from_child(node.get(), part, count);
  int64_t runs = count * part.run_count;  // at most the size
  int64_t lowest = displacements[0], highest = displacements[0], previous = displacements[0];
  node->hash = mixed(node->hash, previous);
  for (size_t i = 1; i < displacements.size(); ++i) {
    const int64_t displacement = displacements[i];
    lowest = std::min(lowest, displacement);
    highest = std::max(highest, displacement);
    if (previous + part.end == displacement + part.first) --runs;
    node->hash = mixed(node->hash, displacement);
    previous = displacement;
  }
  node->true_lb = lowest + part.true_lb;
  node->true_ub = highest + part.true_ub;
  node->first = displacements.front() + part.first;
  node->end = displacements.back() + part.end;
  node->run_count = runs;
  node->children.push_back(child);
  node->displacements = std::move(displacements);
  return Layout(std::move(node));
}

int64_t part_count(const LayoutNode& node) {
  if (node.kind == LayoutKind::indexed) return node.count;
  if (node.kind != LayoutKind::seq) return 1;
  int64_t parts = seq_parts(node);
  for (const Layout& child : node.children) {
    const LayoutNode& part = child.node();
    if (part.kind == LayoutKind::indexed) parts += part.count - 1;
  }
  return parts;
}

bool span_fits(int64_t lowest, int64_t highest, int64_t offset, int64_t reach) {
  int64_t low = 0, high = 0, extent = 0;
  return checked_add(lowest, offset, &low) && checked_add(highest, offset, &high) &&
         checked_add(reach < 0 ? low : high, reach, reach < 0 ? &low : &high) &&
         checked_sub(high, low, &extent);
}

bool loop_fits(int64_t count, int64_t offset, int64_t stride, const Layout& child) {
  int64_t size = 0, reach = 0;
  return checked_mul(count, child.size(), &size) && checked_mul(count - 1, stride, &reach) &&
         span_fits(child.true_lb(), child.true_ub(), offset, reach);
}

bool shift_fits(int64_t offset, const Layout& child) {
  return span_fits(child.true_lb(), child.true_ub(), offset, 0);
}

}  // namespace sgl
