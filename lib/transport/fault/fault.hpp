// A transport that misbehaves on purpose, for tests: delays, refusals and failed peers.
#pragma once

#include "transport/transport.hpp"

#include <cstdint>
#include <memory>

namespace sgl {

// What goes wrong. The same plan and seed give the same faults for the same calls.
struct FaultPlan {
  uint64_t seed = 1;
  double busy_probability = 0;      // a send or post returns Post::busy although there is room
  double delay_probability = 0;     // a progress() call delivers nothing
  int fail_peer = -1;               // this rank is failed ...
  int64_t fail_after_messages = 0;  // ... after so many messages were sent to it
};

// Takes `inner` over and passes every call on but for the plan's faults.
std::unique_ptr<Transport> make_fault_transport(std::unique_ptr<Transport> inner, FaultPlan plan);

}  // namespace sgl
