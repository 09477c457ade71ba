// Device: the few verbs that the RC transport needs, in the shape of libibverbs:
// memory regions, reliable connected queue pairs (QPs), one completion queue (CQ).
//
// lib/transport/sim implements it in memory. As with real verbs a caller must keep
// within the queues that it asked for: a device refuses a request too many and is lost
// when its completion queue overflows.
#pragma once

#include "base/status.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sgl {

struct DeviceLimits {
  int max_send_wr = 1024;  // of one QP's send queue
  int max_recv_wr = 1024;
  int max_send_sge = 8;
  int max_recv_sge = 8;
  int max_read_sge = 8;  // local list of a read
  int max_cqe = 1 << 16;
  int inline_bytes = 128;  // taken inside a request, by a QP that is made for it
  int64_t max_message_bytes = int64_t{1} << 30;
};

struct MemoryKeys {
  uint32_t local = 0;
  uint32_t remote = 0;
  bool may_be_kept = true;  // false: good for this use only
};

enum class RemoteAccess : uint8_t { none, read, read_write };

struct DeviceSge {
  std::byte* address;
  int64_t length;  // never 0
  uint32_t key;    // MemoryKeys::local
};

enum class SendKind : uint8_t { send, write, read };

// The list is read during the post only; the memory belongs to the device until the
// request's completion, or that of a later one of the same queue, has been polled.
struct SendRequest {
  uint64_t id;
  SendKind kind;
  bool signalled;  // failures complete in any case
  std::span<const DeviceSge> list;
  uint64_t remote_address;  // write, read
  uint32_t remote_key;
};

struct ReceiveRequest {
  uint64_t id;
  std::span<const DeviceSge> list;
};

enum class DeviceOutcome : uint8_t {
  success,
  local_protection,  // a local key or range
  local_length,      // a message longer than the receive's list
  remote_access,     // the remote key or range
  remote_operation,  // the other end could not take the message
  receiver_not_ready,
  retry_exceeded,  // the other end is gone
  flushed,         // the QP had failed before
};
const char* outcome_text(DeviceOutcome outcome);
// What to look at when it is a failure.
const char* outcome_remedy(DeviceOutcome outcome);

using QpNumber = uint32_t;  // 0: none

struct DeviceCompletion {
  uint64_t id = 0;
  QpNumber qp = 0;
  bool received = false;
  DeviceOutcome outcome = DeviceOutcome::success;
  int64_t bytes = 0;  // of a received message
  std::string why;    // of a failure: rank, request, list entry and cause
};

struct QueueSizes {
  int send_wr, recv_wr;
  int send_sge, recv_sge;
  int inline_bytes = 0;  // payloads up to this many are copied into the request, if the device can
};

// What the other end needs for connect(); sent between ranks as bytes. A simulated device
// has only `qp`.
struct QpAddress {
  uint64_t qp = 0;
  uint64_t gid[2] = {0, 0};
  uint32_t packet_sequence = 0;
  uint32_t mtu_bytes = 0;
  uint16_t lid = 0;
  uint8_t link = 0;       // a device's own number for its kind of link
  uint8_t max_reads = 0;  // reads of the other end that it serves at once
  uint32_t reserved = 0;
};
static_assert(sizeof(QpAddress) == 40);

struct DeviceCounters {
  uint64_t requests = 0, segments = 0;  // posted, receives included
  uint64_t doorbells = 0;
  uint64_t signalled = 0;
  uint64_t inlined = 0;
  uint64_t receiver_not_ready = 0;  // messages that met no receive, of the whole port
};

// For those who implement a device.
inline void count_sends(std::span<const SendRequest> requests, DeviceCounters* counters) {
  if (requests.empty()) return;
  ++counters->doorbells;
  counters->requests += requests.size();
  for (const SendRequest& request : requests) {
    counters->segments += request.list.size();
    counters->signalled += request.signalled ? 1 : 0;
  }
}
inline void count_receive(const ReceiveRequest& request, DeviceCounters* counters) {
  ++counters->doorbells;
  ++counters->requests;
  counters->segments += request.list.size();
}

// One thread at a time per object. Nothing blocks but wait().
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceLimits& limits() const = 0;
  virtual DeviceCounters counters() const = 0;
  // One line for logs: which device, and why it.
  virtual std::string describe() const = 0;

  // Before the first QP.
  virtual Status open_completion_queue(int entries) = 0;
  virtual Result<QpNumber> create_qp(const QueueSizes& sizes) = 0;
  virtual QpAddress address(QpNumber qp) const = 0;
  // What is the same for all of them.
  virtual QpAddress port_address() const = 0;
  // Both ends must connect to each other. Receives may be posted before.
  virtual Status connect(QpNumber qp, const QpAddress& peer) = 0;

  // The memory stays the caller's and must stay mapped until deregister_memory().
  virtual Result<MemoryKeys> register_memory(std::byte* begin, int64_t bytes,
                                             RemoteAccess access) = 0;
  virtual void deregister_memory(const MemoryKeys& keys) = 0;

  // All of the requests, or none when one is refused. One doorbell.
  virtual Status post_send(QpNumber qp, std::span<const SendRequest> requests) = 0;
  virtual Status post_receive(QpNumber qp, const ReceiveRequest& request) = 0;

  // How many completions it has put into `completions`; a failure is the device's end.
  virtual Result<int> poll(std::span<DeviceCompletion> completions) = 0;
  // A QP whose other end has gone, each once. What that end had sent before can be polled.
  virtual std::optional<QpNumber> poll_disconnected() = 0;
  // Whether a peer's end is noticed only by a request to it.
  virtual bool needs_probes() const { return false; }
  // Sleeps until there may be something to poll, at most max_ns.
  virtual void wait(int64_t max_ns) = 0;
  // As Transport's.
  virtual bool prepare_wait(std::vector<int>* descriptors) {
    static_cast<void>(descriptors);
    return false;
  }
  virtual void finish_wait() {}
  // Puts a QP into the error state: what is posted completes as flushed.
  virtual void fail(QpNumber qp) = 0;
};

}  // namespace sgl
