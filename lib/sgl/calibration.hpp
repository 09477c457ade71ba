// Cost models that were measured, in files (JSON). One holds only for the device, or for the
// machine, that it is stamped with.
#pragma once

#include "base/status.hpp"
#include "sgl/cost_model.hpp"
#include "sgl/node_model.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sgl {

// What tells one device, and its firmware, from another.
struct DeviceStamp {
  std::string name, firmware;
  uint32_t vendor_id = 0, part_id = 0;

  bool operator==(const DeviceStamp&) const = default;
};
std::string describe(const DeviceStamp& stamp);

// What tells one kind of machine, and this library, from another.
struct MachineStamp {
  std::string processor;  // model name
  int64_t processors = 0;
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // of a processor's data caches
  std::string library;                               // version

  bool operator==(const MachineStamp&) const = default;
};
std::string describe(const MachineStamp& stamp);
MachineStamp this_machine();

// The text of a calibration file and back. Reading refuses, with the reason, what is no
// calibration, lacks a constant, has one that is negative or not finite, or is stamped with
// another device than `device`.
std::string calibration_text(const DeviceStamp& device, const CostModel& model);
Result<CostModel> parse_calibration(std::string_view text, const DeviceStamp& device);
// It is never a default: whoever wants it names the file.
Result<CostModel> load_calibration(const std::string& path, const DeviceStamp& device);

// The same of a node.
std::string calibration_text(const MachineStamp& machine, const NodeModel& model);
Result<NodeModel> parse_calibration(std::string_view text, const MachineStamp& machine);
Result<NodeModel> load_calibration(const std::string& path, const MachineStamp& machine);

// The model of this node: SGLCOLL_TUNING's file, which must be of this machine; else the one in
// its default place, unless it is of another machine, which `note` then says; else the built-in
// one.
struct NodeTuning {
  NodeModel model;
  std::string origin;  // "built in", or the file
  std::string note;
};
Result<NodeTuning> find_node_tuning();
// Where sglcoll-tune writes: $XDG_CONFIG_HOME/sglcoll/tuning.json, else below ~/.config; empty
// where neither variable is set.
std::string default_tuning_path();

}  // namespace sgl
