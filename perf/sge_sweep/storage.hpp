// The storage-style scenario: each operation moves a 64-byte command and a 4 KiB block,
// which lie apart here and together at the other side; 70 % are reads of a block, the
// others write one, drawn from a large working set by a Zipf distribution.
#pragma once

#include "perf/sge_sweep/sweep.hpp"

namespace sge_sweep {

enum class StorageWay : uint32_t { two_sges, copy, two_wrs };
inline constexpr std::array kStorageWays{StorageWay::two_sges, StorageWay::copy,
                                         StorageWay::two_wrs};
const char* name_of(StorageWay way);

struct StorageRow {
  StorageWay way;
  uint32_t blocks, operations;
  Timing timing;
  double operations_s() const { return operations * 1e9 / timing.ns; }
  double cpu_us_each() const { return timing.cpu_ns / operations / 1e3; }
};

// Checks the data of every operation's block at the end. Each way runs `rounds` times,
// in turn with the others; the fastest counts.
Result<std::vector<StorageRow>> measure_storage(Link& link, uint32_t blocks, uint32_t operations,
                                                int rounds);

}  // namespace sge_sweep
