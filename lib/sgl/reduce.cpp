#include "sgl/reduce.hpp"

#include "datatype/type.hpp"
#include "sgl/copy.hpp"
#include "sgl/layout_steps.hpp"
#include "sgl/stream_copy.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace sgl {
namespace {

// A tile's sources and result together stay in the first-level cache.
constexpr int64_t kTileBytes = 4 << 10;

struct alignas(64) Tile {
  std::array<std::byte, kTileBytes> bytes;
};

// How elements of the basic type lie in an array, where kernels work, against how
// they lie in the payload, which has no gaps.
struct ElementForm {
  Basic basic;
  int64_t size, extent;

  explicit ElementForm(Basic of)
      : basic(of), size(basic_info(of).size), extent(basic_info(of).extent) {}
  bool packed() const { return size == extent; }
};

// As many elements as a tile may have, with the gaps that an array of them has.
const Layout& tile_layout(Basic basic) {
  static const auto layouts = [] {
    std::array<Layout, kBasicCount> made;
    for (int i = 0; i < kBasicCount; ++i) {
      const auto each = static_cast<Basic>(i);
      made[static_cast<size_t>(i)] =
          basic_type(each)->array_layout(kTileBytes / basic_info(each).extent);
    }
    return made;
  }();
  return layouts[static_cast<size_t>(basic)];
}

// Whether the node is one element of a gapped pair type, moved by any offset.
bool is_element(const LayoutNode& node, const LayoutNode& pair) {
  if (node.kind != pair.kind || node.size != pair.size) return false;
  if (node.kind == LayoutKind::run) return true;
  if (!only_runs(node) || !only_runs(pair) || seq_parts(node) != seq_parts(pair)) return false;
  for (int64_t i = 0; i < seq_parts(node); ++i) {
    const Segment one = run_part(node, i), other = run_part(pair, i);
    if (one.length != other.length || one.offset - node.first != other.offset - pair.first)
      return false;
  }
  return true;
}

// Where the view's elements are when they lie in memory as an array, else null.
std::byte* array_address(const View& view, const ElementForm& form) {
  if (form.packed()) return contiguous_address(view);
  const LayoutNode& pair = repeated(tile_layout(form.basic).node());
  const LayoutNode& node = view.layout->node();
  if (is_element(node, pair)) return view.base + node.first - pair.first;
  if (node.kind != LayoutKind::loop || node.stride != form.extent) return nullptr;
  const LayoutNode& element = repeated(node);
  if (!is_element(element, pair)) return nullptr;
  const int64_t skipped = view.offset / form.size;
  return view.base + node.offset + element.first - pair.first + skipped * form.extent;
}

// One source or the result, tile by tile.
class ElementStream {
 public:
  ElementStream() = default;
  ElementStream(const View& view, const ElementForm& form)
      : view_(view), form_(form), array_(array_address(view, form)) {}

  // The elements [first, first + count) in memory, or null when they are no array.
  std::byte* direct(int64_t first) const {
    return array_ != nullptr ? array_ + first * form_.extent : nullptr;
  }

  // A place where the elements can be read: in memory, or gathered into the tile.
  const std::byte* fetch(int64_t first, int64_t count, Tile* tile) const {
    if (array_ != nullptr) return direct(first);
    const View part = part_of(first, count);
    if (form_.packed()) {
      pack(part, tile->bytes.data());
    } else {
      copy(spaced(count, tile), part);
    }
    return tile->bytes.data();
  }

  void store(int64_t first, int64_t count, Tile* tile, bool past_cache) const {
    const View part = part_of(first, count);
    if (form_.packed() && past_cache) {
      stream_unpack_part(part, tile->bytes.data());
    } else if (form_.packed()) {
      unpack(part, tile->bytes.data());
    } else {
      copy(part, spaced(count, tile));
    }
  }

 private:
  View part_of(int64_t first, int64_t count) const {
    return view_.part(first * form_.size, count * form_.size);
  }
  View spaced(int64_t count, Tile* tile) const {
    return {tile->bytes.data(), &tile_layout(form_.basic), 0, count * form_.size};
  }

  View view_;
  ElementForm form_{Basic::byte};
  std::byte* array_ = nullptr;
};

// The last one writes to the result, if that lies in memory as an array.
struct Kernels {
  ReduceKernel fold, last;
  bool past_cache;

  Kernels(OpKind kind, Basic basic, bool past)
      : fold(reduce_kernel(kind, basic)), last(fold), past_cache(past) {
    if (!past) return;
    if (ReduceKernel streaming = streaming_kernel(kind, basic)) last = streaming;
  }
};

// Folds one tile. Only the last kernel call writes to the result's memory, so that
// any source may be the result.
void reduce_tile(const ElementStream& to, std::span<const ElementStream> sources,
                 const Kernels& kernels, int64_t first, int64_t count) {
  Tile gathered;
  Tile folded;
  const std::byte* left = sources[0].fetch(first, count, &folded);
  std::byte* const direct = to.direct(first);
  for (size_t i = 1; i < sources.size(); ++i) {
    const std::byte* right = sources[i].fetch(first, count, &gathered);
    const bool in_place = i + 1 == sources.size() && direct != nullptr;
    std::byte* result = in_place ? direct : folded.bytes.data();
    (in_place ? kernels.last : kernels.fold)(result, left, right, count);
    left = result;
  }
  if (direct == nullptr) to.store(first, count, &folded, kernels.past_cache);
}

void reduce_streams(const ElementStream& to, std::span<const ElementStream> sources,
                    const Kernels& kernels, int64_t count, int64_t tile) {
  if (sources.size() == 2 && to.direct(0) && sources[0].direct(0) && sources[1].direct(0)) {
    return kernels.last(to.direct(0), sources[0].direct(0), sources[1].direct(0), count);
  }
  for (int64_t first = 0; first < count; first += tile) {
    reduce_tile(to, sources, kernels, first, std::min(tile, count - first));
  }
}

bool same_view(const View& one, const View& other) {
  return one.base == other.base && one.offset == other.offset &&
         &one.layout->node() == &other.layout->node();
}

// Two operands that lie in memory as arrays, of which most reductions are: one kernel call.
// False: they do not.
bool reduce_arrays(const View& to, const View& left, const View& right, OpKind kind, Basic basic) {
  const BasicInfo& info = basic_info(basic);
  if (info.size != info.extent) return false;
  std::byte* const result = contiguous_address(to);
  const std::byte* const a = contiguous_address(left);
  const std::byte* const b = contiguous_address(right);
  if (!result || !a || !b) return false;
  reduce_kernel(kind, basic)(result, a, b, to.length / info.size);
  return true;
}

// Of two sources and more.
void reduce_many(const View& to, std::span<const View> sources, OpKind kind, Basic basic,
                 bool past_cache) {
  const Kernels kernels(kind, basic, past_cache);
  const ElementForm form(basic);
  constexpr size_t kInlineSources = 16;
  std::array<ElementStream, kInlineSources> inline_streams;
  std::vector<ElementStream> many_streams;
  std::span<ElementStream> streams(inline_streams);
  if (sources.size() > kInlineSources) {
    many_streams.resize(sources.size());
    streams = many_streams;
  }
  for (size_t i = 0; i < sources.size(); ++i) streams[i] = ElementStream(sources[i], form);
  reduce_streams(ElementStream(to, form), streams.first(sources.size()), kernels,
                 to.length / form.size, kTileBytes / form.extent);
}

}  // namespace

void reduce(const View& to, std::span<const View> sources, OpKind kind, Basic basic) {
  if (to.length == 0 || sources.empty()) return;
  if (sources.size() == 1) {
    if (!same_view(to, sources[0])) copy(to, sources[0]);
    return;
  }
  if (sources.size() == 2 && reduce_arrays(to, sources[0], sources[1], kind, basic)) return;
  reduce_many(to, sources, kind, basic, false);
}

void stream_reduce(const View& to, std::span<const View> sources, OpKind kind, Basic basic) {
  auto is_result = [&](const View& source) { return same_view(to, source); };
  if (sources.size() < 2 || std::ranges::any_of(sources, is_result))
    return reduce(to, sources, kind, basic);
  if (to.length == 0) return;
  reduce_many(to, sources, kind, basic, true);
  finish_streaming();
}

}  // namespace sgl
