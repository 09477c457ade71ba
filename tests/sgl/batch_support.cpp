#include "sgl/batch_support.hpp"

#include "support/random_type.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sgl::test {

int64_t draw(Random& random, int64_t lowest, int64_t highest) {
  return std::uniform_int_distribution<int64_t>(lowest, highest)(random);
}

bool chance(Random& random, int percent) {
  return draw(random, 1, 100) <= percent;
}

namespace {

int64_t draw_run_length(Random& random, int64_t max_bytes) {
  const int64_t longest[] = {1, 8, 64, 300, max_bytes};
  return draw(random, 1, std::min(longest[draw(random, 0, 4)], max_bytes));
}

// Mostly disjoint copies, now and then touching or overlapping ones.
int64_t draw_stride(Random& random, const Layout& child) {
  const int64_t extent = child.true_ub() - child.true_lb();
  int64_t stride = extent + (chance(random, 20) ? 0 : draw(random, 1, 80));
  if (chance(random, 10)) stride = draw(random, 0, extent);
  return chance(random, 25) ? -stride : stride;
}

Layout random_layout_of_depth(Random& random, int64_t max_bytes, int depth) {
  if (depth == 0 || max_bytes < 2 || chance(random, 15)) {
    return Layout::run(draw(random, -200, 200), draw_run_length(random, max_bytes));
  }
  const int64_t copies = draw(random, 1, std::min<int64_t>(12, max_bytes));
  const Layout child = random_layout_of_depth(random, max_bytes / copies, depth - 1);
  const int64_t stride = draw_stride(random, child);
  switch (draw(random, 0, 2)) {
    case 0:
      return Layout::loop(copies, stride, child);
    case 1: {
      std::vector<Layout> children;
      for (int64_t i = 0; i < copies; ++i) {
        children.push_back(random_layout_of_depth(random, max_bytes / copies, depth - 1)
                               .shifted(i * 400 + draw(random, 0, 40)));
      }
      return Layout::seq(children);
    }
    default: {
      std::vector<int64_t> displacements;
      for (int64_t i = 0; i < copies; ++i) displacements.push_back(i * stride);
      if (chance(random, 50)) std::shuffle(displacements.begin(), displacements.end(), random);
      return Layout::indexed(displacements, child);
    }
  }
}

void collect_offsets(const LayoutNode& node, int64_t base, std::vector<int64_t>* offsets) {
  switch (node.kind) {
    case LayoutKind::empty:
      return;
    case LayoutKind::run:
      for (int64_t i = 0; i < node.length; ++i) offsets->push_back(base + node.offset + i);
      return;
    case LayoutKind::loop:
      for (int64_t i = 0; i < node.count; ++i) {
        collect_offsets(node.children[0].node(), base + node.offset + i * node.stride, offsets);
      }
      return;
    case LayoutKind::seq:
      for (int64_t part = 0; part < seq_parts(node); ++part) {
        if (part_is_run(node, part)) {
          const Segment run = run_part(node, part);
          for (int64_t i = 0; i < run.length; ++i) offsets->push_back(base + run.offset + i);
        } else {
          collect_offsets(child_part(node, part).node(), base, offsets);
        }
      }
      return;
    case LayoutKind::indexed:
      for (int64_t displacement : node.displacements) {
        collect_offsets(node.children[0].node(), base + displacement, offsets);
      }
      return;
  }
}

// An array of a random datatype, whose oracle is its type map.
Side random_typed_side(Random& random, int64_t max_bytes) {
  Side side;
  while (side.layout.empty()) {
    const RandomType type =
        random_type(random, {.max_elements = std::max<int64_t>(1, max_bytes / 8)});
    const int64_t count = draw(random, 1, 3);
    side.layout = type.type->array_layout(count);
    side.offsets = array_offsets(type, count);
  }
  return side;
}

Side random_side(Random& random, int64_t max_bytes) {
  if (chance(random, 40)) return random_typed_side(random, max_bytes);
  Side side;
  side.layout = random_layout(random, max_bytes);
  side.offsets = payload_offsets(side.layout);
  return side;
}

}  // namespace

Layout random_layout(Random& random, int64_t max_bytes) {
  return random_layout_of_depth(random, max_bytes, static_cast<int>(draw(random, 0, 4)));
}

std::vector<int64_t> payload_offsets(const Layout& layout) {
  std::vector<int64_t> offsets;
  collect_offsets(layout.node(), 0, &offsets);
  return offsets;
}

bool Side::overlaps() const {
  std::vector<int64_t> sorted = addresses;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

int Case::max_local() const {
  return shape == TransferShape::read_scatter ? limits.max_read_sge : limits.max_send_sge;
}

int Case::max_remote() const {
  return shape == TransferShape::send_receive ? limits.max_recv_sge : 1;
}

int64_t Case::alignment() const {
  return std::min(limits.max_message_bytes, rules.max_segment_bytes) >= 64 ? 64 : 1;
}

int64_t Case::max_packed() const {
  return std::min(rules.pack_slot_bytes, rules.max_segment_bytes);
}

int64_t Case::pack_below() const {
  return std::min(rules.pack_below_bytes, max_packed() + 1);
}

std::string Case::describe() const {
  return fmt::format(
      "{}: local {} [{}, +{}), remote {} [{}, +{}), SGEs {}/{}, message {}, batch {}, segment {}, "
      "page {}, pack below {} in {}",
      shape_name(shape), local.layout.describe(), local.offset, local.length,
      remote.layout.describe(), remote.offset, remote.length, max_local(), max_remote(),
      limits.max_message_bytes, limits.max_batch_wrs, rules.max_segment_bytes,
      rules.huge_page_bytes, rules.pack_below_bytes, rules.pack_slot_bytes);
}

void set_bases(Case* c, std::byte* local, std::byte* remote) {
  c->local.base = local;
  c->remote.base = remote;
  for (Side* side : {&c->local, &c->remote}) {
    const auto first = side->offsets.begin() + side->offset;
    side->addresses.assign(first, first + side->length);
    for (int64_t& address : side->addresses) {
      address += reinterpret_cast<intptr_t>(side->base);
    }
  }
}

Case random_case(Random& random, int64_t max_bytes) {
  Case c;
  c.shape = static_cast<TransferShape>(draw(random, 0, 2));
  c.local = random_side(random, max_bytes);
  c.remote = random_side(random, max_bytes);
  const int64_t local_size = c.local.layout.size(), remote_size = c.remote.layout.size();
  int64_t length = draw(random, 1, std::min(local_size, remote_size));
  if (chance(random, 40)) length = std::min(local_size, remote_size);
  c.local.offset = draw(random, 0, local_size - length);
  c.remote.offset = draw(random, 0, remote_size - length);
  c.local.length = c.remote.length = length;

  c.limits.max_send_sge = static_cast<int>(draw(random, 1, 32));
  c.limits.max_recv_sge = static_cast<int>(draw(random, 1, 32));
  c.limits.max_read_sge = static_cast<int>(draw(random, 1, 32));
  c.limits.max_batch_wrs = static_cast<int>(draw(random, 1, 8));
  if (chance(random, 50)) c.limits.max_message_bytes = draw(random, 1, 2 * length + 64);
  if (chance(random, 50)) c.rules.max_segment_bytes = draw(random, 1, 600);
  if (chance(random, 50)) c.rules.pack_below_bytes = draw(random, 1, 300);
  if (chance(random, 50)) c.rules.pack_slot_bytes = draw(random, 1, 1000);
  if (chance(random, 30)) c.rules.huge_page_bytes = int64_t{64} << draw(random, 0, 6);
  if (chance(random, 20)) c.limits.max_batch_slot_bytes = draw(random, 0, 4000);
  return c;
}

}  // namespace sgl::test
