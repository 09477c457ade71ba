// Fifo: a queue in a ring that grows but never shrinks, so that a full round of pushes and
// pops takes no memory (a std::deque does).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace sgl {

template <class T>
class Fifo {
 public:
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  T& front() { return items_[first_]; }
  // The i-th from the front.
  T& operator[](size_t i) { return items_[(first_ + i) % items_.size()]; }

  void push_back(T item) {
    if (count_ == items_.size()) grow();
    items_[(first_ + count_++) % items_.size()] = std::move(item);
  }
  // The item stays where it is, moved from or not, until its place is used again.
  void pop_front() {
    first_ = (first_ + 1) % items_.size();
    --count_;
  }
  void pop_back() { --count_; }

 private:
  void grow() {
    constexpr size_t kFirstSize = 8;
    std::vector<T> larger(items_.empty() ? kFirstSize : 2 * items_.size());
    for (size_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
    items_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> items_;
  size_t first_ = 0, count_ = 0;
};

}  // namespace sgl
