#include "executor/sim_engines.hpp"

#include "transport/sim/sim.hpp"

#include <barrier>
#include <thread>

#include <gtest/gtest.h>

namespace sgl::test {

SimEngines::SimEngines(const SimSetup& setup)
    : fabric(
          std::make_shared<SimFabric>(setup.ranks * setup.rails, setup.plan.seed, setup.faults)) {
  const auto size = static_cast<size_t>(setup.ranks);
  std::vector<std::unique_ptr<Transport>> transports(size);
  std::vector<std::span<const std::byte>> given(size);
  std::barrier<> meet(setup.ranks);
  auto open = [&](int rank) {
    auto gather = [&, rank](std::span<const std::byte> mine, std::vector<std::byte>* all) {
      given[static_cast<size_t>(rank)] = mine;
      meet.arrive_and_wait();
      all->clear();
      for (std::span<const std::byte> part : given)
        all->insert(all->end(), part.begin(), part.end());
      meet.arrive_and_wait();
      return Status();
    };
    std::vector<int> peers;
    for (int peer = 0; peer < setup.ranks; ++peer)
      if (peer != rank) peers.push_back(peer);
    SimOptions options;
    options.limits = setup.limits;
    options.rails = setup.rails;
    options.lazy = setup.lazy;
    RcDevices devices = sim_devices(fabric, rank, setup.ranks, options);
    if (setup.before_device)
      for (auto& device : devices.rails) device = setup.before_device(std::move(device));
    auto made = connect_rc({rank, setup.ranks, peers, gather}, std::move(devices), setup.queues);
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (made.ok()) transports[static_cast<size_t>(rank)] = made.take();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < setup.ranks; ++rank) threads.emplace_back(open, rank);
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < setup.ranks; ++rank) {
    FaultPlan plan = setup.plan;
    plan.seed += static_cast<uint64_t>(rank);
    engines.push_back(std::make_unique<Engine>(
        make_fault_transport(std::move(transports[static_cast<size_t>(rank)]), plan),
        setup.engine));
    contexts.emplace_back();
    for (uint32_t id = 1; id <= 2; ++id) {
      auto context = std::make_unique<Context>();
      context->id = id;
      context->rank = rank;
      for (int peer = 0; peer < setup.ranks; ++peer) context->world_ranks.push_back(peer);
      engines.back()->add_context(*context);
      contexts.back().push_back(std::move(context));
    }
  }
}

void SimEngines::run_until(const std::function<bool()>& done) {
  constexpr int kMostTurns = 2'000'000;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    if (done()) return;
    for (std::unique_ptr<Engine>& engine : engines)
      if (engine) engine->progress();
  }
  ADD_FAILURE() << "the operations do not end";
}

std::unique_ptr<Operation> make_exchange(Engine& engine, Context& context, int size,
                                         const Part& part) {
  Problem problem;
  problem.collective = Collective::allgatherv;
  problem.rank = context.rank;
  problem.size = size;
  Schedule schedule{
      "exchange", 1, {}, [messages = part.messages](Round& round) {
        for (const Part::Message& message : messages) {
          if (message.sends)
            round.send(message.peer, message.tag, {kSend, message.offset, message.length});
          else
            round.recv(message.peer, message.tag, {kRecv, message.offset, message.length});
        }
      }};
  return std::make_unique<Operation>(engine, std::make_shared<Plan>(problem, schedule), context);
}

}  // namespace sgl::test
