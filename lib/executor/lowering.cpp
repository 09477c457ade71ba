#include "executor/lowering.hpp"

#include <algorithm>
#include <array>

namespace sgl {
namespace {

// Whether batches can have packed SGEs, so that one side may have short runs.
bool packs(const TransportLimits& limits) {
  return limits.sgl_rules.pack_below_bytes > 0;
}

// On average; a contiguous layout has one run, however short.
bool has_runs_of(const Layout& layout, int64_t bytes) {
  return layout.contiguous() || layout.size() / layout.run_count() >= bytes;
}

// Transfers of fewer bytes go in messages.
int64_t push_below(const TransportLimits& limits, Flow flow) {
  switch (flow) {
    case Flow::apart:
      return limits.push_apart_below_bytes;
    case Flow::from_root:
    case Flow::to_root:
    case Flow::operand:
      return limits.push_alone_below_bytes;
    case Flow::many_operands:
      // Longer operands are read piece by piece, and never leave the cache.
      return std::min(limits.push_alone_below_bytes, kOperandPieceBytes);
    default:
      return limits.push_below_bytes;
  }
}

}  // namespace

const char* path_name(Path path) {
  static constexpr auto kNames =
      std::to_array<const char*>({"eager", "push", "map", "map-both", "store", "lists-both",
                                  "read-lists", "read", "write", "write-lists", "send"});
  static_assert(kNames.size() == kPathCount);
  return kNames[static_cast<int>(path)];
}

bool goes_at_once(const TransportLimits& limits, std::optional<int64_t> eager_bytes,
                  int64_t payload_bytes) {
  return payload_bytes <= eager_bytes.value_or(limits.eager_bytes);
}

bool fits_in_message(const TransportLimits& limits, std::optional<int64_t> eager_bytes,
                     int64_t payload_bytes) {
  return goes_at_once(limits, eager_bytes, payload_bytes) &&
         payload_bytes <= limits.max_message_bytes;
}

bool runs_are_long(const TransportLimits& limits, const Layout& layout, bool mappable) {
  return mappable || has_runs_of(layout, limits.bulk_min_run_bytes);
}

Flow flow_of(const Problem& problem, std::string_view algorithm) {
  switch (problem.collective) {
    case Collective::bcast:
      return Flow::from_root;
    case Collective::gather:
    case Collective::gatherv:
      return Flow::to_root;
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return Flow::apart;
    case Collective::reduce:  // its root has enough to do, so the others copy their part
      return Flow::operand;
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return problem.size > 2 && algorithm == "direct" ? Flow::many_operands : Flow::operand;
    default:
      return Flow::exchange;
  }
}

Path bulk_path(const TransportLimits& limits, Flow flow, const View& local, const View& remote,
               bool reachable) {
  if (flow == Flow::from_root && reachable &&
      fit_to_write(limits, flow, *local.layout, local.length) &&
      fit_to_write(limits, flow, *remote.layout, local.length))
    return Path::lists_both;
  if (local.length < push_below(limits, flow)) return Path::push;
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

int64_t bytes_to_store(const TransportLimits& limits, Flow flow, int ranks, int64_t bytes) {
  constexpr int64_t kLine = 64;  // the ends write lines of their own
  if (bytes < limits.store_from_bytes) return 0;
  if (flow == Flow::to_root) return bytes;
  // The root's time is for all others.
  return flow == Flow::from_root ? bytes / ranks / kLine * kLine : 0;
}

bool fit_to_write(const TransportLimits& limits, Flow flow, const Layout& layout, int64_t bytes) {
  const bool rooted = flow == Flow::to_root || flow == Flow::from_root;
  return rooted && limits.writes_lists && bytes >= limits.store_from_bytes &&
         has_runs_of(layout, limits.write_min_run_bytes);
}

bool would_ask_push(const TransportLimits& limits, Flow flow, const View& source) {
  return bulk_path(limits, flow, source, source, true) == Path::push;
}

bool worth_describing(const TransportLimits& limits, const Layout& layout, bool mappable) {
  return packs(limits) || runs_are_long(limits, layout, mappable);
}

bool receiver_packs(const TransportLimits& limits, const View& local) {
  return !runs_are_long(limits, *local.layout, false);
}

// A place that the result only partly covers would be overwritten by it.
bool comes_in_pieces(const Slice& operand, const Slice& result, int64_t piece_bytes) {
  if (operand.length <= piece_bytes) return false;
  const bool apart = operand.buffer != result.buffer ||
                     operand.offset + operand.length <= result.offset ||
                     result.offset + result.length <= operand.offset;
  return apart || operand == result;
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
