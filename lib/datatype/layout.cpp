#include "datatype/layout.hpp"

#include "datatype/node.hpp"

namespace sgl {
namespace {

bool same_node(const LayoutNode& a, const LayoutNode& b) {
  if (&a == &b) return true;
  return a.hash == b.hash && a.kind == b.kind && a.size == b.size && a.offset == b.offset &&
         a.length == b.length && a.count == b.count && a.stride == b.stride &&
         a.displacements == b.displacements && a.payload_starts == b.payload_starts &&
         a.run_offsets == b.run_offsets && a.children == b.children;
}

}  // namespace

Layout::Layout() : node_(NodeFactory::empty().node_) {}

Layout Layout::run(int64_t offset, int64_t length) {
  return length > 0 ? NodeFactory::run(offset, length) : Layout();
}

Layout Layout::shifted(int64_t offset) const {
  if (offset == 0 || empty()) return *this;
  const LayoutNode& node = *node_;
  if (node.kind == LayoutKind::run) return NodeFactory::run(node.offset + offset, node.length);
  if (node.kind == LayoutKind::loop) {
    return NodeFactory::loop(node.count, node.offset + offset, node.stride, node.children[0]);
  }
  if (part_count(node) > kMaxInlineParts) return NodeFactory::loop(1, offset, 0, *this);
  if (node.kind == LayoutKind::indexed) {
    std::vector<int64_t> displacements = node.displacements;
    for (int64_t& displacement : displacements) displacement += offset;
    return NodeFactory::indexed(std::move(displacements), node.children[0]);
  }
  SeqParts parts;
  parts.add_shifted_parts(node, offset);
  return NodeFactory::seq(std::move(parts));
}

int64_t Layout::size() const {
  return node_->size;
}
int64_t Layout::true_lb() const {
  return node_->true_lb;
}
int64_t Layout::true_ub() const {
  return node_->true_ub;
}
int64_t Layout::run_count() const {
  return node_->run_count;
}
int64_t Layout::min_run() const {
  return node_->min_run;
}
int64_t Layout::max_run() const {
  return node_->max_run;
}
bool Layout::contiguous() const {
  return node_->kind == LayoutKind::run;
}
uint64_t Layout::hash() const {
  return node_->hash;
}

bool Layout::operator==(const Layout& other) const {
  return same_node(*node_, *other.node_);
}

}  // namespace sgl
