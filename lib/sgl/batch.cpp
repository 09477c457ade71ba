#include "sgl/batch.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace sgl {

namespace {

constexpr int64_t kSplitAlignment = 64;
constexpr int64_t kUnlimited = int64_t{1} << 62;

int local_sges(TransferShape shape, const SglLimits& limits) {
  return std::max(1,
                  shape == TransferShape::read_scatter ? limits.max_read_sge : limits.max_send_sge);
}

// With limits below a cache line no split could be aligned, so none is.
int64_t split_alignment(const SglLimits& limits, const SglRules& rules) {
  const int64_t shortest = std::min(limits.max_message_bytes, rules.max_segment_bytes);
  return shortest >= kSplitAlignment ? kSplitAlignment : 1;
}

SideRules local_rules(TransferShape shape, const SglLimits& limits, const SglRules& rules) {
  SideRules side;
  side.max_sges = local_sges(shape, limits);
  side.max_segment_bytes = std::max<int64_t>(1, rules.max_segment_bytes);
  side.split_alignment = split_alignment(limits, rules);
  if (rules.huge_page_bytes > 0) {
    side.page_bytes = static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(std::max(kSplitAlignment, rules.huge_page_bytes))));
  }
  side.max_packed_bytes = std::min(rules.pack_slot_bytes, side.max_segment_bytes);
  // What does not fit into a packed SGE is not small.
  side.pack_below_bytes = std::min(rules.pack_below_bytes, side.max_packed_bytes + 1);
  return side;
}

SideRules remote_rules(TransferShape shape, const SglLimits& limits, const SglRules& rules) {
  SideRules side = local_rules(shape, limits, rules);
  side.pack_below_bytes = 0;
  if (shape == TransferShape::send_receive) {
    side.max_sges = std::max(1, limits.max_recv_sge);
  } else {
    side.max_sges = 1;
    side.max_segment_bytes = kUnlimited;
  }
  return side;
}

}  // namespace

void Batch::clear() {
  wrs.clear();
  local.clear();
  remote.clear();
  packed.clear();
  slot_bytes = 0;
  bytes = 0;
  why = WhyCut::end;
}

int64_t packed_bytes(const Batch& batch) {
  int64_t bytes = 0;
  for (const PackedPiece& piece : batch.packed) bytes += piece.bytes;
  return bytes;
}

void turn_around(Batch* batch) {
  std::swap(batch->local, batch->remote);
  for (WorkRequest& request : batch->wrs) {
    std::swap(request.first_local, request.first_remote);
    std::swap(request.local_count, request.remote_count);
  }
  batch->packed.clear();
  batch->slot_bytes = 0;
}

BatchCompiler::BatchCompiler(const View& local, const View& remote, TransferShape shape,
                             const SglLimits& limits, const SglRules& rules) {
  reset(local, remote, shape, limits, rules);
}

void BatchCompiler::reset(const View& local, const View& remote, TransferShape shape,
                          const SglLimits& limits, const SglRules& rules) {
  assert(local.length == remote.length);
  shape_ = shape;
  position_ = 0;
  length_ = local.length;
  max_message_bytes_ = std::max<int64_t>(1, limits.max_message_bytes);
  max_batch_wrs_ = static_cast<size_t>(std::max(1, limits.max_batch_wrs));
  const SideRules side = local_rules(shape, limits, rules);
  const int64_t slot_of_request =
      side.pack_below_bytes > 0 ? slot_aligned(side.max_packed_bytes) * side.max_sges : 0;
  slot_bytes_left_for_request_ = limits.max_batch_slot_bytes - slot_of_request;
  local_.attach(local, side);
  remote_.attach(remote, remote_rules(shape, limits, rules));
}

bool BatchCompiler::next(Batch* batch) {
  batch->clear();
  while (position_ < length_) {
    if (batch->wrs.size() == max_batch_wrs_ ||
        (!batch->wrs.empty() && batch->slot_bytes > slot_bytes_left_for_request_)) {
      batch->why = WhyCut::batch_limit;
      break;
    }
    add_request(batch);
  }
  return !batch->wrs.empty();
}

// Takes whole runs, from the side that is behind, as long as they need no special care.
void BatchCompiler::take_plain_runs(int64_t limit, Batch* batch) {
  PlainStretch local = local_.open(&batch->local), remote = remote_.open(&batch->remote);
  for (;;) {
    if (local.end < remote.end) {
      if (local.end >= limit || !local.has_next()) break;
      local.take();
    } else {
      if (remote.end >= limit || !remote.has_next()) break;
      remote.take();
    }
  }
  local_.close(local, &batch->local);
  remote_.close(remote, &batch->remote);
}

// Takes pieces until a list is full, which is returned, or both reach the limit.
const BatchSide* BatchCompiler::fill_lists(int64_t limit, Batch* batch) {
  for (;;) {
    const bool local_is_behind = local_.end() < remote_.end();
    BatchSide& behind = local_is_behind ? local_ : remote_;
    if (behind.end() >= limit) return nullptr;
    if (behind.next_is_plain()) {
      take_plain_runs(limit, batch);
    } else if (!behind.append(local_is_behind ? &batch->local : &batch->remote, &batch->packed)) {
      return &behind;
    }
  }
}

// Fills both lists as far as they go, then cuts them at the last permitted place.
void BatchCompiler::add_request(Batch* batch) {
  const int64_t limit = std::min(length_, position_ + max_message_bytes_);
  const int first_local = static_cast<int>(batch->local.size());
  const int first_remote = static_cast<int>(batch->remote.size());
  local_.begin();
  remote_.begin();
  const BatchSide* full = fill_lists(limit, batch);
  const int64_t end = std::min({local_.end(), remote_.end(), limit});
  const int64_t cut =
      end == length_ ? end : std::max(local_.latest_cut(end), remote_.latest_cut(end));
  const WhyCut why = why_cut(cut, full);
  local_.trim(cut, &batch->local, &batch->packed);
  remote_.trim(cut, &batch->remote, nullptr);

  batch->wrs.push_back({shape_, first_local, local_.count(), first_remote, remote_.count(),
                        position_, cut - position_, why});
  batch->bytes += cut - position_;
  if (!batch->packed.empty()) {
    batch->slot_bytes = batch->packed.back().slot_offset + batch->packed.back().bytes;
  }
  position_ = cut;
}

WhyCut BatchCompiler::why_cut(int64_t cut, const BatchSide* full) const {
  if (cut == length_) return WhyCut::end;
  if (full == nullptr) return WhyCut::message_limit;
  if (full == &local_) return WhyCut::local_sge_limit;
  if (shape_ == TransferShape::send_receive) return WhyCut::remote_sge_limit;
  return remote_.run_ended() ? WhyCut::remote_gap : WhyCut::huge_page;
}

}  // namespace sgl
