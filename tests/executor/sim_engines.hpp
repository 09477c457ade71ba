// Engines of several ranks over one simulated fabric, all driven by the test's thread.
#pragma once

#include "executor/engine.hpp"
#include "transport/fault/fault.hpp"
#include "transport/rc/rc_transport.hpp"
#include "transport/sim/fabric.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace sgl::test {

struct SimSetup {
  int ranks = 2;
  int rails = 1;
  bool lazy = true;
  RcOptions queues;
  DeviceLimits limits;
  SimFaults faults;
  FaultPlan plan;  // of every rank's transport; its seed grows by the rank
  EngineOptions engine;
  // What stands before each device; unset: nothing.
  std::function<std::unique_ptr<Device>(std::unique_ptr<Device> device)> before_device;
};

struct SimEngines {
  explicit SimEngines(const SimSetup& setup);
  // Advances every rank that is left until `done`, or fails the test.
  void run_until(const std::function<bool()>& done);

  std::shared_ptr<SimFabric> fabric;
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::vector<std::unique_ptr<Context>>> contexts;  // two, of each rank
};

// One rank's part of an exchange: messages whose bytes lie one after the other in the
// payload of the send or receive buffer.
struct Part {
  struct Message {
    bool sends;
    int peer;
    uint32_t tag;
    int64_t offset, length;
  };
  std::vector<Message> messages;
};

std::unique_ptr<Operation> make_exchange(Engine& engine, Context& context, int size,
                                         const Part& part);

}  // namespace sgl::test
