// CallMemo: the last few calls of a communicator by their arguments, each with an
// operation that is bound to them already. A call that was made before, with the same
// or other buffers, skips the checks and the layouts that depend on the rest only.
#pragma once

#include "executor/operation.hpp"
#include "schedule/problem.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sgl {

// A call's arguments but for the buffers.
struct CallKey {
  Collective collective = Collective::barrier;
  bool send_in_place = false, recv_in_place = false;
  int root = 0;
  int64_t send_count = 0, recv_count = 0;
  const void* send_type = nullptr;
  const void* recv_type = nullptr;
  const void* op = nullptr;
  uint64_t handle_generation = 0;  // changes when any handle is freed
  bool operator==(const CallKey&) const = default;
};

// A call's arrays of one element of 8 bytes a rank: counts, displacements, types. Null where
// the call has none.
struct CallArrays {
  size_t ranks = 0;
  std::array<const void*, 6> arrays{};
};

// A call's buffers as the caller gave them (null or the in-place marker included).
struct CallBuffers {
  void* send = nullptr;
  void* recv = nullptr;
};

// One thread at a time.
class CallMemo {
 public:
  // The operation of an equal call, bound to the buffers, when that needs no further
  // check: they are given and do not overlap. Else null.
  std::unique_ptr<Operation> recall(const CallKey& key, const CallArrays& arrays,
                                    const CallBuffers& buffers);
  // Marks an operation that was prepared for the call, so that recycle() takes it.
  void remember(const CallKey& key, const CallArrays& arrays, const CallBuffers& buffers,
                Operation& operation);
  // Takes the operation if its call is still remembered; else it stays the caller's.
  bool recycle(std::unique_ptr<Operation>& operation);
  void clear() { slots_ = {}; }

 private:
  static constexpr uint64_t kSlots = 16;
  struct Slot {
    CallKey key;
    std::vector<std::byte> arrays;  // copies, one after the other
    uint64_t serial = 0;            // of what is remembered here; 0: nothing
    std::unique_ptr<Operation> idle;
  };
  static bool holds(const Slot& slot, const CallKey& key, const CallArrays& arrays);
  Slot* find(const CallKey& key, const CallArrays& arrays);

  std::array<Slot, kSlots> slots_;
  uint64_t last_ = 0, next_ = 0, serials_ = 0;
};

}  // namespace sgl
