// What is said of variables that are not the library's.
#include "base/settings.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl {
namespace {

// The warnings with the variable set, all together.
std::string warning_of(const char* variable) {
  std::vector<std::string> warnings;
  setenv(variable, "1", 1);
  EXPECT_TRUE(check_settings(&warnings).ok());
  unsetenv(variable);
  std::string text;
  for (const std::string& warning : warnings) text += warning;
  return text;
}

TEST(Settings, AMistypedNameGetsTheNearestOne) {
  const char* const mistyped[][2] = {
      {"SGLCOLL_ALGORITM", "SGLCOLL_ALGORITHM"},
      {"SGLCOLL_SPIN", "SGLCOLL_SPIN_US"},
      {"SGLCOLL_TIMEOUT", "SGLCOLL_TIMEOUT_S"},
      {"SGLCOLL_EAGER_BYTE", "SGLCOLL_EAGER_BYTES"},
      {"SGLCOLL_CHEK", "SGLCOLL_CHECK"},
      {"SGLCOLL_LOGLEVEL", "SGLCOLL_LOG_LEVEL"},
      {"SGLCOLL_REPRODUCE", "SGLCOLL_REPRODUCIBLE"},
      {"SGLCOLL_transport", ""},
      {"SGLCOLL_TRANSPORTS", "SGLCOLL_TRANSPORT"},
  };
  for (const auto& [name, nearest] : mistyped) {
    const std::string text = warning_of(name);
    EXPECT_EQ(text.find(std::string(name) + " is not a variable of this library"), 0u) << text;
    if (*nearest)
      EXPECT_NE(text.find("; nearest is " + std::string(nearest)), std::string::npos) << text;
    else
      EXPECT_EQ(text.find("nearest"), std::string::npos) << text;
  }
}

TEST(Settings, ANameThatIsNearNothingGetsNone) {
  for (const char* name :
       {"SGLCOLL_HOME", "SGLCOLL_X", "SGLCOLL_", "SGLCOLL_COMPILER_FLAGS", "SGLCOLL_S"}) {
    EXPECT_EQ(warning_of(name), std::string(name) + " is not a variable of this library");
  }
}

TEST(Settings, TheTreesOwnVariablesAreNoMistake) {
  for (const char* name : {"SGLCOLL_VM_NODE", "SGLCOLL_PRESET", "SGLCOLL_CI"})
    EXPECT_EQ(warning_of(name), "");
}

// What is said of the value, "" when it is taken.
std::string refusal_of(const char* variable, const char* value) {
  std::vector<std::string> warnings;
  setenv(variable, value, 1);
  const Status checked = check_settings(&warnings);
  unsetenv(variable);
  return checked.ok() ? "" : checked.text();
}

TEST(Settings, ANumberOutsideItsRangeIsRefused) {
  const char* const outside[][3] = {
      {"SGLCOLL_RAILS", "3", "auto or a whole number, 1 to 2"},
      {"SGLCOLL_RAILS", "0", "auto or a whole number, 1 to 2"},
      {"SGLCOLL_PORT", "256", "auto or a whole number, 1 to 255"},
      {"SGLCOLL_GID_INDEX", "1K", "auto or a whole number, 0 to 255"},
      {"SGLCOLL_PKEY", "0x10000", "auto or a whole number, 0 to 65535"},
      {"SGLCOLL_SL", "16", "a whole number, 0 to 15"},
      {"SGLCOLL_TRAFFIC_CLASS", "256", "a whole number, 0 to 255"},
      {"SGLCOLL_MTU", "3", "auto|256|512|1024|2048|4096"},
      {"SGLCOLL_MESSAGE_SLOTS", "0", "a whole number, 1 to 1048576"},
      {"SGLCOLL_QUEUE_REQUESTS", "99999999999", "a whole number, 1 to 1048576"},
      {"SGLCOLL_MAX_SGE", "-1", "a whole number, 0 to 1048576"},
      {"SGLCOLL_CHUNK_BYTES", "0", "bytes such as 4096, 64K, 1M or 2G, 1 or more"},
      {"SGLCOLL_TIMEOUT_S", "nan", "a whole number, 0 or more"},
      {"SGLCOLL_CHECK", "", "0 or 1"},
  };
  for (const auto& [name, value, wanted] : outside) {
    const std::string text = refusal_of(name, value);
    EXPECT_NE(text.find(std::string(name) + "=\"" + value + "\" is not valid: it takes " + wanted),
              std::string::npos)
        << text;
  }
}

TEST(Settings, TheEndsOfARangeAreTaken) {
  const char* const taken[][2] = {
      {"SGLCOLL_RAILS", "2"},           {"SGLCOLL_RAILS", "auto"},    {"SGLCOLL_PORT", "1"},
      {"SGLCOLL_PKEY", "0xffff"},       {"SGLCOLL_SL", "15"},         {"SGLCOLL_MTU", "4096"},
      {"SGLCOLL_MAX_SGE", "0"},         {"SGLCOLL_CHUNK_BYTES", "1"}, {"SGLCOLL_SPIN_US", "auto"},
      {"SGLCOLL_TRAFFIC_CLASS", "255"},
  };
  for (const auto& [name, value] : taken) EXPECT_EQ(refusal_of(name, value), "") << name;
}

}  // namespace
}  // namespace sgl
