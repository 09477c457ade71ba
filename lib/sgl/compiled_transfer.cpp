#include "sgl/compiled_transfer.hpp"

#include <algorithm>
#include <bit>

namespace sgl {
namespace {

// Longer transfers are compiled each time: their lists would fill the cache and the memory.
constexpr size_t kMostKept = 8;

// What of a base the rules look at: split points on cache lines, huge pages.
uint64_t misalignment(const std::byte* base, const SglRules& rules) {
  constexpr uint64_t kCacheLine = 64;
  const uint64_t page =
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, rules.huge_page_bytes)));
  return reinterpret_cast<uint64_t>(base) % std::max(kCacheLine, page);
}

}  // namespace

bool CompiledTransfer::matches(const View& local, const View& remote, TransferShape shape,
                               const SglLimits& limits, const SglRules& rules, bool turned) const {
  return whole_ && key_.length == local.length && key_.local_offset == local.offset &&
         key_.remote_offset == remote.offset && key_.shape == shape && key_.turned == turned &&
         key_.local_misaligned == misalignment(local.base, rules) &&
         key_.remote_misaligned == misalignment(remote.base, rules) && key_.limits == limits &&
         key_.rules == rules && key_.local_layout == *local.layout &&
         key_.remote_layout == *remote.layout;
}

void CompiledTransfer::begin(const View& local, const View& remote, TransferShape shape,
                             const SglLimits& limits, const SglRules& rules, bool turned) {
  given_ = 0;
  replays_ = matches(local, remote, shape, limits, rules, turned);
  if (replays_) return;
  key_ = {*local.layout,
          *remote.layout,
          local.offset,
          remote.offset,
          local.length,
          misalignment(local.base, rules),
          misalignment(remote.base, rules),
          shape,
          limits,
          rules,
          turned};
  whole_ = false;
  compiler_.reset(local, remote, shape, limits, rules);
}

const CompiledTransfer::Item* CompiledTransfer::next() {
  if (replays_) return given_ < kept_ ? &items_[given_++] : nullptr;
  if (compiler_.position() == key_.length) return nullptr;
  const size_t place = std::min(given_, kMostKept - 1);
  if (place == items_.size()) items_.emplace_back();
  Item& item = items_[place];
  compiler_.next(&item.batch);
  item.packed_bytes = packed_bytes(item.batch);
  if (key_.turned) turn_around(&item.batch);
  kept_ = ++given_;
  whole_ = kept_ <= kMostKept && compiler_.position() == key_.length;
  return &item;
}

}  // namespace sgl
