// Phases: a schedule made of others, one after the other, each among some of the ranks.
#pragma once

#include "collectives/builder.hpp"
#include "schedule/problem.hpp"

#include <string>
#include <vector>

namespace sgl {

// Where the payload space of a phase's buffer lies in the whole's.
struct Place {
  Buffer buffer = kSend;
  int64_t offset = 0;
};

// One phase as a rank that takes part in it sees it. Ranks that do not take part leave it
// out but count it: `number`, below kMostPhases, is the same on all ranks.
struct Phase {
  int number = 0;
  std::vector<int> ranks;  // of the whole, by rank in the phase
  Problem problem;         // among them
  const Builder* builder = nullptr;
  Place send{kSend, 0}, recv{kRecv, 0};  // of its kSend and kRecv
};
inline constexpr int kMostPhases = 8;

// A phase begins on a rank once the one before has ended there. `temp_bytes`: scratch of the
// whole, kFirstTemp and following, that places may name. Building costs what the phases cost;
// to find what ends a phase, its rounds are generated once more.
Schedule in_phases(std::string algorithm, std::vector<Phase> phases,
                   std::vector<int64_t> temp_bytes);

// Of phases that follow each other: the sum.
ScheduleCost cost_of(const std::vector<Phase>& phases);

}  // namespace sgl
