// The wire form of a layout:
//
//   layout    := version node
//   node      := kind fields
//   empty     :=
//   run       := offset length
//   loop      := count offset stride node
//   seq       := children node...
//   indexed   := count displacement difference... node
//   reference := index of an earlier loop, seq or indexed, in the order they end
//
// Whole numbers are zigzag-coded in groups of 7 bits, the lowest first. Shared
// nodes are written once, so the form is as small as the description.
#include "base/checked.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace sgl {
namespace {

constexpr std::byte kVersion{1};
constexpr int64_t kReference = 5;  // behind the last LayoutKind
// Types nest 255 constructors at most, each of which adds a seq and a loop that moves
// it, and a path has 61 loops of two or more copies before the size is beyond 2^61.
constexpr int kMaxDepth = 700;

class Writer {
 public:
  explicit Writer(std::vector<std::byte>* bytes) : bytes_(bytes) {}

  void node(const LayoutNode& node) {
    if (node.kind == LayoutKind::run) return run({node.offset, node.length});
    if (auto known = index_of_.find(&node); known != index_of_.end()) {
      number(kReference);
      return number(known->second);
    }
    number(static_cast<int64_t>(node.kind));
    fields(node);
    if (node.kind == LayoutKind::seq) {
      parts(node);
    } else {
      for (const Layout& child : node.children) this->node(child.node());
    }
    index_of_.emplace(&node, static_cast<int64_t>(index_of_.size()));
  }

 private:
  void run(const Segment& run) {
    number(static_cast<int64_t>(LayoutKind::run));
    number(run.offset);
    number(run.length);
  }

  void parts(const LayoutNode& seq) {
    for (int64_t part = 0; part < seq_parts(seq); ++part) {
      if (part_is_run(seq, part))
        run(run_part(seq, part));
      else
        node(child_part(seq, part).node());
    }
  }

  void fields(const LayoutNode& node) {
    if (node.kind == LayoutKind::loop) {
      number(node.count);
      number(node.offset);
      number(node.stride);
    } else if (node.kind == LayoutKind::seq) {
      number(seq_parts(node));
    } else if (node.kind == LayoutKind::indexed) {
      number(node.count);
      int64_t previous = 0;
      for (int64_t displacement : node.displacements) {
        number(displacement - previous);
        previous = displacement;
      }
    }
  }

  void number(int64_t value) {
    uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    for (; rest > 0x7f; rest >>= 7) bytes_->push_back(static_cast<std::byte>(rest | 0x80));
    bytes_->push_back(static_cast<std::byte>(rest));
  }

  std::vector<std::byte>* bytes_;
  std::unordered_map<const LayoutNode*, int64_t> index_of_;
};

// Every function returns false on bytes that no Writer wrote.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }

  bool node(int depth, Layout* layout) {
    int64_t kind = 0;
    return number(&kind) && node(kind, depth, layout);
  }

 private:
  bool node(int64_t kind, int depth, Layout* layout) {
    if (depth > kMaxDepth) return false;
    if (kind == static_cast<int64_t>(LayoutKind::run)) {
      Segment run;
      if (!this->run(&run)) return false;
      *layout = NodeFactory::run(run.offset, run.length);
      return true;
    }
    if (kind == kReference) return reference(layout);
    if (!composite(kind, depth, layout)) return false;
    composites_.push_back(*layout);
    return true;
  }

  bool composite(int64_t kind, int depth, Layout* layout) {
    switch (kind) {
      case static_cast<int64_t>(LayoutKind::empty):
        return depth == 0;
      case static_cast<int64_t>(LayoutKind::loop):
        return loop(depth, layout);
      case static_cast<int64_t>(LayoutKind::seq):
        return seq(depth, layout);
      case static_cast<int64_t>(LayoutKind::indexed):
        return indexed(depth, layout);
      default:
        return false;
    }
  }

  bool run(Segment* run) {
    int64_t end = 0;
    return number(&run->offset) && number(&run->length) && run->length >= 1 &&
           checked_add(run->offset, run->length, &end);
  }

  bool reference(Layout* layout) {
    int64_t index = 0;
    if (!number(&index) || index < 0 || index >= static_cast<int64_t>(composites_.size())) {
      return false;
    }
    *layout = composites_[static_cast<size_t>(index)];
    return !layout->empty();
  }

  bool loop(int depth, Layout* layout) {
    int64_t count = 0, offset = 0, stride = 0;
    Layout child;
    if (!number(&count) || !number(&offset) || !number(&stride) || count < 1) return false;
    if (!node(depth + 1, &child) || child.node().first != 0) return false;
    if (!loop_fits(count, offset, stride, child)) return false;
    if (child.contiguous() && stride == child.size()) return false;
    *layout = NodeFactory::loop(count, offset, stride, child);
    return true;
  }

  bool seq(int depth, Layout* layout) {
    int64_t count = 0, size = 0, run_end = 0;
    int64_t lowest = std::numeric_limits<int64_t>::max();
    int64_t highest = std::numeric_limits<int64_t>::min();
    if (!number(&count) || count < 2 || count > remaining()) return false;
    SeqParts parts;
    bool after_run = false;
    for (int64_t i = 0; i < count; ++i) {
      int64_t kind = 0;
      if (!number(&kind)) return false;
      Segment run{};
      Layout child;
      const bool is_run = kind == static_cast<int64_t>(LayoutKind::run);
      if (is_run ? !this->run(&run) || run.offset < kEndNoRun : !node(kind, depth + 1, &child))
        return false;
      if (is_run && after_run && run.offset == run_end) return false;
      after_run = is_run;
      run_end = run.offset + run.length;
      if (!checked_add(size, is_run ? run.length : child.size(), &size)) return false;
      lowest = std::min(lowest, is_run ? run.offset : child.true_lb());
      highest = std::max(highest, is_run ? run_end : child.true_ub());
      if (is_run)
        parts.add_run(run);
      else
        parts.add(child);
    }
    if (!span_fits(lowest, highest, 0, 0)) return false;
    *layout = NodeFactory::seq(std::move(parts));
    return true;
  }

  bool indexed(int depth, Layout* layout) {
    int64_t count = 0, size = 0, displacement = 0, lowest = 0, highest = 0;
    if (!number(&count) || count < 2 || count > remaining()) return false;
    std::vector<int64_t> displacements;
    for (int64_t i = 0; i < count; ++i) {
      int64_t difference = 0;
      if (!number(&difference) || !checked_add(displacement, difference, &displacement)) {
        return false;
      }
      lowest = i == 0 ? displacement : std::min(lowest, displacement);
      highest = i == 0 ? displacement : std::max(highest, displacement);
      displacements.push_back(displacement);
    }
    Layout child;
    if (!node(depth + 1, &child) || child.node().first != 0) return false;
    if (!checked_mul(count, child.size(), &size)) return false;
    int64_t reach = 0;
    if (!checked_sub(highest, lowest, &reach)) return false;
    if (!span_fits(child.true_lb(), child.true_ub(), lowest, reach)) return false;
    if (child.contiguous() && any_adjacent(displacements, child.size())) return false;
    *layout = NodeFactory::indexed(std::move(displacements), child);
    return true;
  }

  static bool any_adjacent(const std::vector<int64_t>& displacements, int64_t length) {
    for (size_t i = 1; i < displacements.size(); ++i) {
      if (displacements[i] - displacements[i - 1] == length) return true;
    }
    return false;
  }

  int64_t remaining() const { return static_cast<int64_t>(bytes_.size()); }

  bool number(int64_t* value) {
    uint64_t coded = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return false;
      const auto group = static_cast<uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      coded |= (group & 0x7f) << shift;
      if (group < 0x80) {
        *value = static_cast<int64_t>(coded >> 1) ^ -static_cast<int64_t>(coded & 1);
        return true;
      }
    }
    return false;
  }

  std::span<const std::byte> bytes_;
  std::vector<Layout> composites_;
};

}  // namespace

void Layout::serialise(std::vector<std::byte>* bytes) const {
  bytes->push_back(kVersion);
  Writer(bytes).node(*node_);
}

Result<Layout> Layout::deserialise(std::span<const std::byte> bytes) {
  const size_t given = bytes.size();
  Layout layout;
  if (given > 0 && bytes[0] == kVersion) {
    Reader reader(bytes.subspan(1));
    if (reader.node(0, &layout) && reader.at_end()) {
      // What is well formed but not the Writer's choice shows in the second writing.
      std::vector<std::byte> again;
      again.reserve(given);
      layout.serialise(&again);
      if (std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) return layout;
    }
  }
  return error(SGLCOLL_ERR_ARG,
               "the {} bytes of a layout are damaged: they must be what serialise wrote", given);
}

}  // namespace sgl
