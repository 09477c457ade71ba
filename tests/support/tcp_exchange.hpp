// An allgather among test processes of several machines, which have a network and nothing
// else in common.
#pragma once

#include "support/fork_ranks.hpp"

#include <memory>
#include <string>

namespace sgl::test {

// One end for each machine: that of machine 0 answers, the others find it at `address`.
class MachineExchange {
 public:
  // Waits until all are there, at most a minute.
  static Result<std::unique_ptr<MachineExchange>> meet(int machine, int machines,
                                                       const std::string& address, int port);
  ~MachineExchange();
  MachineExchange(const MachineExchange&) = delete;
  MachineExchange& operator=(const MachineExchange&) = delete;

  // Contributions of equal lengths, in the order of the machines.
  Status allgather(std::span<const std::byte> mine, std::vector<std::byte>* all);

 private:
  MachineExchange(int machine, int machines) : machine_(machine), machines_(machines) {}
  Status listen_for_all(int port);
  Status connect_to(const std::string& address, int port);

  int machine_, machines_;
  std::vector<int> sockets_;  // machine 0: of each other machine; else the one to machine 0
};

// Allgather over all processes of all machines, each with `local_count` of them that share
// `local`; only local rank 0 has an `exchange`. In the order of the machines.
Allgather over_machines(const Allgather& local, int local_rank, int local_count,
                        MachineExchange* exchange, int machines);

}  // namespace sgl::test
