#include "sgl/calibration.hpp"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sgl::test
