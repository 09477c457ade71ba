// BulkChannel: batches to and from one peer over a QP of its own.
#pragma once

#include "base/fifo.hpp"
#include "transport/rc/memory.hpp"
#include "transport/rc/slots.hpp"
#include "transport/transport.hpp"

#include <vector>

namespace sgl {

// What the bulk channels of a rank share. Receives have a part of their own, of all that
// is here, for they may wait for a peer that itself waits for a part to send with.
struct BulkShare {
  // Entries of the completion queue. A failing QP completes every request, signalled or
  // not, so each takes one.
  int free_completions = 0;
  SlotPool slots;
};

class BulkChannel {
 public:
  struct Finished {
    uint64_t token;
    Status status;
  };

  // Queues of `queue_wrs` entries each. read_back: a batch of writes ends with the read of a
  // byte of them, which pushes them into the memory there: else they might come behind a
  // message that goes over another device.
  BulkChannel(Device& device, MemoryTable& memory, BulkShare& sends, BulkShare& receives,
              int queue_wrs, bool read_back)
      : device_(device),
        memory_(memory),
        queue_wrs_(queue_wrs),
        read_back_(read_back),
        sends_{sends, queue_wrs, {}, {}},
        receives_{receives, queue_wrs, {}, {}} {}
  ~BulkChannel();
  BulkChannel(const BulkChannel&) = delete;
  BulkChannel& operator=(const BulkChannel&) = delete;

  Status open();
  QpNumber qp() const { return qp_; }
  int in_flight() const {
    return static_cast<int>(sends_.in_flight.size() + receives_.in_flight.size());
  }

  // As those of Transport; an error when the device refuses the batch or its memory cannot
  // be registered. Only the last request of a batch is signalled.
  Result<Post> post(const Batch& batch, const View& local, const RemoteMemory& remote,
                    uint64_t token);
  Result<Post> post_send(const Batch& batch, const View& local, uint64_t token);
  Result<Post> post_receive(const Batch& batch, const View& local, uint64_t token);
  // A write of nothing when nothing is on the way: its failure shows that the peer is gone.
  // Its completion has kNoToken. False: it was not needed.
  Result<bool> probe();
  // A completion of the QP: the batch that it ends, if it does.
  std::optional<Finished> completed(const DeviceCompletion& completion);

 private:
  struct InFlight {
    uint64_t token = kNoToken;
    int wrs = 0;
    int left = 0;      // receives that have not completed
    int memories = 0;  // in Queue::memory, of its local list
    PackSlot* slot = nullptr;
    Status status;  // the first failure
  };
  struct Queue {
    BulkShare& share;
    int free_wrs;
    Fifo<InFlight> in_flight;  // in the order of posting, which is that of completion
    Fifo<LocalMemory> memory;  // of those in flight
  };

  Result<Post> post_requests(const Batch& batch, const View& local, const RemoteMemory& remote,
                             uint64_t token);
  Result<Post> prepare(const Batch& batch, const View& local, Queue& queue, InFlight* item);
  Status take_memory(const Batch& batch, const View& local, int64_t most_gap);
  void fill_sges(const Batch& batch, const View& local, const InFlight& item);
  bool reads_back(const Batch& batch) const;
  void fill_requests(const Batch& batch, const RemoteMemory& remote);
  std::span<const DeviceSge> list_of(const WorkRequest& wr) const;
  void note_failure(const DeviceCompletion& completion, InFlight& item);
  Finished finish_front(Queue& queue);
  void give_back_first(Queue& queue);
  void give_back_unposted(Queue& queue, InFlight& item);
  void give_back(Queue& queue, InFlight& item);

  Device& device_;
  MemoryTable& memory_;
  int queue_wrs_;
  bool read_back_;
  std::byte* read_byte_ = nullptr;
  DeviceSge read_list_{};
  QpNumber qp_ = 0;
  Queue sends_, receives_;
  Fifo<int64_t> expected_bytes_;    // of each posted receive
  std::vector<LocalMemory> taken_;  // scratch of a post: of its groups
  // Scratch of post: segments near each other are one registration.
  struct Group {
    int64_t begin, end;
  };
  std::vector<Group> groups_;
  std::vector<int> group_of_;  // of each segment; -1: packed
  std::vector<DeviceSge> sges_;
  std::vector<SendRequest> requests_;
};

}  // namespace sgl
