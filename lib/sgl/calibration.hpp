// A cost model measured on one device, in a file. It is never a default: it holds
// only for the device that it is stamped with, and whoever wants it names the file.
#pragma once

#include "base/status.hpp"
#include "sgl/cost_model.hpp"

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

// The text of a calibration file (JSON) and back. Reading refuses, with the reason, what
// is no calibration, lacks a constant, has one that is negative or not finite, or is
// stamped with another device than `device`.
std::string calibration_text(const DeviceStamp& device, const CostModel& model);
Result<CostModel> parse_calibration(std::string_view text, const DeviceStamp& device);
Result<CostModel> load_calibration(const std::string& path, const DeviceStamp& device);

}  // namespace sgl
