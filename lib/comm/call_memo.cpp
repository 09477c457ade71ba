#include "comm/call_memo.hpp"

#include <cstring>

namespace sgl {
namespace {

bool given(const void* buffer, const Layout& layout) {
  return buffer || layout.empty();
}

bool may_overlap(const std::byte* a, const Layout& of_a, const std::byte* b, const Layout& of_b) {
  if (of_a.empty() || of_b.empty()) return false;
  return a + of_a.true_lb() < b + of_b.true_ub() && b + of_b.true_lb() < a + of_a.true_ub();
}

constexpr size_t kElementBytes = 8;
static_assert(sizeof(int64_t) == kElementBytes && sizeof(sglcoll_type) == kElementBytes);

std::vector<std::byte> copy_of(const CallArrays& arrays) {
  std::vector<std::byte> copy;
  for (const void* array : arrays.arrays) {
    if (!array) continue;
    const auto* first = static_cast<const std::byte*>(array);
    copy.insert(copy.end(), first, first + arrays.ranks * kElementBytes);
  }
  return copy;
}

}  // namespace

bool CallMemo::holds(const Slot& slot, const CallKey& key, const CallArrays& arrays) {
  if (slot.serial == 0 || !(slot.key == key)) return false;
  const size_t bytes = arrays.ranks * kElementBytes;
  size_t next = 0;
  for (const void* array : arrays.arrays) {
    if (!array) continue;
    if (next + bytes > slot.arrays.size() ||
        std::memcmp(slot.arrays.data() + next, array, bytes) != 0)
      return false;
    next += bytes;
  }
  return next == slot.arrays.size();
}

CallMemo::Slot* CallMemo::find(const CallKey& key, const CallArrays& arrays) {
  if (holds(slots_[last_], key, arrays)) return &slots_[last_];
  for (uint64_t i = 0; i < kSlots; ++i) {
    if (!holds(slots_[i], key, arrays)) continue;
    last_ = i;
    return &slots_[i];
  }
  return nullptr;
}

std::unique_ptr<Operation> CallMemo::recall(const CallKey& key, const CallArrays& arrays,
                                            const CallBuffers& buffers) {
  Slot* slot = find(key, arrays);
  if (!slot || !slot->idle) return nullptr;
  Operation& operation = *slot->idle;
  auto* send = static_cast<std::byte*>(buffers.send);
  auto* recv = static_cast<std::byte*>(buffers.recv);
  const Layout& of_send = operation.send_layout();
  const Layout& of_recv = operation.recv_layout();
  if (!given(send, of_send) || !given(recv, of_recv) || may_overlap(send, of_send, recv, of_recv))
    return nullptr;
  operation.rebind(send, recv);
  return std::move(slot->idle);
}

// A null buffer stands for absolute addresses, to which the layouts were fitted.
void CallMemo::remember(const CallKey& key, const CallArrays& arrays, const CallBuffers& buffers,
                        Operation& operation) {
  operation.memo_serial = 0;
  if (!given(buffers.send, operation.send_layout()) ||
      !given(buffers.recv, operation.recv_layout()))
    return;
  Slot* slot = find(key, arrays);
  if (!slot) {
    slot = &slots_[next_];
    next_ = (next_ + 1) % kSlots;
    *slot = {key, copy_of(arrays), ++serials_, nullptr};
  }
  operation.memo_serial = slot->serial;
}

bool CallMemo::recycle(std::unique_ptr<Operation>& operation) {
  if (operation->memo_serial == 0) return false;
  Slot* slot = &slots_[last_];
  if (slot->serial != operation->memo_serial) {
    slot = nullptr;
    for (Slot& each : slots_)
      if (each.serial == operation->memo_serial) slot = &each;
  }
  if (!slot || slot->idle) return false;
  slot->idle = std::move(operation);
  return true;
}

}  // namespace sgl
