// Traffic: what one end of an edge, or a whole plan of one rank, does, in the terms of
// sglcoll_counters and of the device.
#pragma once

#include <cstdint>

namespace sgl {

struct Traffic {
  int64_t messages = 0;  // sent
  int64_t batches = 0;   // posted: doorbells, and signalled completions
  int64_t work_requests = 0;
  int64_t segments = 0;    // SGEs of both lists
  int64_t wqe_blocks = 0;  // of 64 bytes, mlx5 family
  int64_t bytes_sent = 0, bytes_received = 0;
  int64_t bytes_direct = 0;   // moved straight between buffers
  int64_t bytes_packed = 0;   // copied into or out of a message
  int64_t registrations = 0;  // of memory, in each call
  // Of an RDMA device, messages and receives too:
  int64_t device_requests = 0, device_segments = 0;
  int64_t doorbells = 0;
  int64_t signalled = 0;
  int64_t inlined = 0;

  bool operator==(const Traffic&) const = default;
  Traffic& operator+=(const Traffic& other) {
    messages += other.messages;
    batches += other.batches;
    work_requests += other.work_requests;
    segments += other.segments;
    wqe_blocks += other.wqe_blocks;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    bytes_direct += other.bytes_direct;
    bytes_packed += other.bytes_packed;
    registrations += other.registrations;
    device_requests += other.device_requests;
    device_segments += other.device_segments;
    doorbells += other.doorbells;
    signalled += other.signalled;
    inlined += other.inlined;
    return *this;
  }
};

}  // namespace sgl
