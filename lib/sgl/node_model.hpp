// NodeModel: what moving bytes between ranks of one node takes, and from where on one way
// overtakes another. Measured by sglcoll-tune; the built-in values are of one machine.
#pragma once

#include "base/node_choices.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sgl {

// How the bytes of a transfer move, as far as its time goes.
enum class NodeWay : uint8_t {
  message,  // through the rings, in one message or in fragments
  map,      // loaded from the sender's memory
  read,     // by process_vm_readv
};
inline constexpr int kNodeWays = 3;
inline constexpr std::array<const char*, kNodeWays> kNodeWayNames{"message", "map", "read"};

// What the two ranks do meanwhile.
enum class NodeTraffic : uint8_t {
  one_way,          // nothing else
  exchange,         // as much moves in the other direction
  operand,          // as one_way, and the receiver combines what comes with its own
  operand_exchange  // the same in both directions
};
inline constexpr int kNodeTraffics = 4;
inline constexpr std::array<const char*, kNodeTraffics> kNodeTrafficNames{
    "one_way", "exchange", "operand", "operand_exchange"};

// Nanoseconds of one transfer by its bytes and the length of its runs of memory, which have
// gaps of their own length. Between the measured points it is a power of both.
class TimeGrid {
 public:
  // 20 KiB: beyond what travels inside the first message.
  static constexpr std::array<int64_t, 10> kBytes{8,        256,       4 << 10, 16 << 10, 20 << 10,
                                                  64 << 10, 256 << 10, 1 << 20, 4 << 20,  16 << 20};
  // The last row is of one run.
  static constexpr std::array<int64_t, 4> kRuns{8, 64, 512, 4 << 10};
  static constexpr size_t kColumns = kBytes.size(), kRows = kRuns.size() + 1;
  static constexpr size_t kWhole = kRows - 1;
  // Whether a transfer of column's bytes can have several of row's runs.
  static constexpr bool has_point(size_t row, size_t column) {
    return row == kWhole || kRuns[row] * 2 <= kBytes[column];
  }

  double& point(size_t row, size_t column) { return ns_[row][column]; }
  double point(size_t row, size_t column) const { return ns_[row][column]; }
  // Beyond the last column as there in proportion, before the first as there. O(1).
  double ns(double bytes, double run_bytes) const;

 private:
  double in_column(size_t column, double run_bytes) const;

  std::array<std::array<double, kColumns>, kRows> ns_{};  // 0 where there is no point
};

struct NodeModel {
  std::array<std::array<TimeGrid, kNodeTraffics>, kNodeWays> transfers;
  TimeGrid copy;                // within a rank
  TimeGrid copy_exchange;       // the same in an exchange: what that takes longer
  double irregular_run_ns = 0;  // a run that is not like its neighbours takes more, at one end
  double irregular_operand_run_ns = 0;  // and of an operand, with the result's
  double switch_ns = 0;                 // a processor's change from one rank to another
  int processors = 1;
  NodeChoices choices;

  const TimeGrid& grid(NodeWay way, NodeTraffic traffic) const {
    return transfers[static_cast<size_t>(way)][static_cast<size_t>(traffic)];
  }
  TimeGrid& grid(NodeWay way, NodeTraffic traffic) {
    return transfers[static_cast<size_t>(way)][static_cast<size_t>(traffic)];
  }

  // Measured on two processors of a Xeon with AVX-512: docs/performance.md.
  static const NodeModel& built_in();
};

}  // namespace sgl
