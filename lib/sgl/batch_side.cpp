#include "sgl/batch_side.hpp"

#include <algorithm>

namespace sgl {

namespace {

int64_t slot_end(const std::vector<PackedPiece>& packed) {
  return packed.empty() ? 0 : slot_aligned(packed.back().slot_offset + packed.back().bytes);
}

}  // namespace

void RunReader::attach(const View& view) {
  cursor_.attach(*view.layout);
  cursor_.seek(view.offset);
  end_ = view.offset + view.length;
  index_ = ready_ = 0;
  held_ = false;
  taken_ = 0;
  runs_[0] = {0, 0};
  if (view.length > 0) refill();
}

void RunReader::step() {
  taken_ = 0;
  if (++index_ == ready_) refill();
}

void RunReader::refill() {
  if (held_) runs_[0] = runs_[ready_];
  size_t count = held_ ? 1 : 0;
  int64_t unread;
  do {
    const size_t got = cursor_.next(std::span(runs_).subspan(count), end_ - cursor_.position());
    unread = end_ - cursor_.position();
    const bool joins = count > 0 && got > 0 && runs_[0].offset + runs_[0].length == runs_[1].offset;
    if (joins) {
      runs_[0].length += runs_[1].length;
      std::copy(runs_.begin() + 2, runs_.begin() + 1 + static_cast<ptrdiff_t>(got),
                runs_.begin() + 1);
    }
    count += got - (joins ? 1 : 0);
  } while (count == 1 && unread > 0);
  held_ = unread > 0;
  ready_ = count - (held_ ? 1 : 0);
  index_ = 0;
}

void BatchSide::attach(const View& view, const SideRules& rules) {
  reader_.attach(view);
  rules_ = rules;
  plain_ = {.shortest = rules.pack_below_bytes,
            .longest = rules.max_segment_bytes,
            .base = reinterpret_cast<intptr_t>(view.base),
            .page_mask = rules.page_bytes > 0 ? -rules.page_bytes : 0};
  end_ = 0;
  begin();
}

PlainStretch BatchSide::open(std::vector<Sge>* list) {
  const std::span<const Segment> runs = reader_.whole_runs();
  const size_t room = std::min(runs.size(), static_cast<size_t>(rules_.max_sges - count_));
  const size_t size = list->size();
  PlainStretch stretch{
      .next = runs.data(), .last = runs.data() + room, .out = nullptr, .end = end_, .rule = plain_};
  if (stretch.has_next()) {
    list->resize(size + room);
    stretch.out = list->data() + size;
  } else {
    stretch.last = stretch.next;
  }
  return stretch;
}

void BatchSide::close(const PlainStretch& stretch, std::vector<Sge>* list) {
  if (stretch.out == nullptr) return;
  list->resize(static_cast<size_t>(stretch.out - list->data()));
  const auto taken = static_cast<size_t>(stretch.next - reader_.whole_runs().data());
  if (taken == 0) return;
  reader_.take_whole(taken);
  count_ += static_cast<int>(taken);
  tail_runs_ = 0;
  end_ = stretch.end;
  piece_start_ = end_ - list->back().length;
  piece_offset_ = list->back().offset;
}

// How much of a run that is too long for one SGE goes into the next one. The last
// SGE of a list is not rounded here: where it ends depends on the other side too.
int64_t BatchSide::split(const Segment& run) const {
  const int64_t address = plain_.base + run.offset;
  int64_t length = std::min(run.length, rules_.max_segment_bytes);
  if (plain_.page_mask != 0)
    length = std::min(length, (address & plain_.page_mask) + rules_.page_bytes - address);
  if (length == run.length || count_ + 1 == rules_.max_sges) return length;
  const int64_t aligned = ((address + length) & -rules_.split_alignment) - address;
  return aligned > 0 ? aligned : length;
}

void BatchSide::start_packed(int64_t payload_offset, Sge* tail,
                             std::vector<PackedPiece>* packed) const {
  const int64_t slot_offset = slot_end(*packed);
  packed->push_back({payload_offset, tail->length, slot_offset, 1});
  tail->offset = slot_offset;
  tail->packed = true;
}

void BatchSide::extend_packed(const Segment& run, Sge* tail, std::vector<PackedPiece>* packed) {
  if (!tail->packed) start_packed(piece_start_, tail, packed);
  tail->length += run.length;
  packed->back().bytes = tail->length;
  packed->back().runs = ++tail_runs_;
}

int64_t BatchSide::latest_cut(int64_t end) const {
  if (end == end_ && reader_.run_ended()) return end;
  const int64_t beyond =
      (plain_.base + piece_offset_ + end - piece_start_) & (rules_.split_alignment - 1);
  return std::max(piece_start_, end - beyond);
}

void BatchSide::trim(int64_t cut, std::vector<Sge>* list, std::vector<PackedPiece>* packed) {
  const int64_t excess = end_ - cut;
  if (excess == 0) return;
  reader_.give_back(excess);
  end_ = cut;
  Sge& tail = list->back();
  tail.length -= excess;
  if (tail.length == 0) {
    if (tail.packed) packed->pop_back();
    list->pop_back();
    --count_;
  } else if (tail.packed) {
    trim_packed(cut == piece_start_, &tail, packed);
  }
}

void BatchSide::trim_packed(bool last_run_gone, Sge* tail, std::vector<PackedPiece>* packed) {
  PackedPiece& piece = packed->back();
  piece.bytes = tail->length;
  if (last_run_gone) --piece.runs;
  const Segment rest{first_run_.offset, tail->length};
  if (piece.runs > 1 || plain_.crosses_page(rest)) return;
  // A single run needs no slot.
  packed->pop_back();
  *tail = {rest.offset, rest.length, false};
}

}  // namespace sgl
