#include "transport/rc/slots.hpp"

namespace sgl {

SlotPool::~SlotPool() {
  for (const std::unique_ptr<PackSlot>& slot : slots_) memory_.deallocate(slot->memory);
}

Result<PackSlot*> SlotPool::take() {
  if (free_.empty() && slots_.size() < most_) {
    void* memory = memory_.allocate(static_cast<size_t>(slot_bytes_));
    if (!memory && slots_.empty())
      return error(SGLCOLL_ERR_NO_MEMORY,
                   "{} bytes of registered memory to pack into could not be had", slot_bytes_);
    if (memory) {
      free_.push_back(slots_.emplace_back(std::make_unique<PackSlot>()).get());
      free_.back()->memory = static_cast<std::byte*>(memory);
    }
  }
  if (free_.empty()) return static_cast<PackSlot*>(nullptr);
  PackSlot* slot = free_.back();
  free_.pop_back();
  return slot;
}

}  // namespace sgl
