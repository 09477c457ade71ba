// One side of the SGL compiler: the list of segments that a work request takes
// from one view. Internal to the compiler; use sgl/batch.hpp.
#pragma once

#include "datatype/cursor.hpp"
#include "sgl/view.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sgl {

struct Sge {
  int64_t offset;  // from the side's base, or into the pack slot
  int64_t length;  // never 0
  bool packed;     // local side only: bytes to be gathered into (or scattered from) the slot
};

// Bytes [payload_offset, +bytes) of the local payload that the poster copies to
// (or from) slot bytes [slot_offset, +bytes): one packed SGE.
struct PackedPiece {
  int64_t payload_offset, bytes, slot_offset;
  int64_t runs;  // of memory in it
};

// Packed SGEs start on cache lines, so that two never share one.
constexpr int64_t slot_aligned(int64_t bytes) {
  return (bytes + 63) & ~int64_t{63};
}

// Reads the runs of a view ahead in bulk and joins adjacent ones, so that what it
// yields depends neither on the buffer's size nor on how the layout was described.
class RunReader {
 public:
  void attach(const View& view);
  // The rest of the current run. Only while payload is left.
  Segment rest() {
    if (taken_ == runs_[index_].length) step();
    return {runs_[index_].offset + taken_, runs_[index_].length - taken_};
  }
  // Moves on, at most by rest().length.
  void take(int64_t bytes) { taken_ += bytes; }
  // Undoes the end of the last take, if rest() was not called since.
  void give_back(int64_t bytes) { taken_ -= bytes; }
  // Whether the last take reached the end of its run; rest() may have moved on since.
  bool run_ended() const { return taken_ == 0 || taken_ == runs_[index_].length; }

  // The runs read ahead of which nothing is taken yet, while between two runs; may be
  // none. take_whole moves on by `count` > 0 of them.
  std::span<const Segment> whole_runs() const {
    if (!run_ended()) return {};
    const size_t first = taken_ == 0 ? index_ : index_ + 1;
    return {runs_.data() + first, ready_ - first};
  }
  void take_whole(size_t count) {
    index_ += taken_ == 0 ? count - 1 : count;
    taken_ = runs_[index_].length;
  }

 private:
  void step();
  void refill();

  static constexpr size_t kReadAhead = 64;
  Cursor cursor_;
  int64_t end_ = 0;  // payload offset where the view ends
  std::array<Segment, kReadAhead> runs_{};
  size_t index_ = 0;
  size_t ready_ = 0;   // runs that are known to be whole
  bool held_ = false;  // runs_[ready_] may go on in what is not read yet
  int64_t taken_ = 0;  // of runs_[index_]
};

struct SideRules {
  int max_sges = 1;
  int64_t max_segment_bytes = 1;
  int64_t split_alignment = 1;  // power of two
  int64_t page_bytes = 0;       // power of two or 0
  int64_t pack_below_bytes = 0;
  int64_t max_packed_bytes = 0;
};

// Whether a run becomes one SGE as it is: needs neither a slot nor a split.
struct PlainRule {
  int64_t shortest, longest;
  int64_t base;       // address of the side's base
  int64_t page_mask;  // the bits of an address that number its page; 0: no rule

  bool crosses_page(const Segment& run) const {
    const int64_t first = base + run.offset;
    return ((first ^ (first + run.length - 1)) & page_mask) != 0;
  }
  bool holds(const Segment& run) const {
    return run.length >= shortest && run.length <= longest && !crosses_page(run);
  }
};

// A stretch of whole runs that each become an SGE as they are, and the room for those.
// Exists for speed: all of it fits into registers.
struct PlainStretch {
  const Segment* next;
  const Segment* last;
  Sge* out;
  int64_t end;  // payload offset reached
  PlainRule rule;

  bool has_next() const { return next != last && rule.holds(*next); }
  void take() {
    *out++ = {next->offset, next->length, false};
    end += next->length;
    ++next;
  }
};

// Builds the list of one WR after the other. The vectors are the batch's and are
// given to each call, so that a side can be copied.
class BatchSide {
 public:
  void attach(const View& view, const SideRules& rules);

  void begin() {
    count_ = 0;
    tail_runs_ = 0;
  }
  // Takes the next piece of the payload into the list; false when there is no room.
  // Only while payload is left.
  bool append(std::vector<Sge>* list, std::vector<PackedPiece>* packed);
  // Whether the next piece is a whole run, read ahead, that fits as it is.
  bool next_is_plain() const {
    const std::span<const Segment> runs = reader_.whole_runs();
    return !runs.empty() && count_ < rules_.max_sges && plain_.holds(runs.front());
  }
  // append for many such pieces: open, take from the stretch, close. Between the two
  // `list` has unused entries at its end.
  PlainStretch open(std::vector<Sge>* list);
  void close(const PlainStretch& stretch, std::vector<Sge>* list);

  // The last place at or before `end` (inside the last piece) where a WR may be cut.
  int64_t latest_cut(int64_t end) const;
  // Gives back what lies after `cut`, a place in the last piece.
  void trim(int64_t cut, std::vector<Sge>* list, std::vector<PackedPiece>* packed);

  int64_t end() const { return end_; }  // payload offset that the list reaches
  int count() const { return count_; }
  bool run_ended() const { return reader_.run_ended(); }

 private:
  int64_t split(const Segment& run) const;
  void start_packed(int64_t payload_offset, Sge* tail, std::vector<PackedPiece>* packed) const;
  void extend_packed(const Segment& run, Sge* tail, std::vector<PackedPiece>* packed);
  void trim_packed(bool last_run_gone, Sge* tail, std::vector<PackedPiece>* packed);

  RunReader reader_;
  SideRules rules_;
  PlainRule plain_{};
  int64_t end_ = 0;
  int64_t piece_start_ = 0;   // the last piece, in the payload and
  int64_t piece_offset_ = 0;  // in memory
  int count_ = 0;
  int64_t tail_runs_ = 0;    // runs in the last SGE while each is short enough to be packed
  Segment first_run_{0, 0};  // of the last SGE while tail_runs_ > 0
};

inline bool BatchSide::append(std::vector<Sge>* list, std::vector<PackedPiece>* packed) {
  const Segment run = reader_.rest();
  const bool small = run.length < rules_.pack_below_bytes;
  int64_t length = run.length;
  if (small && tail_runs_ > 0 && list->back().length + length <= rules_.max_packed_bytes) {
    extend_packed(run, &list->back(), packed);
  } else {
    if (count_ == rules_.max_sges) return false;
    const bool crosses = plain_.crosses_page(run);
    if (length > rules_.max_segment_bytes || (crosses && !small)) length = split(run);
    list->push_back({run.offset, length, false});
    ++count_;
    tail_runs_ = small ? 1 : 0;
    first_run_ = run;
    if (small && crosses) start_packed(end_, &list->back(), packed);
  }
  piece_start_ = end_;
  piece_offset_ = run.offset;
  end_ += length;
  reader_.take(length);
  return true;
}

}  // namespace sgl
