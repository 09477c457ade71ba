#include "transport/rc/memory_events.hpp"

#include <array>
#include <atomic>

namespace sgl {
namespace {

// Each reader has its own place in the ring; one that falls behind by more than the ring
// holds has lost something.
constexpr uint64_t kSlots = 1024;

struct Slot {
  std::atomic<uint64_t> written{0};  // position + 1
  std::atomic<uint64_t> begin{0}, end{0};
};

std::atomic<uint64_t> next_position{0};
std::array<Slot, kSlots> ring;

}  // namespace

void note_unmapped(uint64_t begin, uint64_t end) noexcept {
  const uint64_t position = next_position.fetch_add(1, std::memory_order_acq_rel);
  Slot& slot = ring[position % kSlots];
  slot.written.store(0, std::memory_order_relaxed);
  slot.begin.store(begin, std::memory_order_release);
  slot.end.store(end, std::memory_order_release);
  slot.written.store(position + 1, std::memory_order_release);
}

UnmapReader::UnmapReader() : next_(next_position.load(std::memory_order_acquire)) {}

bool UnmapReader::pending() const {
  return next_position.load(std::memory_order_acquire) != next_;
}

bool UnmapReader::read(std::vector<AddressRange>* ranges) {
  const uint64_t last = next_position.load(std::memory_order_acquire);
  bool complete = last - next_ <= kSlots;
  for (; complete && next_ < last; ++next_) {
    const Slot& slot = ring[next_ % kSlots];
    // Not yet written, or meanwhile by a later one: taken for lost.
    complete = slot.written.load(std::memory_order_acquire) == next_ + 1;
    const AddressRange range{slot.begin.load(std::memory_order_acquire),
                             slot.end.load(std::memory_order_acquire)};
    complete = complete && slot.written.load(std::memory_order_relaxed) == next_ + 1;
    ranges->push_back(range);
  }
  next_ = last;
  return complete;
}

}  // namespace sgl
