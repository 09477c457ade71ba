// The machines that the topology is tested on: synthetic descriptions, and recordings in
// fixtures/ where a description cannot say it (a restricted cpuset, devices).
#pragma once

#include "topology/node.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {

struct Machine {
  const char* name;
  std::string text;  // for load_node
  // How many of each there must be, in the order of Level.
  std::array<int, kLevelCount> counts;
  std::vector<Level> levels;

  friend std::ostream& operator<<(std::ostream& out, const Machine& machine) {
    return out << machine.name;
  }
};

inline std::string fixture(const char* file) {
  return std::string(SGLCOLL_TEST_FIXTURES) + "/" + file;
}

inline const std::vector<Machine>& machines() {
  using enum Level;
  static const std::vector<Machine> all = {
      {"one_socket",
       "package:1 [numa(memory=16GiB)] l3:1(size=32MiB) l2:8(size=1MiB) core:1 pu:1",
       {1, 1, 1, 1, 8, 8, 8},
       {machine, package, numa, l3, l2, core, pu}},
      {"two_sockets_smt",  // second threads numbered after all the first ones
       "package:2 [numa(memory=64GiB)] l3:1(size=32MiB) l2:4(size=1MiB) core:1 "
       "pu:2(indexes=2*8:1*2)",
       {1, 2, 2, 2, 8, 8, 16},
       {machine, package, numa, l3, l2, core, pu}},
      {"nps4_many_l3",
       "package:2 group:4 [numa(memory=64GiB)] l3:2(size=32MiB) l2:4(size=512KiB) core:1 pu:2",
       {1, 2, 8, 16, 64, 64, 128},
       {machine, package, numa, l3, l2, core, pu}},
      {"twelve_l3_no_smt",
       "package:1 [numa(memory=384GiB)] l3:12(size=32MiB) l2:8(size=1MiB) core:1 pu:1",
       {1, 1, 1, 12, 96, 96, 96},
       {machine, package, numa, l3, l2, core, pu}},
      {"shared_l2",
       "package:1 l3:1 [numa] l2:3 core:4 pu:1",
       {1, 1, 1, 1, 3, 12, 12},
       {machine, package, numa, l3, l2, core, pu}},
      {"two_kinds_of_memory",
       "package:2 [numa(memory=64GiB)] [numa(memory=16GiB)] l3:1 core:4 pu:1",
       {1, 2, 2, 2, 0, 8, 8},
       {machine, package, numa, l3, core, pu}},
      {"no_cores", "pu:4", {1, 0, 1, 0, 0, 4, 4}, {machine, numa, core, pu}},
      {"snc2_devices",  // an L3 holds two NUMA nodes
       fixture("snc2_devices.xml"),
       {1, 2, 4, 2, 12, 12, 12},
       {machine, package, l3, numa, l2, core, pu}},
      {"two_sockets_restricted",  // 2 of 4 cores, and 3 of 4, some with one thread
       fixture("two_sockets_restricted.xml"),
       {1, 2, 2, 2, 5, 5, 7},
       {machine, package, numa, l3, l2, core, pu}},
  };
  return all;
}

// For the names of parametrised tests.
inline std::string machine_name(const testing::TestParamInfo<Machine>& parameter) {
  return parameter.param.name;
}

inline Node load(const std::string& text) {
  Result<Node> node = load_node(text);
  EXPECT_TRUE(node.ok()) << node.status().text();
  return node.take();
}

inline Node load_machine(const std::string& name) {
  for (const Machine& machine : machines())
    if (machine.name == name) return load(machine.text);
  ADD_FAILURE() << "no machine " << name;
  return {};
}

}  // namespace sgl::test
