// Deps: the list of dependencies of one step while a round is generated.
#pragma once

#include "schedule/schedule.hpp"

#include <array>
#include <cassert>
#include <span>

namespace sgl {

// Room for two messages in each of the log2(2^31) rounds of a logarithmic
// schedule and a few more; never allocates.
class Deps {
 public:
  void add(StepRef step) {
    assert(count_ < kCapacity);
    refs_[count_++] = step;
  }
  void add_if(bool condition, StepRef step) {
    if (condition) add(step);
  }
  operator std::span<const StepRef>() const { return {refs_.data(), count_}; }

 private:
  static constexpr size_t kCapacity = 72;
  std::array<StepRef, kCapacity> refs_;
  size_t count_ = 0;
};

}  // namespace sgl
