#include "executor/lowering.hpp"

#include <algorithm>

namespace sgl {

const char* path_name(Path path) {
  static constexpr const char* kNames[kPathCount] = {"eager",      "push", "map",
                                                     "read-lists", "read", "write"};
  return kNames[static_cast<int>(path)];
}

bool fits_in_message(const TransportLimits& limits, int64_t eager_bytes, int64_t payload_bytes) {
  return payload_bytes <= std::min(eager_bytes, limits.max_message_bytes);
}

namespace {

bool runs_reach(int64_t bytes, const Layout& layout) {
  return layout.contiguous() || layout.size() / layout.run_count() >= bytes;
}

}  // namespace

bool runs_are_long(const TransportLimits& limits, const Layout& layout, bool mappable) {
  return mappable || runs_reach(limits.bulk_min_run_bytes, layout);
}

Path bulk_path(const TransportLimits& limits, const View& local, const View& remote,
               bool reachable) {
  const bool long_runs = runs_are_long(limits, *local.layout, false) &&
                         runs_are_long(limits, *remote.layout, false);
  if (!long_runs) return Path::push;
  if (limits.two_sided_lists && reachable) return Path::read_lists;
  if (limits.can_read && contiguous_address(remote)) return Path::read;
  if (limits.can_write && contiguous_address(local)) return Path::write;
  if (limits.can_read && runs_reach(limits.run_by_run_min_bytes, *local.layout) &&
      runs_reach(limits.run_by_run_min_bytes, *remote.layout))
    return Path::read;
  return Path::push;
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

SglRules transfer_rules() {
  return {};
}

}  // namespace sgl
