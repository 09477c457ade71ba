// OperationTable: the running operations of an engine, by name and by slot, and the
// messages that came for operations which have not started yet.
//
// Everything on the path of a short collective is O(1) and allocates nothing once warm.
#pragma once

#include "executor/kept_payload.hpp"
#include "transport/transport.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sgl {

class Operation;

// Where an operation is in the table; a member of it that only the table writes.
struct TableEntry {
  uint32_t slot = 0;
  uint32_t generation = 0;  // of the slot: tells an old token from a new one
  size_t active_index = 0;
  Operation* next = nullptr;  // in its bucket
};

class OperationTable {
 public:
  void add(Operation& operation);
  void remove(Operation& operation);
  Operation* find(uint32_t context, uint32_t sequence) const;

  // A posted batch's token names the run of an operation, its edge, and the place 0 or 1 that
  // a stream reads to. at() is null once that run is over.
  static uint64_t token(const Operation& operation, int edge, int place = 0);
  static int edge_of(uint64_t token);
  static int place_of(uint64_t token);
  Operation* at(uint64_t token) const;

  // The order changes when one is removed: the last takes its place.
  const std::vector<Operation*>& active() const { return active_; }

  void keep_early(int peer, const MessageHeader& header, std::span<const std::byte> payload);
  // Delivers and forgets what came early for the operation.
  void deliver_early(Operation& operation);
  // For who runs without being in the table: the first message that came early for an operation
  // from a peer, until it is forgotten or another one is kept; false when there is none.
  bool find_early(int peer, uint32_t context, uint32_t sequence, Arrival* first) const;
  void forget_early(int peer, const MessageHeader& header);
  void forget_early(uint32_t context);
  // Of the messages that are kept, headers included.
  int64_t early_bytes(int peer) const;

 private:
  static constexpr size_t kBuckets = 256;
  // Places are used again, the last one left first, so that none is taken from the allocator
  // unless more is kept than ever before.
  struct EarlyMessage {
    int peer = 0;
    MessageHeader header{};
    KeptPayload payload;
    int next = -1;  // in its bucket, by time, or among the free ones
  };
  struct Chain {
    int first = -1, last = -1;
  };
  // Those for which `over` holds.
  template <typename Over>
  void forget(Chain& kept, const Over& over);
  static size_t bucket(uint32_t context, uint32_t sequence) {
    return (context * 37 + sequence) % kBuckets;
  }

  std::array<Operation*, kBuckets> by_name_{};
  std::vector<Operation*> active_;
  std::vector<Operation*> slots_;
  std::vector<uint32_t> generations_;  // of the slots
  std::vector<uint32_t> free_slots_;
  std::vector<EarlyMessage> early_;
  std::array<Chain, kBuckets> early_by_name_{};
  int free_early_ = -1;
  size_t early_count_ = 0;
  std::vector<int64_t> early_bytes_;  // by peer, as far as any has come
};

}  // namespace sgl
