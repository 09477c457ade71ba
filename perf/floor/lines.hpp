// What small operations are made of: cache lines on their way from one core to another.
#pragma once

#include "floor/workers.hpp"

#include <string>

namespace perf {

// In nanoseconds, between the first two workers; 0 of one worker.
struct LineCosts {
  double one_way = 0;    // written here, seen there, one after the other
  double exchanged = 0;  // one each way, and each worker waits for the other's
  double streamed = 0;   // one of a row of lines that are written without waiting for an answer
};

// Memory for the measurement, to be made before the workers start.
std::byte* line_memory();
LineCosts measure_lines(Worker& worker, std::byte* memory);

// Lines on the critical path of a collective of 8 bytes.
struct LinesNeeded {
  int exchanges = 0, streamed = 0;
  int transfers() const { return 2 * exchanges + streamed; }
  double us(const LineCosts& costs) const {
    return (exchanges * costs.exchanged + streamed * costs.streamed) / 1e3;
  }
};
LinesNeeded lines_needed(const std::string& collective, int ranks);

}  // namespace perf
