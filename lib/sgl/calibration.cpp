#include "sgl/calibration.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace sgl {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "sglcoll calibration";
constexpr int kVersion = 1;

struct Constant {
  const char* name;
  double CostModel::*value;
};
constexpr std::array kConstants{
    Constant{"doorbell_ns", &CostModel::doorbell_ns},
    Constant{"completion_ns", &CostModel::completion_ns},
    Constant{"wr_ns", &CostModel::wr_ns},
    Constant{"block_ns", &CostModel::block_ns},
    Constant{"sge_ns", &CostModel::sge_ns},
    Constant{"remote_sge_ns", &CostModel::remote_sge_ns},
    Constant{"byte_ns", &CostModel::byte_ns},
    Constant{"copy_run_ns", &CostModel::copy_run_ns},
    Constant{"copy_byte_ns", &CostModel::copy_byte_ns},
    Constant{"registration_ns", &CostModel::registration_ns},
    Constant{"registration_page_ns", &CostModel::registration_page_ns},
};
static_assert(sizeof(CostModel) == kConstants.size() * sizeof(double), "a constant has no name");

// The member `name` of an object; null when there is none.
json member(const json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : json();
}
std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}
uint32_t number_of(const json& value) {
  return value.is_number_unsigned() ? value.get<uint32_t>() : 0;
}

}  // namespace

std::string describe(const DeviceStamp& stamp) {
  return fmt::format("{} (vendor {:#x}, part {}, firmware {})", stamp.name, stamp.vendor_id,
                     stamp.part_id, stamp.firmware);
}

std::string calibration_text(const DeviceStamp& device, const CostModel& model) {
  json constants = json::object();
  for (const Constant& constant : kConstants) constants[constant.name] = model.*constant.value;
  return json{{"format", kFormat},
              {"version", kVersion},
              {"device",
               {{"name", device.name},
                {"firmware", device.firmware},
                {"vendor_id", device.vendor_id},
                {"part_id", device.part_id}}},
              {"model", constants}}
             .dump(2) +
         "\n";
}

Result<CostModel> parse_calibration(std::string_view text, const DeviceStamp& device) {
  const json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (text_of(member(file, "format")) != kFormat) {
    return error(SGLCOLL_ERR_ARG, "no calibration: \"format\" is not \"{}\"", kFormat);
  }
  const json version = member(file, "version");
  if (version != kVersion) {
    return error(SGLCOLL_ERR_ARG, "calibration version {}; this library reads {}", version.dump(),
                 kVersion);
  }
  const json stamp = member(file, "device");
  const DeviceStamp measured{.name = text_of(member(stamp, "name")),
                             .firmware = text_of(member(stamp, "firmware")),
                             .vendor_id = number_of(member(stamp, "vendor_id")),
                             .part_id = number_of(member(stamp, "part_id"))};
  if (measured != device) {
    return error(SGLCOLL_ERR_ARG, "the calibration is of {}; the device here is {}",
                 describe(measured), describe(device));
  }
  CostModel model{};
  for (const Constant& constant : kConstants) {
    const json value = member(member(file, "model"), constant.name);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
      return error(SGLCOLL_ERR_ARG, "calibration: {} is {}; it must be a number of at least 0",
                   constant.name, value.dump());
    }
    model.*constant.value = value.get<double>();
  }
  return model;
}

Result<CostModel> load_calibration(const std::string& path, const DeviceStamp& device) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return error(SGLCOLL_ERR_ARG, "calibration {}: the file cannot be read", path);
  }
  Result<CostModel> model = parse_calibration(text.str(), device);
  if (model.ok()) return model;
  return Status(model.status().code(), path + ": " + model.status().text());
}

}  // namespace sgl
