// The wire form of a layout: nodes in prefix order, little-endian.
#include "base/checked.hpp"
#include "datatype/layout.hpp"

#include <bit>
#include <cstring>

namespace sgl {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire form is little-endian");

constexpr int kMaxDepth = 64;
constexpr int64_t kMaxOffset = int64_t{1} << 62;  // offsets and sizes stay far from overflow

void put(std::vector<std::byte>* bytes, int64_t value) {
  const auto* raw = reinterpret_cast<const std::byte*>(&value);
  bytes->insert(bytes->end(), raw, raw + sizeof value);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<Layout> read() {
    Result<Layout> layout = node(0);
    if (layout.ok() && !bytes_.empty()) return bad("bytes after its end");
    return layout;
  }

 private:
  static Status bad(const char* what) {
    return error(SGLCOLL_ERR_INTERNAL, "serialised layout: {}", what);
  }

  bool get(int64_t* value) {
    if (bytes_.size() < sizeof *value) return false;
    std::memcpy(value, bytes_.data(), sizeof *value);
    bytes_ = bytes_.subspan(sizeof *value);
    return true;
  }
  static bool within(int64_t value) { return value > -kMaxOffset && value < kMaxOffset; }

  // A repetition's payload and farthest copy fit.
  static bool repeats_fit(int64_t count, int64_t stride, const Layout& child) {
    int64_t bytes = 0, reach = 0;
    return checked_mul(count, child.size(), &bytes) && checked_mul(count, stride, &reach) &&
           within(bytes) && within(reach) && within(child.true_lb() + reach) &&
           within(child.true_ub() + reach);
  }

  Result<Layout> node(int depth) {
    int64_t kind = 0;
    if (depth > kMaxDepth) return bad("nested too deep");
    if (!get(&kind)) return bad("it is cut off");
    switch (kind) {
      case static_cast<int64_t>(LayoutKind::empty):
        return Layout();
      case static_cast<int64_t>(LayoutKind::run):
        return run();
      case static_cast<int64_t>(LayoutKind::loop):
        return loop(depth);
      case static_cast<int64_t>(LayoutKind::seq):
        return seq(depth);
      case static_cast<int64_t>(LayoutKind::indexed):
        return indexed(depth);
      default:
        return bad("a node of no known kind");
    }
  }

  Result<Layout> run() {
    int64_t offset = 0, length = 0;
    if (!get(&offset) || !get(&length)) return bad("it is cut off");
    if (!within(offset) || length <= 0 || !within(length)) return bad("a run out of range");
    return Layout::run(offset, length);
  }

  Result<Layout> loop(int depth) {
    int64_t count = 0, stride = 0, offset = 0;
    if (!get(&count) || !get(&stride) || !get(&offset)) return bad("it is cut off");
    if (count < 2 || !within(count) || !within(stride) || !within(offset))
      return bad("a loop out of range");
    Result<Layout> child = node(depth + 1);
    if (!child.ok()) return child;
    if (!repeats_fit(count, stride, child.value())) return bad("a loop out of range");
    return Layout::loop(count, stride, child.value().shifted(offset));
  }

  Result<Layout> indexed(int depth) {
    int64_t count = 0;
    if (!get(&count)) return bad("it is cut off");
    if (count < 2 || count > static_cast<int64_t>(bytes_.size() / sizeof(int64_t)))
      return bad("it is cut off");
    std::vector<int64_t> displacements(static_cast<size_t>(count));
    for (int64_t& displacement : displacements)
      if (!get(&displacement) || !within(displacement)) return bad("a displacement out of range");
    Result<Layout> child = node(depth + 1);
    if (!child.ok()) return child;
    if (!repeats_fit(count, 0, child.value())) return bad("an indexed node out of range");
    return Layout::indexed(std::move(displacements), child.value());
  }

  Result<Layout> seq(int depth) {
    int64_t count = 0;
    if (!get(&count)) return bad("it is cut off");
    if (count < 2 || count > static_cast<int64_t>(bytes_.size() / sizeof(int64_t)))
      return bad("it is cut off");
    std::vector<Layout> children;
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
      Result<Layout> child = node(depth + 1);
      if (!child.ok()) return child;
      if (!checked_add(total, child.value().size(), &total) || !within(total))
        return bad("a sequence out of range");
      children.push_back(child.take());
    }
    return Layout::seq(std::move(children));
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

void Layout::serialise(std::vector<std::byte>* bytes) const {
  const LayoutNode& node = *node_;
  put(bytes, static_cast<int64_t>(node.kind));
  switch (node.kind) {
    case LayoutKind::empty:
      return;
    case LayoutKind::run:
      put(bytes, node.offset);
      put(bytes, node.length);
      return;
    case LayoutKind::loop:
      put(bytes, node.count);
      put(bytes, node.stride);
      put(bytes, node.offset);
      break;
    case LayoutKind::indexed:
      put(bytes, node.count);
      for (int64_t displacement : node.displacements) put(bytes, displacement);
      break;
    case LayoutKind::seq:
      put(bytes, static_cast<int64_t>(node.children.size()));
      break;
  }
  for (const Layout& child : node.children) child.serialise(bytes);
}

Result<Layout> Layout::deserialise(std::span<const std::byte> bytes) {
  return Reader(bytes).read();
}

}  // namespace sgl
