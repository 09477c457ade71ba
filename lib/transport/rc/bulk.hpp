// BulkChannel: batches of reads and writes to one peer over a QP of its own.
#pragma once

#include "transport/rc/memory.hpp"
#include "transport/transport.hpp"

#include <deque>
#include <vector>

namespace sgl {

// Room in the completion queue, shared by all bulk channels of a rank. A failing QP
// completes every request, signalled or not, so each takes an entry.
struct CompletionRoom {
  int free = 0;
};

class BulkChannel {
 public:
  struct Finished {
    uint64_t token;
    Status status;
  };

  BulkChannel(Device& device, MemoryTable& memory, CompletionRoom& room, int queue_wrs)
      : device_(device),
        memory_(memory),
        room_(room),
        queue_wrs_(queue_wrs),
        free_wrs_(queue_wrs) {}
  ~BulkChannel();
  BulkChannel(const BulkChannel&) = delete;
  BulkChannel& operator=(const BulkChannel&) = delete;

  Status open();
  QpNumber qp() const { return qp_; }
  int in_flight() const { return static_cast<int>(in_flight_.size()); }

  // As Transport::post. Only the last request is signalled. A batch that the device
  // refuses, or whose memory cannot be registered, gives the status in *refused.
  Post post(const Batch& batch, std::byte* local_base, const RemoteMemory& remote, uint64_t token,
            Status* refused);
  // A completion of the QP: the batch that it ends, if it does.
  std::optional<Finished> completed(DeviceCompletion& completion);

 private:
  struct InFlight {
    uint64_t token;
    int wrs;
    std::vector<LocalMemory> memory;  // of its local lists
    Status status;                    // the first failure
  };
  // Sets groups_, group_of_ and using_.
  Status use_memory(const std::vector<Sge>& list, std::byte* local_base, int64_t most_gap);
  void stop_using();
  void fill_requests(const Batch& batch, std::byte* local_base, const RemoteMemory& remote);
  void give_back(InFlight& batch);

  Device& device_;
  MemoryTable& memory_;
  CompletionRoom& room_;
  int queue_wrs_, free_wrs_;
  QpNumber qp_ = 0;
  std::deque<InFlight> in_flight_;  // in the order of posting, which is that of completion
  std::vector<std::vector<LocalMemory>> spare_;  // emptied, for reuse
  // Scratch of post: segments near each other are one registration.
  struct Group {
    int64_t begin, end;
  };
  std::vector<Group> groups_;
  std::vector<int> group_of_;       // of each segment
  std::vector<LocalMemory> using_;  // of each group
  std::vector<DeviceSge> sges_;
  std::vector<SendRequest> requests_;
};

}  // namespace sgl
