// SlotPool: registered memory for the packed SGEs of batches in flight.
#pragma once

#include "sgl/batch.hpp"
#include "transport/rc/memory.hpp"

#include <memory>
#include <vector>

namespace sgl {

// What is packed in a slot is kept with it, for a read or receive is drained later.
struct PackSlot {
  std::byte* memory = nullptr;
  Layout layout;  // of the view, which it keeps alive
  View view;
  Batch batch;  // only its packed pieces
  bool drains = false;
};

// Slots are made when they are first needed and kept. One thread at a time per object;
// the table must outlive it.
class SlotPool {
 public:
  SlotPool(MemoryTable& memory, int64_t slot_bytes, int most)
      : memory_(memory), slot_bytes_(slot_bytes), most_(static_cast<size_t>(most)) {}
  ~SlotPool();
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  int64_t slot_bytes() const { return slot_bytes_; }
  // Null: all are in use.
  Result<PackSlot*> take();
  void give_back(PackSlot* slot) { free_.push_back(slot); }

 private:
  MemoryTable& memory_;
  int64_t slot_bytes_;
  size_t most_;
  std::vector<std::unique_ptr<PackSlot>> slots_;
  std::vector<PackSlot*> free_;
};

}  // namespace sgl
