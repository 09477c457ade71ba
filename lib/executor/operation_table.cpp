#include "executor/operation_table.hpp"

#include "executor/engine.hpp"

#include <algorithm>

namespace sgl {
namespace {

// Of a token, from the low bits: edge, slot, generation.
constexpr int kEdgeBits = 28;
constexpr int kSlotBits = 20;
constexpr uint64_t kEdgeMask = (uint64_t{1} << kEdgeBits) - 1;
constexpr uint64_t kSlotMask = (uint64_t{1} << kSlotBits) - 1;
constexpr uint64_t kGenerationMask = (uint64_t{1} << (64 - kEdgeBits - kSlotBits)) - 1;

int64_t kept_bytes(const MessageHeader& header) {
  return static_cast<int64_t>(sizeof header) + header.bytes;
}

}  // namespace

void OperationTable::add(Operation& operation) {
  TableEntry& entry = operation.table_entry;
  if (free_slots_.empty()) {
    entry.slot = static_cast<uint32_t>(slots_.size());
    slots_.push_back(nullptr);
    generations_.push_back(0);
  } else {
    entry.slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[entry.slot] = &operation;
  entry.generation = generations_[entry.slot];
  entry.active_index = active_.size();
  active_.push_back(&operation);
  Operation*& head = by_name_[bucket(operation.context().id, operation.sequence())];
  entry.next = head;
  head = &operation;
}

void OperationTable::remove(Operation& operation) {
  TableEntry& entry = operation.table_entry;
  Operation** link = &by_name_[bucket(operation.context().id, operation.sequence())];
  while (*link != &operation) link = &(*link)->table_entry.next;
  *link = entry.next;
  active_[entry.active_index] = active_.back();
  active_[entry.active_index]->table_entry.active_index = entry.active_index;
  active_.pop_back();
  slots_[entry.slot] = nullptr;
  ++generations_[entry.slot];
  free_slots_.push_back(entry.slot);
}

Operation* OperationTable::find(uint32_t context, uint32_t sequence) const {
  Operation* operation = by_name_[bucket(context, sequence)];
  while (operation && (operation->sequence() != sequence || operation->context().id != context))
    operation = operation->table_entry.next;
  return operation;
}

uint64_t OperationTable::token(const Operation& operation, int edge) {
  const TableEntry& entry = operation.table_entry;
  return (entry.generation & kGenerationMask) << (kEdgeBits + kSlotBits) |
         (entry.slot & kSlotMask) << kEdgeBits | (static_cast<uint64_t>(edge) & kEdgeMask);
}

int OperationTable::edge_of(uint64_t token) {
  return static_cast<int>(token & kEdgeMask);
}

Operation* OperationTable::at(uint64_t token) const {
  auto slot = static_cast<size_t>(token >> kEdgeBits & kSlotMask);
  if (slot >= slots_.size() || !slots_[slot]) return nullptr;
  bool same_run = (generations_[slot] & kGenerationMask) == token >> (kEdgeBits + kSlotBits);
  return same_run ? slots_[slot] : nullptr;
}

void OperationTable::keep_early(int peer, const MessageHeader& header,
                                std::span<const std::byte> payload) {
  EarlyMessage& message = early_[bucket(header.context, header.sequence)].emplace_back(
      EarlyMessage{peer, header, {}, {}});
  ++early_count_;
  const auto from = static_cast<size_t>(peer);
  if (from >= early_bytes_.size()) early_bytes_.resize(from + 1);
  early_bytes_[from] += kept_bytes(header);
  if (payload.size() <= kInlineBytes)
    std::copy(payload.begin(), payload.end(), message.inline_payload.begin());
  else
    message.payload.assign(payload.begin(), payload.end());
}

void OperationTable::deliver_early(Operation& operation) {
  if (early_count_ == 0) return;
  const uint32_t context = operation.context().id, sequence = operation.sequence();
  std::vector<EarlyMessage>& kept = early_[bucket(context, sequence)];
  if (kept.empty()) return;
  // By index: delivering may bring the operation to its end, but keeps nothing new.
  for (size_t i = 0; i < kept.size() && operation.running(); ++i) {
    if (kept[i].header.context != context || kept[i].header.sequence != sequence) continue;
    const std::byte* payload =
        kept[i].payload.empty() ? kept[i].inline_payload.data() : kept[i].payload.data();
    operation.deliver(kept[i].peer, kept[i].header, {payload, kept[i].header.bytes});
  }
  forget(kept, context, &sequence);
}

void OperationTable::forget_early(uint32_t context) {
  for (std::vector<EarlyMessage>& kept : early_) forget(kept, context, nullptr);
}

// Those of the context, or of one of its operations.
void OperationTable::forget(std::vector<EarlyMessage>& kept, uint32_t context,
                            const uint32_t* sequence) {
  early_count_ -= std::erase_if(kept, [&](const EarlyMessage& message) {
    if (message.header.context != context || (sequence && message.header.sequence != *sequence))
      return false;
    early_bytes_[static_cast<size_t>(message.peer)] -= kept_bytes(message.header);
    return true;
  });
}

int64_t OperationTable::early_bytes(int peer) const {
  const auto from = static_cast<size_t>(peer);
  return from < early_bytes_.size() ? early_bytes_[from] : 0;
}

}  // namespace sgl
