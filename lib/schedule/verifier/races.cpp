#include "schedule/verifier/races.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace sgl::verifier {
namespace {

// Which steps of a rank come before which, by paths of dependencies.
class Ancestors {
 public:
  Ancestors(const Program& program, int first, int last)
      : first_(first), words_((static_cast<size_t>(last - first) + 63) / 64) {
    bits_.resize(static_cast<size_t>(last - first) * words_);
    for (int step = first; step < last; ++step) {
      uint64_t* own = row(step);
      for (int dep : program.deps_of(program.steps[step])) {
        const uint64_t* other = row(dep);
        for (size_t word = 0; word <= static_cast<size_t>(dep - first_) / 64; ++word)
          own[word] |= other[word];
        own[(dep - first_) / 64] |= uint64_t{1} << (dep - first_) % 64;
      }
    }
  }
  bool ordered(int a, int b) const {
    if (a > b) std::swap(a, b);
    return row(b)[(a - first_) / 64] >> (a - first_) % 64 & 1;
  }

 private:
  uint64_t* row(int step) { return bits_.data() + static_cast<size_t>(step - first_) * words_; }
  const uint64_t* row(int step) const {
    return bits_.data() + static_cast<size_t>(step - first_) * words_;
  }
  int first_;
  size_t words_;
  std::vector<uint64_t> bits_;
};

struct Access {
  Slice slice;
  int step = 0;
  bool writes = false;
  bool operator<(const Access& other) const {
    return std::tie(slice.buffer, slice.offset, step) <
           std::tie(other.slice.buffer, other.slice.offset, other.step);
  }
};

void list_accesses(const Program& program, int index, std::vector<Access>* accesses) {
  const ProgramStep& step = program.steps[index];
  auto add = [&](const Slice& slice, bool writes) {
    if (slice.length > 0) accesses->push_back({slice, index, writes});
  };
  add(step.slice, step.kind != StepKind::send);
  for (const ProgramOperand& operand : program.operands_of(step))
    add(operand.operand.slice, operand.operand.incoming());
}

Status race(const Program& program, const Access& a, const Access& b) {
  const Access& first = a.step < b.step ? a : b;
  const Access& second = a.step < b.step ? b : a;
  return error(SGLCOLL_ERR_INTERNAL, "race: {} {} {} and {} {} {}, without an order between them",
               describe(program, first.step), first.writes ? "writes" : "reads",
               describe(first.slice), describe(program, second.step),
               second.writes ? "writes" : "reads", describe(second.slice));
}

// Accesses that reach beyond where the sweep is.
class Active {
 public:
  // The first one that `access` collides with, or null. Those it has passed are dropped.
  const Access* collision(const Access& access, const Ancestors& ancestors) {
    size_t kept = 0;
    const Access* found = nullptr;
    for (const Access* other : list_) {
      if (other->slice.buffer != access.slice.buffer ||
          other->slice.offset + other->slice.length <= access.slice.offset)
        continue;
      list_[kept++] = other;
      if (!found && other->step != access.step && !ancestors.ordered(other->step, access.step))
        found = other;
    }
    list_.resize(kept);
    return found;
  }
  void add(const Access* access) { list_.push_back(access); }

 private:
  std::vector<const Access*> list_;
};

Status check_rank(const Program& program, int first, int last) {
  std::vector<Access> accesses;
  for (int step = first; step < last; ++step) list_accesses(program, step, &accesses);
  std::sort(accesses.begin(), accesses.end());
  const Ancestors ancestors(program, first, last);
  Active reads, writes;
  for (const Access& access : accesses) {
    if (const Access* other = writes.collision(access, ancestors))
      return race(program, *other, access);
    if (!access.writes) {
      reads.add(&access);
      continue;
    }
    if (const Access* other = reads.collision(access, ancestors))
      return race(program, *other, access);
    writes.add(&access);
  }
  return {};
}

}  // namespace

Status check_races(const Program& program) {
  for (int rank = 0; rank < program.ranks(); ++rank)
    SGL_TRY(check_rank(program, program.first_step[rank], program.first_step[rank + 1]));
  return {};
}

}  // namespace sgl::verifier
