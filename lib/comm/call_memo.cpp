#include "comm/call_memo.hpp"

namespace sgl {
namespace {

bool given(const void* buffer, const Layout& layout) {
  return buffer || layout.empty();
}

bool may_overlap(const std::byte* a, const Layout& of_a, const std::byte* b, const Layout& of_b) {
  if (of_a.empty() || of_b.empty()) return false;
  return a + of_a.true_lb() < b + of_b.true_ub() && b + of_b.true_lb() < a + of_a.true_ub();
}

}  // namespace

CallMemo::Slot* CallMemo::find(const CallKey& key) {
  if (slots_[last_].key == key) return &slots_[last_];
  for (uint64_t i = 0; i < kSlots; ++i) {
    if (!(slots_[i].key == key)) continue;
    last_ = i;
    return &slots_[i];
  }
  return nullptr;
}

std::unique_ptr<Operation> CallMemo::recall(const CallKey& key, const CallBuffers& buffers) {
  Slot* slot = find(key);
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
void CallMemo::remember(const CallKey& key, const CallBuffers& buffers, Operation& operation) {
  operation.memo_serial = 0;
  if (!given(buffers.send, operation.send_layout()) ||
      !given(buffers.recv, operation.recv_layout()))
    return;
  Slot* slot = find(key);
  if (!slot) {
    slot = &slots_[next_];
    next_ = (next_ + 1) % kSlots;
    *slot = {key, ++serials_, nullptr};
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
