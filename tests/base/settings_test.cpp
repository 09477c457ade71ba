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

}  // namespace
}  // namespace sgl
