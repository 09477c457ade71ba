#include "executor/operation_table.hpp"

#include "executor/engine.hpp"

#include <cstring>
#include <utility>

namespace sgl {
namespace {

// Of a token, from the low bits: place, edge, slot, generation.
constexpr int kPlaceBits = 1;
constexpr int kEdgeBits = 27;
constexpr int kSlotBits = 20;
constexpr int kSlotShift = kPlaceBits + kEdgeBits;
constexpr int kGenerationShift = kSlotShift + kSlotBits;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
constexpr uint64_t kEdgeMask = (uint64_t{1} << kEdgeBits) - 1;
constexpr uint64_t kSlotMask = (uint64_t{1} << kSlotBits) - 1;
constexpr uint64_t kGenerationMask = (uint64_t{1} << (64 - kGenerationShift)) - 1;

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

uint64_t OperationTable::token(const Operation& operation, int edge, int place) {
  const TableEntry& entry = operation.table_entry;
  return (entry.generation & kGenerationMask) << kGenerationShift |
         (entry.slot & kSlotMask) << kSlotShift |
         (static_cast<uint64_t>(edge) & kEdgeMask) << kPlaceBits |
         (static_cast<uint64_t>(place) & kPlaceMask);
}

int OperationTable::edge_of(uint64_t token) {
  return static_cast<int>(token >> kPlaceBits & kEdgeMask);
}

int OperationTable::place_of(uint64_t token) {
  return static_cast<int>(token & kPlaceMask);
}

Operation* OperationTable::at(uint64_t token) const {
  auto slot = static_cast<size_t>(token >> kSlotShift & kSlotMask);
  if (slot >= slots_.size() || !slots_[slot]) return nullptr;
  bool same_run = (generations_[slot] & kGenerationMask) == token >> kGenerationShift;
  return same_run ? slots_[slot] : nullptr;
}

void OperationTable::keep_early(int peer, const MessageHeader& header,
                                std::span<const std::byte> payload) {
  if (free_early_ < 0) {
    free_early_ = static_cast<int>(early_.size());
    early_.emplace_back();
  }
  const int place = free_early_;
  EarlyMessage& message = early_[static_cast<size_t>(place)];
  free_early_ = std::exchange(message.next, -1);
  message.peer = peer;
  message.header = header;
  message.payload.assign(payload);
  Chain& kept = early_by_name_[bucket(header.context, header.sequence)];
  (kept.last < 0 ? kept.first : early_[static_cast<size_t>(kept.last)].next) = place;
  kept.last = place;
  ++early_count_;
  const auto from = static_cast<size_t>(peer);
  if (from >= early_bytes_.size()) early_bytes_.resize(from + 1);
  early_bytes_[from] += kept_bytes(header);
}

template <typename Over>
void OperationTable::forget(Chain& kept, const Over& over) {
  Chain left;
  for (int place = kept.first; place >= 0;) {
    EarlyMessage& message = early_[static_cast<size_t>(place)];
    const int next = std::exchange(message.next, -1);
    if (!over(message)) {
      (left.last < 0 ? left.first : early_[static_cast<size_t>(left.last)].next) = place;
      left.last = place;
    } else {
      early_bytes_[static_cast<size_t>(message.peer)] -= kept_bytes(message.header);
      --early_count_;
      message.next = std::exchange(free_early_, place);
    }
    place = next;
  }
  kept = left;
}

void OperationTable::deliver_early(Operation& operation) {
  if (early_count_ == 0) return;
  const uint32_t context = operation.context().id, sequence = operation.sequence();
  Chain& kept = early_by_name_[bucket(context, sequence)];
  // Delivering may bring the operation to its end, but keeps nothing new.
  for (int place = kept.first; place >= 0 && operation.running();) {
    const EarlyMessage& message = early_[static_cast<size_t>(place)];
    place = message.next;
    if (message.header.context == context && message.header.sequence == sequence)
      operation.deliver(message.peer, message.header, message.payload.view());
  }
  forget(kept, [&](const EarlyMessage& message) {
    return message.header.context == context && message.header.sequence == sequence;
  });
}

bool OperationTable::find_early(int peer, uint32_t context, uint32_t sequence,
                                Arrival* first) const {
  if (early_count_ == 0) return false;
  for (int place = early_by_name_[bucket(context, sequence)].first; place >= 0;) {
    const EarlyMessage& message = early_[static_cast<size_t>(place)];
    place = message.next;
    if (message.peer != peer || message.header.context != context ||
        message.header.sequence != sequence)
      continue;
    *first = {message.header, message.payload.view()};
    return true;
  }
  return false;
}

void OperationTable::forget_early(int peer, const MessageHeader& header) {
  forget(early_by_name_[bucket(header.context, header.sequence)], [&](const EarlyMessage& message) {
    return message.peer == peer && std::memcmp(&message.header, &header, sizeof header) == 0;
  });
}

void OperationTable::forget_early(uint32_t context) {
  for (Chain& kept : early_by_name_)
    forget(kept, [&](const EarlyMessage& message) { return message.header.context == context; });
}

int64_t OperationTable::early_bytes(int peer) const {
  const auto from = static_cast<size_t>(peer);
  return from < early_bytes_.size() ? early_bytes_[from] : 0;
}

}  // namespace sgl
