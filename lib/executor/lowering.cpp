#include "executor/lowering.hpp"

#include <algorithm>

namespace sgl {
namespace {

// Whether batches can have packed SGEs, so that one side may have short runs.
bool packs(const TransportLimits& limits) {
  return limits.sgl_rules.pack_below_bytes > 0;
}

}  // namespace

const char* path_name(Path path) {
  static constexpr const char* kNames[kPathCount] = {"eager", "push",  "map", "read-lists",
                                                     "read",  "write", "send"};
  return kNames[static_cast<int>(path)];
}

bool fits_in_message(const TransportLimits& limits, int64_t eager_bytes, int64_t payload_bytes) {
  return payload_bytes <= std::min(eager_bytes, limits.max_message_bytes);
}

bool runs_are_long(const TransportLimits& limits, const Layout& layout, bool mappable) {
  return mappable || layout.contiguous() ||
         layout.size() / layout.run_count() >= limits.bulk_min_run_bytes;
}

Path bulk_path(const TransportLimits& limits, const View& local, const View& remote,
               bool reachable) {
  const bool long_here = runs_are_long(limits, *local.layout, false);
  const bool long_there = runs_are_long(limits, *remote.layout, false);
  // Short runs on both sides are copied twice in any case, for which messages are as good.
  if (!long_here && !long_there) return Path::push;
  if (!packs(limits) && !(long_here && long_there)) return Path::push;
  if (limits.two_sided_lists && reachable) return Path::read_lists;
  if (limits.can_read && contiguous_address(remote)) return Path::read;
  if (limits.can_write && contiguous_address(local)) return Path::write;
  return limits.can_send ? Path::send : Path::push;
}

bool worth_describing(const TransportLimits& limits, const Layout& layout, bool mappable) {
  return packs(limits) || runs_are_long(limits, layout, mappable);
}

bool receiver_packs(const TransportLimits& limits, const View& local) {
  return !runs_are_long(limits, *local.layout, false);
}

TransferShape shape_of(Path path) {
  switch (path) {
    case Path::read:
      return TransferShape::read_scatter;
    case Path::write:
      return TransferShape::write_gather;
    default:
      return TransferShape::send_receive;
  }
}

SglRules transfer_rules(const TransportLimits& limits) {
  return limits.sgl_rules;
}

}  // namespace sgl
