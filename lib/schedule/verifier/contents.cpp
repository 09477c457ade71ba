#include "schedule/verifier/contents.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace sgl::verifier {
namespace {

// Neighbouring runs of one shift become one, so that a whole range of ranks has one form.
std::vector<Run> merged(const std::vector<Run>& runs) {
  std::vector<Run> result;
  for (const Run& run : runs) {
    if (!result.empty() && result.back().last == run.first && result.back().shift == run.shift)
      result.back().last = run.last;
    else
      result.push_back(run);
  }
  return result;
}

bool by_shift(const Run& a, const Run& b) {
  return std::tie(a.shift, a.first, a.last) < std::tie(b.shift, b.first, b.last);
}

}  // namespace

Terms::Terms(bool commutative) : commutative_(commutative) {
  runs_.emplace_back();  // kUninitialised
}

Term Terms::intern(std::vector<Run> runs) {
  const auto [found, is_new] = terms_.try_emplace(runs, static_cast<Term>(runs_.size()));
  if (is_new) runs_.push_back(std::move(runs));
  return found->second;
}

Term Terms::of_ranks(int first, int last) {
  return intern({{first, last, 0}});
}

Terms::Combined Terms::join(Term left, Term right, int64_t distance) {
  const auto [found, is_new] = joined_.try_emplace({left, right, distance}, Combined{});
  if (!is_new) return found->second;
  std::vector<Run> runs = runs_[left];
  for (Run run : runs_[right]) {
    run.shift += distance;
    runs.push_back(run);
  }
  if (commutative_) std::sort(runs.begin(), runs.end(), by_shift);
  // The first run's position stands for the term's.
  const int64_t shift = runs.front().shift;
  for (Run& run : runs) run.shift -= shift;
  found->second = {intern(merged(runs)), shift};
  return found->second;
}

Piece Terms::combine(const Piece& left, const Piece& right) {
  if (left.term == kUninitialised || right.term == kUninitialised)
    return {left.length, kUninitialised, 0};
  const Combined combined = join(left.term, right.term, right.position - left.position);
  return {left.length, combined.term, left.position + combined.shift};
}

Pieces Terms::combine(const Pieces& left, const Pieces& right) {
  Pieces result;
  auto a = left.begin(), b = right.begin();
  int64_t used_a = 0, used_b = 0;  // bytes of *a and *b
  while (a != left.end() && b != right.end()) {
    const int64_t length = std::min(a->length - used_a, b->length - used_b);
    result.push_back(combine(Piece{length, a->term, a->position + used_a},
                             Piece{length, b->term, b->position + used_b}));
    if ((used_a += length) == a->length) ++a, used_a = 0;
    if ((used_b += length) == b->length) ++b, used_b = 0;
  }
  return result;
}

std::string Terms::describe(const Piece& piece) const {
  if (piece.term == kUninitialised) return "uninitialised bytes";
  std::string text;
  for (const Run& run : runs_[piece.term]) {
    if (text.size() > 200) return text + " ...";
    if (!text.empty()) text += commutative_ ? " + " : " then ";
    const int64_t at = piece.position + run.shift;
    text += run.last == run.first + 1
                ? fmt::format("rank {}'s input bytes {}..{}", run.first, at, at + piece.length - 1)
                : fmt::format("input bytes {}..{} of ranks {} to {}", at, at + piece.length - 1,
                              run.first, run.last - 1);
  }
  return text;
}

Contents::Contents(int64_t bytes) : bytes_(bytes) {
  values_[0] = {};
}

Pieces Contents::read(int64_t offset, int64_t length) const {
  Pieces pieces;
  const int64_t end = offset + length;
  auto value = std::prev(values_.upper_bound(offset));
  while (offset < end) {
    const auto next = std::next(value);
    const int64_t stop = std::min(end, next == values_.end() ? bytes_ : next->first);
    const Value& held = value->second;
    const int64_t position =
        held.term == kUninitialised ? 0 : held.position + (offset - value->first);
    pieces.push_back({stop - offset, held.term, position});
    offset = stop;
    value = next;
  }
  return pieces;
}

// Makes a value start at `offset`.
Contents::Map::iterator Contents::cut(int64_t offset) {
  const auto value = std::prev(values_.upper_bound(offset));
  if (value->first == offset || offset == bytes_) return offset == bytes_ ? values_.end() : value;
  return values_.emplace_hint(
      std::next(value), offset,
      Value{value->second.term, value->second.position + (offset - value->first)});
}

bool Contents::continues(Map::const_iterator before, Map::const_iterator after) const {
  if (before->second.term != after->second.term) return false;
  return before->second.term == kUninitialised ||
         after->second.position - before->second.position == after->first - before->first;
}

void Contents::write(int64_t offset, const Pieces& pieces) {
  int64_t length = 0;
  for (const Piece& piece : pieces) length += piece.length;
  if (length == 0) return;
  const auto end = cut(offset + length);
  auto at = values_.erase(cut(offset), end);
  for (const Piece& piece : pieces) {
    values_.emplace_hint(at, offset, Value{piece.term, piece.position});
    offset += piece.length;
  }
  // Join what now continues its neighbour: from before the first new value to `at`.
  auto value = std::prev(values_.lower_bound(offset - length + 1));
  if (value != values_.begin()) --value;
  while (value != values_.end() && value->first < offset) {
    const auto next = std::next(value);
    if (next != values_.end() && continues(value, next))
      values_.erase(next);
    else
      value = next;
  }
}

}  // namespace sgl::verifier
