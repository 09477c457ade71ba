#include "sgl/calibration.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sgl::test {
namespace {

const DeviceStamp kDevice{.name = "dev0", .firmware = "1.2.3", .vendor_id = 0x2c9, .part_id = 41};

CostModel distinct_model() {
  CostModel model = CostModel::device();
  model.block_ns = 11.25;
  model.remote_sge_ns = 43.5;
  return model;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The text of the failure, "" when it was accepted.
std::string refusal(const std::string& text, const DeviceStamp& device = kDevice) {
  Result<CostModel> model = parse_calibration(text, device);
  return model.ok() ? "" : model.status().text();
}

TEST(Calibration, ReturnsEveryConstant) {
  const CostModel written = distinct_model();
  Result<CostModel> read = parse_calibration(calibration_text(kDevice, written), kDevice);
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(calibration_text(kDevice, read.value()), calibration_text(kDevice, written));
  EXPECT_EQ(read.value().block_ns, 11.25);
  EXPECT_EQ(read.value().remote_sge_ns, 43.5);
}

TEST(Calibration, OnlyForItsOwnDevice) {
  const std::string text = calibration_text(kDevice, distinct_model());
  for (auto change : {+[](DeviceStamp* stamp) { stamp->name = "dev1"; },
                      +[](DeviceStamp* stamp) { stamp->firmware = "1.2.4"; },
                      +[](DeviceStamp* stamp) { stamp->vendor_id++; },
                      +[](DeviceStamp* stamp) { stamp->part_id++; }}) {
    DeviceStamp other = kDevice;
    change(&other);
    const std::string reason = refusal(text, other);
    EXPECT_NE(reason.find(describe(kDevice)), std::string::npos) << reason;
    EXPECT_NE(reason.find(describe(other)), std::string::npos) << reason;
  }
}

TEST(Calibration, RefusesWhatIsNone) {
  const std::string text = calibration_text(kDevice, distinct_model());
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("[1, 2]"), "");
  EXPECT_NE(refusal("{\"format\": 3}"), "");
  EXPECT_NE(refusal(text.substr(0, text.size() / 2)), "");
  EXPECT_NE(refusal(replaced(text, "\"version\": 1", "\"version\": 2")).find("version 2"),
            std::string::npos);
  for (const char* bad : {"-1", "\"11.25\"", "null", "1e999"}) {
    const std::string reason = refusal(replaced(text, "11.25", bad));
    EXPECT_NE(reason, "") << bad;
  }
  EXPECT_NE(refusal(replaced(text, "block_ns", "blocks_ns")).find("block_ns is null"),
            std::string::npos);
  EXPECT_EQ(refusal(text), "");
}

TEST(Calibration, FileNamesItselfInErrors) {
  const std::string path = testing::TempDir() + "/calibration_test.json";
  Result<CostModel> missing = load_calibration(path + ".none", kDevice);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().text().find(path + ".none"), std::string::npos);
  std::ofstream(path) << calibration_text(kDevice, distinct_model());
  EXPECT_TRUE(load_calibration(path, kDevice).ok());
  DeviceStamp other = kDevice;
  other.name = "dev1";
  Result<CostModel> refused = load_calibration(path, other);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().text().find(path), std::string::npos);
  std::remove(path.c_str());
}

const MachineStamp kMachine{.processor = "P 1",
                            .processors = 4,
                            .l1_bytes = 1 << 15,
                            .l2_bytes = 1 << 20,
                            .l3_bytes = 1 << 24,
                            .library = "1.2.3"};

NodeModel distinct_node() {
  NodeModel model = NodeModel::built_in();
  double next = 1000;
  for (auto& traffics : model.transfers)
    for (TimeGrid& grid : traffics)
      for (size_t row = 0; row < TimeGrid::kRows; ++row)
        for (size_t column = 0; column < TimeGrid::kColumns; ++column)
          if (TimeGrid::has_point(row, column)) grid.point(row, column) = next += 0.5;
  model.copy.point(TimeGrid::kWhole, 0) = 17.25;
  model.switch_ns = 18.25;
  model.irregular_run_ns = 19.25;
  model.choices = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  return model;
}

TEST(NodeCalibration, ReturnsEveryNumber) {
  const NodeModel written = distinct_node();
  const std::string text = calibration_text(kMachine, written);
  Result<NodeModel> read = parse_calibration(text, kMachine);
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(calibration_text(kMachine, read.value()), text);
  EXPECT_EQ(read.value().choices, written.choices);
  EXPECT_EQ(read.value().switch_ns, 18.25);
  EXPECT_EQ(read.value().processors, 4);
  const auto map = NodeWay::map;
  EXPECT_EQ(read.value().grid(map, NodeTraffic::operand).point(TimeGrid::kWhole, 3),
            written.grid(map, NodeTraffic::operand).point(TimeGrid::kWhole, 3));
}

TEST(NodeCalibration, OnlyForItsOwnMachineAndVersion) {
  const std::string text = calibration_text(kMachine, distinct_node());
  for (auto change : {+[](MachineStamp* stamp) { stamp->processor = "P 2"; },
                      +[](MachineStamp* stamp) { stamp->processors = 8; },
                      +[](MachineStamp* stamp) { stamp->l1_bytes *= 2; },
                      +[](MachineStamp* stamp) { stamp->l2_bytes *= 2; },
                      +[](MachineStamp* stamp) { stamp->l3_bytes *= 2; },
                      +[](MachineStamp* stamp) { stamp->library = "1.2.4"; }}) {
    MachineStamp other = kMachine;
    change(&other);
    Result<NodeModel> model = parse_calibration(text, other);
    ASSERT_FALSE(model.ok());
    EXPECT_NE(model.status().text().find(describe(kMachine)), std::string::npos);
    EXPECT_NE(model.status().text().find(describe(other)), std::string::npos);
  }
}

TEST(NodeCalibration, RefusesWhatIsNone) {
  auto reason = [](const std::string& text) {
    Result<NodeModel> model = parse_calibration(text, kMachine);
    return model.ok() ? "" : model.status().text();
  };
  const std::string text = calibration_text(kMachine, distinct_node());
  EXPECT_NE(reason(calibration_text(kDevice, distinct_model())).find("machine"), std::string::npos);
  EXPECT_NE(reason(replaced(text, "18.25", "-1")).find("switch_ns"), std::string::npos);
  EXPECT_NE(reason(replaced(text, "17.25", "null")).find("copy[4][0]"), std::string::npos);
  EXPECT_NE(reason(replaced(text, "\"read_bytes\": 4", "\"read_bytes\": 0.5")).find("read_bytes"),
            std::string::npos);
  EXPECT_EQ(refusal(text), "the calibration is not one of a device");
}

class Tuning : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/tuning_" + std::to_string(getpid());
    setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    unsetenv("SGLCOLL_TUNING");
  }
  void TearDown() override {
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("SGLCOLL_TUNING");
    std::filesystem::remove_all(folder_);
  }
  static void write(const std::string& path, const MachineStamp& machine) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << calibration_text(machine, distinct_node());
  }
  std::string folder_;
};

TEST_F(Tuning, ComesFromTheDefaultPlaceIfThereIsOne) {
  EXPECT_EQ(find_node_tuning().value().origin, "built in");
  EXPECT_EQ(default_tuning_path(), folder_ + "/sglcoll/tuning.json");
  write(default_tuning_path(), this_machine());
  EXPECT_EQ(find_node_tuning().value().origin, default_tuning_path());
  EXPECT_EQ(find_node_tuning().value().model.choices, distinct_node().choices);
  setenv("SGLCOLL_TUNING", "none", 1);
  EXPECT_EQ(find_node_tuning().value().origin, "built in");
}

TEST_F(Tuning, OfAnotherMachineIsNotUsedAndRefusedWhereItIsNamed) {
  write(default_tuning_path(), kMachine);
  Result<NodeTuning> found = find_node_tuning();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().origin, "built in");
  EXPECT_NE(found.value().note.find(describe(kMachine)), std::string::npos) << found.value().note;
  setenv("SGLCOLL_TUNING", default_tuning_path().c_str(), 1);
  Result<NodeTuning> refused = find_node_tuning();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().text().find("SGLCOLL_TUNING"), std::string::npos);
  EXPECT_NE(refused.status().text().find(describe(this_machine())), std::string::npos);
  setenv("SGLCOLL_TUNING", "/nowhere/tuning.json", 1);
  EXPECT_FALSE(find_node_tuning().ok());
}

}  // namespace
}  // namespace sgl::test
