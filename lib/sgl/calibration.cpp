#include "sgl/calibration.hpp"

#include "base/settings.hpp"

#include <sglcoll/sglcoll.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sgl {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "sglcoll calibration";
constexpr int kVersion = 1;

template <class Model, class Value>
struct Constant {
  const char* name;
  Value Model::*value;
};
template <class Model, class Value>
Constant(const char*, Value Model::*) -> Constant<Model, Value>;

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

constexpr std::array kChoices{
    Constant{"eager_bytes", &NodeChoices::eager_bytes},
    Constant{"read_run_bytes", &NodeChoices::read_run_bytes},
    Constant{"shared_read_run_bytes", &NodeChoices::shared_read_run_bytes},
    Constant{"read_bytes", &NodeChoices::read_bytes},
    Constant{"read_apart_bytes", &NodeChoices::read_apart_bytes},
    Constant{"stream_bytes", &NodeChoices::stream_bytes},
    Constant{"cooperative_bytes", &NodeChoices::cooperative_bytes},
    Constant{"shared_cooperative_bytes", &NodeChoices::shared_cooperative_bytes},
    Constant{"whole_bytes", &NodeChoices::whole_bytes},
    Constant{"whole_from_bytes", &NodeChoices::whole_from_bytes},
};
static_assert(sizeof(NodeChoices) == kChoices.size() * sizeof(int64_t), "a choice has no name");

// The member `name` of an object; null when there is none.
json member(const json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : json();
}
std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}
int64_t integer_of(const json& value) {
  return value.is_number_unsigned() ? value.get<int64_t>() : 0;
}

Status read_constant(const json& value, const std::string& name, double* constant) {
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
    return error(SGLCOLL_ERR_ARG, "calibration: {} is {}; it must be a number of at least 0", name,
                 value.dump());
  *constant = value.get<double>();
  return {};
}

json file_of(const char* of, const json& stamp, const json& model) {
  return {{"format", kFormat}, {"version", kVersion}, {of, stamp}, {"model", model}};
}

// The file's contents, once it is sure that it is a calibration of a `kind`.
Result<json> open_file(std::string_view text, const char* kind) {
  json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (text_of(member(file, "format")) != kFormat)
    return error(SGLCOLL_ERR_ARG, "no calibration: \"format\" is not \"{}\"", kFormat);
  const json version = member(file, "version");
  if (version != kVersion)
    return error(SGLCOLL_ERR_ARG, "calibration version {}; this library reads {}", version.dump(),
                 kVersion);
  if (!file.contains(kind))
    return error(SGLCOLL_ERR_ARG, "the calibration is not one of a {}", kind);
  return file;
}

template <class Stamp>
Status check_stamp(const Stamp& measured, const Stamp& here, const char* kind) {
  if (measured == here) return {};
  return error(SGLCOLL_ERR_ARG, "the calibration is of {}; the {} here is {}", describe(measured),
               kind, describe(here));
}

template <class Stamp>
auto load(const std::string& path, const Stamp& stamp)
    -> decltype(parse_calibration(std::string_view(), stamp)) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return error(SGLCOLL_ERR_ARG, "calibration {}: the file cannot be read", path);
  auto model = parse_calibration(text.str(), stamp);
  if (model.ok()) return model;
  return Status(model.status().code(), path + ": " + model.status().text());
}

json grid_json(const TimeGrid& grid) {
  json rows = json::array();
  for (size_t row = 0; row < TimeGrid::kRows; ++row) {
    json line = json::array();
    for (size_t column = 0; column < TimeGrid::kColumns; ++column)
      if (TimeGrid::has_point(row, column)) line.push_back(grid.point(row, column));
    rows.push_back(std::move(line));
  }
  return rows;
}

// Points are there from the first column on that can have the row's runs.
Status read_grid(const json& rows, const std::string& name, TimeGrid* grid) {
  for (size_t row = 0; row < TimeGrid::kRows; ++row) {
    size_t next = 0;
    const json line = rows.is_array() && row < rows.size() ? rows[row] : json();
    for (size_t column = 0; column < TimeGrid::kColumns; ++column) {
      if (!TimeGrid::has_point(row, column)) continue;
      const json value = line.is_array() && next < line.size() ? line[next] : json();
      const std::string place = fmt::format("{}[{}][{}]", name, row, next++);
      SGL_TRY(read_constant(value, place, &grid->point(row, column)));
    }
  }
  return {};
}

std::string transfer_name(size_t way, size_t traffic) {
  return fmt::format("{}_{}", kNodeWayNames[way], kNodeTrafficNames[traffic]);
}

std::string processor_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      if (const size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}

}  // namespace

std::string describe(const DeviceStamp& stamp) {
  return fmt::format("{} (vendor {:#x}, part {}, firmware {})", stamp.name, stamp.vendor_id,
                     stamp.part_id, stamp.firmware);
}

std::string describe(const MachineStamp& stamp) {
  return fmt::format("{} with {} processors, caches of {}, {} and {} KiB, library {}",
                     stamp.processor, stamp.processors, stamp.l1_bytes >> 10, stamp.l2_bytes >> 10,
                     stamp.l3_bytes >> 10, stamp.library);
}

MachineStamp this_machine() {
  auto known = [](int name) { return std::max<int64_t>(0, sysconf(name)); };
  return {.processor = processor_model(),
          .processors = known(_SC_NPROCESSORS_ONLN),
          .l1_bytes = known(_SC_LEVEL1_DCACHE_SIZE),
          .l2_bytes = known(_SC_LEVEL2_CACHE_SIZE),
          .l3_bytes = known(_SC_LEVEL3_CACHE_SIZE),
          .library = fmt::format("{}.{}.{}", SGLCOLL_VERSION_MAJOR, SGLCOLL_VERSION_MINOR,
                                 SGLCOLL_VERSION_PATCH)};
}

std::string calibration_text(const DeviceStamp& device, const CostModel& model) {
  json constants = json::object();
  for (const auto& constant : kConstants) constants[constant.name] = model.*constant.value;
  return file_of("device",
                 {{"name", device.name},
                  {"firmware", device.firmware},
                  {"vendor_id", device.vendor_id},
                  {"part_id", device.part_id}},
                 constants)
             .dump(2) +
         "\n";
}

Result<CostModel> parse_calibration(std::string_view text, const DeviceStamp& device) {
  Result<json> file = open_file(text, "device");
  if (!file.ok()) return std::move(file.status());
  const json stamp = member(file.value(), "device");
  SGL_TRY(check_stamp({.name = text_of(member(stamp, "name")),
                       .firmware = text_of(member(stamp, "firmware")),
                       .vendor_id = static_cast<uint32_t>(integer_of(member(stamp, "vendor_id"))),
                       .part_id = static_cast<uint32_t>(integer_of(member(stamp, "part_id")))},
                      device, "device"));
  const json constants = member(file.value(), "model");
  CostModel model{};
  for (const auto& constant : kConstants)
    SGL_TRY(
        read_constant(member(constants, constant.name), constant.name, &(model.*constant.value)));
  return model;
}

Result<CostModel> load_calibration(const std::string& path, const DeviceStamp& device) {
  return load(path, device);
}

std::string calibration_text(const MachineStamp& machine, const NodeModel& model) {
  json runs = json(TimeGrid::kRuns);
  runs.push_back("whole");
  json parts{{"switch_ns", model.switch_ns},
             {"irregular_run_ns", model.irregular_run_ns},
             {"irregular_operand_run_ns", model.irregular_operand_run_ns},
             {"copy", grid_json(model.copy)},
             {"copy_exchange", grid_json(model.copy_exchange)}};
  for (size_t way = 0; way < kNodeWays; ++way)
    for (size_t traffic = 0; traffic < kNodeTraffics; ++traffic)
      parts[transfer_name(way, traffic)] = grid_json(model.transfers[way][traffic]);
  for (const auto& choice : kChoices) parts["choices"][choice.name] = model.choices.*choice.value;
  json file = file_of("machine",
                      {{"processor", machine.processor},
                       {"processors", machine.processors},
                       {"l1_bytes", machine.l1_bytes},
                       {"l2_bytes", machine.l2_bytes},
                       {"l3_bytes", machine.l3_bytes},
                       {"library", machine.library}},
                      parts);
  // For readers: a row of a grid is of runs of one length, its last columns are the bytes.
  file["rows_run_bytes"] = runs;
  file["columns_bytes"] = TimeGrid::kBytes;
  return file.dump(1) + "\n";
}

Result<NodeModel> parse_calibration(std::string_view text, const MachineStamp& machine) {
  Result<json> file = open_file(text, "machine");
  if (!file.ok()) return std::move(file.status());
  const json stamp = member(file.value(), "machine");
  SGL_TRY(check_stamp({.processor = text_of(member(stamp, "processor")),
                       .processors = integer_of(member(stamp, "processors")),
                       .l1_bytes = integer_of(member(stamp, "l1_bytes")),
                       .l2_bytes = integer_of(member(stamp, "l2_bytes")),
                       .l3_bytes = integer_of(member(stamp, "l3_bytes")),
                       .library = text_of(member(stamp, "library"))},
                      machine, "machine"));
  const json parts = member(file.value(), "model");
  NodeModel model;
  model.processors = static_cast<int>(std::max<int64_t>(1, machine.processors));
  SGL_TRY(read_constant(member(parts, "switch_ns"), "switch_ns", &model.switch_ns));
  SGL_TRY(read_constant(member(parts, "irregular_run_ns"), "irregular_run_ns",
                        &model.irregular_run_ns));
  SGL_TRY(read_constant(member(parts, "irregular_operand_run_ns"), "irregular_operand_run_ns",
                        &model.irregular_operand_run_ns));
  SGL_TRY(read_grid(member(parts, "copy"), "copy", &model.copy));
  SGL_TRY(read_grid(member(parts, "copy_exchange"), "copy_exchange", &model.copy_exchange));
  for (size_t way = 0; way < kNodeWays; ++way)
    for (size_t traffic = 0; traffic < kNodeTraffics; ++traffic) {
      const std::string name = transfer_name(way, traffic);
      SGL_TRY(read_grid(member(parts, name.c_str()), name, &model.transfers[way][traffic]));
    }
  for (const auto& choice : kChoices) {
    const json value = member(member(parts, "choices"), choice.name);
    if (!value.is_number_unsigned())
      return error(SGLCOLL_ERR_ARG, "calibration: {} is {}; it must be a whole number of bytes",
                   choice.name, value.dump());
    model.choices.*choice.value = value.get<int64_t>();
  }
  return model;
}

Result<NodeModel> load_calibration(const std::string& path, const MachineStamp& machine) {
  return load(path, machine);
}

std::string default_tuning_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config == '/') return std::string(config) + "/sglcoll/tuning.json";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.config/sglcoll/tuning.json" : std::string();
}

Result<NodeTuning> find_node_tuning() {
  const std::string named = setting_text("SGLCOLL_TUNING");
  const std::string path = named.empty() ? default_tuning_path() : named;
  NodeTuning tuning{NodeModel::built_in(), "built in", {}};
  tuning.model.processors = static_cast<int>(std::max<int64_t>(1, this_machine().processors));
  std::error_code ignored;
  if (named == "none" || path.empty() || (named.empty() && !std::filesystem::exists(path, ignored)))
    return tuning;
  Result<NodeModel> model = load_calibration(path, this_machine());
  if (model.ok()) return NodeTuning{model.take(), path, {}};
  if (!named.empty())
    return error(model.status().code(), "SGLCOLL_TUNING: {}", model.status().text());
  tuning.note = fmt::format("not used: {}; sglcoll-tune makes a new one", model.status().text());
  return tuning;
}

}  // namespace sgl
