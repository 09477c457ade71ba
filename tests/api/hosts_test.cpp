// Every collective among several machines, shared memory within each and RDMA between them.
// Runs on each of the machines that tests/vm starts, two ranks a machine.
#include "api/oracle.hpp"
#include "support/tcp_exchange.hpp"

#include <cstdlib>

namespace sgl::test {
namespace {

constexpr int kRanksPerMachine = 2;
constexpr int kPort = 7117;
constexpr std::chrono::seconds kPatience{280};

int environment_number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

class OverMachines : public testing::Test {
 protected:
  void SetUp() override {
    machine_ = environment_number("SGLCOLL_VM_NODE") - 1;
    machines_ = environment_number("SGLCOLL_VM_NODES");
    if (machines_ < 2) GTEST_SKIP() << "this is not one of several test machines";
  }

  // One world over all machines; a test may make several, on a port each.
  void on_machines(const std::function<void(sglcoll_comm world)>& body) {
    ProcessReport report = run_processes(
        kRanksPerMachine,
        [&](int local_rank, const Allgather& local) { run(local_rank, local, body); }, kPatience);
    EXPECT_TRUE(report.all_passed()) << report.text();
  }

  int machine_ = 0, machines_ = 0;

 private:
  void run(int local_rank, const Allgather& local,
           const std::function<void(sglcoll_comm world)>& body) {
    std::unique_ptr<MachineExchange> exchange;
    if (local_rank == 0) {
      auto met = MachineExchange::meet(machine_, machines_, "10.9.0.1", kPort);
      ASSERT_TRUE(met.ok()) << met.status().text();
      exchange = met.take();
    }
    run_in_world(machine_ * kRanksPerMachine + local_rank, machines_ * kRanksPerMachine,
                 over_machines(local, local_rank, kRanksPerMachine, exchange.get(), machines_),
                 body);
  }
};

TEST_F(OverMachines, DefaultAlgorithms) {
  on_machines([&](sglcoll_comm world) {
    EXPECT_EQ(size_of(world), machines_ * kRanksPerMachine);
    std::vector<TypeCase> types = int32_types();
    for (const NamedCheck& named : kChecks)
      for (const TypeCase& type : types)
        for (int64_t count : {1, 2000}) {
          SCOPED_TRACE(std::string(named.collective) + " " + type.name + " count " +
                       std::to_string(count));
          EXPECT_OK(named.check(world, type, count));
        }
    free_types(types);
  });
}

}  // namespace
}  // namespace sgl::test
