// The simulated fabric: every QP and memory region of the ranks of one process, and the
// hardware that works the queues.
//
// There is no thread of its own: each poll() or wait() of any rank runs a few turns of
// the hardware. A turn takes a QP by lot, and either carries out its oldest request or
// hands out its oldest completion, so that both are late and out of order between QPs
// but in order within one.
#pragma once

#include "transport/rc/device.hpp"
#include "transport/rc/wireup.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

namespace sgl {

struct SimFaults {
  int delay_percent = 30;        // turns in which the chosen QP does nothing
  int registration_percent = 0;  // registrations that fail
  int request_per_million = 0;   // requests that fail as if the link were lost
  int receiver_not_ready_retries = 0;
};

struct SimCounters {
  uint64_t sends = 0, writes = 0, reads = 0;
  uint64_t receiver_not_ready = 0;
  uint64_t registrations = 0, live_registrations = 0;
};

struct SimRegion {
  int rank;
  uint64_t begin, end;
  RemoteAccess access;
};

struct SimSend {
  SendRequest request;  // its list is `list`
  std::vector<DeviceSge> list;
  std::vector<std::byte> inlined;  // copied at the post; `list` then is of it
  int not_ready = 0;               // times that it met an empty receive queue
};

struct SimReceive {
  uint64_t id;
  std::vector<DeviceSge> list;
};

struct SimCompletion {
  DeviceCompletion completion;
  int retires = 0;  // entries of the send queue that are free once it is polled
};

struct SimQueuePair {
  QpNumber number = 0;
  int rank = -1;
  QueueSizes sizes{};
  QpNumber peer = 0;
  bool failed = false;
  bool active = false;  // in SimFabric's list
  int sends_held = 0;   // entries in use, until their completion is polled
  int receives_held = 0;
  int unretired = 0;  // done without a completion
  uint64_t executed = 0;
  std::deque<SimSend> sends;
  std::deque<SimReceive> receives;
  std::deque<SimCompletion> late;  // not yet in the completion queue
};

// One rank's end. Completions wait here to be polled.
struct SimPort {
  bool open = false;
  bool closed = false;  // it has been open
  bool overrun = false;
  int entries = 0;
  std::deque<SimCompletion> completions;
  std::vector<QpNumber> disconnected;
  std::deque<WireupEvent> mail;
};

// Ranks share it; everything but `mutex` and `arrival` is guarded by `mutex`.
class SimFabric {
 public:
  SimFabric(int size, uint64_t seed, const SimFaults& faults)
      : ports(static_cast<size_t>(size)), faults_(faults), random_(seed) {}

  std::mutex mutex;
  std::condition_variable arrival;  // a completion or an event for some rank

  std::vector<SimPort> ports;
  SimCounters counters;

  SimQueuePair& add_qp(int rank, const QueueSizes& sizes);
  SimQueuePair* find_qp(QpNumber number);
  Result<MemoryKeys> add_region(const SimRegion& region);
  void remove_region(const MemoryKeys& keys);

  // From now on so many of a hundred fail.
  void fail_registrations(int percent) { faults_.registration_percent = percent; }

  void activate(SimQueuePair& qp);
  void fail_qp(SimQueuePair& qp);
  // The rank's QPs end; their other ends fail and are reported as disconnected.
  void close_port(int rank);
  // Whether there is work in some queue.
  bool busy() const { return !active_.empty(); }
  void run(int turns);

 private:
  struct Failure {
    DeviceOutcome outcome = DeviceOutcome::success;
    std::string why;
  };
  bool draw(int chance, int of) {
    return static_cast<int>(random_() % static_cast<unsigned>(of)) < chance;
  }
  void turn();
  void release_completion(SimQueuePair& qp);
  void execute(SimQueuePair& qp);
  Failure transfer(SimQueuePair& qp, const SimSend& send, bool* again);
  Failure deliver(SimQueuePair& from, SimQueuePair& to, const SimSend& send);
  Failure check_local(const SimQueuePair& qp, uint64_t id, std::span<const DeviceSge> list) const;
  Failure check_remote(const SimQueuePair& qp, const SimSend& send, int remote_rank) const;
  void complete_send(SimQueuePair& qp, uint64_t id, Failure failure);
  void complete_receive(SimQueuePair& qp, uint64_t id, int64_t bytes, Failure failure);

  SimFaults faults_;
  std::mt19937_64 random_;
  std::deque<SimQueuePair> qps_;  // number n at n - 1
  std::vector<SimQueuePair*> active_;
  std::unordered_map<uint32_t, SimRegion> regions_;  // by local key; the remote one is odd
  uint32_t next_key_ = 0x1000;
};

}  // namespace sgl
