// The model of a machine: what is in it, distances, restriction, wire form, bad input.
#include "topology/node.hpp"

#include "topology/machines.hpp"

#include <cstdlib>
#include <random>

#include <gtest/gtest.h>
#include <sched.h>

namespace sgl::test {
namespace {

class EveryMachine : public testing::TestWithParam<Machine> {};
INSTANTIATE_TEST_SUITE_P(Topology, EveryMachine, testing::ValuesIn(machines()), machine_name);

void expect_same(const Node& a, const Node& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.levels, b.levels);
  ASSERT_EQ(a.pus.size(), b.pus.size());
  for (size_t i = 0; i < a.pus.size(); ++i) {
    EXPECT_EQ(a.pus[i].os_index, b.pus[i].os_index);
    EXPECT_EQ(a.pus[i].domain, b.pus[i].domain);
  }
  for (int level = 0; level < kLevelCount; ++level) {
    ASSERT_EQ(a.domains[level].size(), b.domains[level].size());
    for (size_t i = 0; i < a.domains[level].size(); ++i) {
      EXPECT_EQ(a.domains[level][i].os_index, b.domains[level][i].os_index);
      EXPECT_EQ(a.domains[level][i].first_pu, b.domains[level][i].first_pu);
      EXPECT_EQ(a.domains[level][i].pu_count, b.domains[level][i].pu_count);
      EXPECT_EQ(a.domains[level][i].bytes, b.domains[level][i].bytes);
    }
  }
  ASSERT_EQ(a.devices.size(), b.devices.size());
  for (size_t i = 0; i < a.devices.size(); ++i) {
    EXPECT_EQ(a.devices[i].name, b.devices[i].name);
    EXPECT_EQ(a.devices[i].locality.first_pu, b.devices[i].locality.first_pu);
    EXPECT_EQ(a.devices[i].locality.pu_count, b.devices[i].locality.pu_count);
  }
}

TEST_P(EveryMachine, HasItsDomains) {
  const Node node = load(GetParam().text);
  for (int level = 0; level < kLevelCount; ++level)
    EXPECT_EQ(static_cast<int>(node.domains[level].size()), GetParam().counts[level])
        << level_name(static_cast<Level>(level));
  EXPECT_EQ(node.levels, GetParam().levels);
}

TEST_P(EveryMachine, DistanceIsAnUltrametric) {
  const Node node = load(GetParam().text);
  const int pus = static_cast<int>(node.pus.size());
  for (int a = 0; a < pus; a += 1 + pus / 20)
    for (int b = 0; b < pus; ++b) {
      EXPECT_EQ(node.distance(a, b) == 0, a == b);
      EXPECT_EQ(node.distance(a, b), node.distance(b, a));
      for (int c = 0; c < pus; c += 1 + pus / 20)
        EXPECT_LE(node.distance(a, b), std::max(node.distance(a, c), node.distance(c, b)));
    }
}

TEST_P(EveryMachine, ArrivesUnchangedOverTheWire) {
  const Node node = load(GetParam().text);
  Result<Node> back = deserialise_node(serialise_node(node));
  ASSERT_TRUE(back.ok()) << back.status().text();
  expect_same(node, back.value());
}

TEST_P(EveryMachine, CutWireFormsAreRefused) {
  const std::vector<std::byte> bytes = serialise_node(load(GetParam().text));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(deserialise_node(std::span(bytes).first(length)).ok()) << length;
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_FALSE(deserialise_node(longer).ok());
}

// Whatever a damaged form says, what is accepted is a model that can be used.
TEST_P(EveryMachine, DamagedWireFormsDoNoHarm) {
  const std::vector<std::byte> bytes = serialise_node(load(GetParam().text));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> damaged = bytes;
    for (unsigned i = 0; i <= random() % 3; ++i)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    Result<Node> node = deserialise_node(damaged);
    if (!node.ok()) continue;
    const int last = static_cast<int>(node.value().pus.size()) - 1;
    EXPECT_GE(node.value().distance(0, last), 0);
    for (const NearDevice& device : node.value().devices)
      EXPECT_GE(node.value().distance(last, device), 0);
  }
}

TEST_P(EveryMachine, RestrictedToAllItsPusIsItself) {
  const Node node = load(GetParam().text);
  std::vector<int> all;
  for (const Pu& pu : node.pus) all.push_back(pu.os_index);
  Result<Node> same = restrict_node(node, all);
  ASSERT_TRUE(same.ok());
  expect_same(node, same.value());
}

TEST_P(EveryMachine, LookupsAgree) {
  const Node node = load(GetParam().text);
  const std::vector<int> positions = node.positions_by_os_index();
  for (size_t i = 0; i < node.pus.size(); ++i) {
    EXPECT_EQ(positions[node.pus[i].os_index], static_cast<int>(i));
    EXPECT_EQ(node.position_of(node.pus[i].os_index), static_cast<int>(i));
  }
  EXPECT_EQ(node.position_of(static_cast<int>(positions.size())), -1);
}

TEST(Node, KnowsWhatPusShare) {
  const Node node = load_machine("two_sockets_smt");
  auto shared = [&](int a, int b) {
    return node.shared_level(node.position_of(a), node.position_of(b));
  };
  EXPECT_EQ(shared(0, 0), Level::pu);
  EXPECT_EQ(shared(0, 8), Level::core);
  EXPECT_EQ(shared(0, 3), Level::l3);
  EXPECT_EQ(shared(0, 4), Level::machine);
  EXPECT_EQ(node.distance(node.position_of(0), node.position_of(4)), 6);
}

TEST(Node, KnowsSizes) {
  const Node node = load_machine("two_sockets_smt");
  EXPECT_EQ(node.at(Level::l3)[1].bytes, int64_t{32} << 20);
  EXPECT_EQ(node.at(Level::numa)[0].bytes, int64_t{64} << 30);
  EXPECT_EQ(node.at(Level::machine)[0].bytes, int64_t{128} << 30);
}

TEST(Node, KnowsWhereDevicesAre) {
  const Node node = load_machine("snc2_devices");
  ASSERT_EQ(node.devices.size(), 2u);
  EXPECT_EQ(node.devices[0].name, "mlx5_0");
  EXPECT_EQ(node.devices[0].locality.first_pu, 0);
  EXPECT_EQ(node.devices[0].locality.pu_count, 6);
  EXPECT_EQ(node.devices[1].locality.first_pu, 9);
  EXPECT_EQ(node.distance(10, node.devices[1]), 0);
  EXPECT_EQ(node.shared_level(8, 9), Level::l3);
  EXPECT_EQ(node.distance(8, node.devices[1]), node.distance(8, 9));
  EXPECT_GT(node.distance(0, node.devices[1]), node.distance(8, node.devices[1]));
}

TEST(Node, RestrictionDropsEmptyDomainsAndKeepsDevices) {
  const Node node = load_machine("snc2_devices");
  Result<Node> part = restrict_node(node, std::vector<int>{7, 1, 2, 4, 99, -5});
  ASSERT_TRUE(part.ok()) << part.status().text();
  const Node& rest = part.value();
  ASSERT_EQ(rest.pus.size(), 4u);
  EXPECT_EQ(rest.pus[0].os_index, 1);
  EXPECT_EQ(rest.pus[3].os_index, 7);
  EXPECT_EQ(rest.at(Level::numa).size(), 3u);
  EXPECT_EQ(rest.at(Level::numa)[1].os_index, 1);
  ASSERT_EQ(rest.devices.size(), 2u);
  EXPECT_EQ(rest.devices[0].locality.pu_count, 3);
  EXPECT_EQ(rest.devices[1].locality.pu_count, 4) << "no near PU is left, so near all";
}

TEST(Node, RestrictionToNothingIsRefused) {
  Result<Node> none = restrict_node(load_machine("one_socket"), std::vector<int>{8, 9});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), SGLCOLL_ERR_ARG);
  EXPECT_NE(none.status().text().find("8,9"), std::string::npos) << none.status().text();
}

TEST(Node, ForgedModelsAreRefusedByName) {
  const std::pair<const char*, void (*)(Node*)> forgeries[] = {
      {"numa 1 has the PUs 7", [](Node* node) { node->domains[2][1].first_pu = 7; }},
      {"numa 1 has the PUs 8", [](Node* node) { node->domains[2][1].pu_count = 9; }},
      {"l3 0 has the PUs -1", [](Node* node) { node->domains[3][0].first_pu = -1; }},
      {"l3 0 has the PUs", [](Node* node) { node->domains[3][0].pu_count = 0; }},
      {"l3 1 has the PUs", [](Node* node) { std::swap(node->domains[3][0], node->domains[3][1]); }},
      {"core 7 has the PUs", [](Node* node) { node->domains[5][7].pu_count = INT32_MAX; }},
      {"level pu has 15", [](Node* node) { node->domains[6].pop_back(); }},
      {"level machine has 0", [](Node* node) { node->domains[0].clear(); }},
      {"level machine has 1", [](Node* node) { node->domains[0][0].pu_count = 15; }},
      {"same OS index 12", [](Node* node) { node->pus[0].os_index = 12; }},
      {"index -2, which is not", [](Node* node) { node->pus[0].os_index = -2; }},
      {"index 1048576, which is not", [](Node* node) { node->pus[0].os_index = 1 << 20; }},
      {"no PU", [](Node* node) { node->pus.clear(); }},
      {"device x",
       [](Node* node) {
         node->devices.push_back({"x", {-1, 14, 3, 0}});
       }},
  };
  for (const auto& [part, forge] : forgeries) {
    Node node = load_machine("two_sockets_smt");
    forge(&node);
    Result<Node> back = deserialise_node(serialise_node(node));
    ASSERT_FALSE(back.ok()) << part;
    EXPECT_EQ(back.status().code(), SGLCOLL_ERR_ARG);
    EXPECT_NE(back.status().text().find(part), std::string::npos) << back.status().text();
  }
}

TEST(Load, BadTextsAreRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"/nowhere/machine.xml", "/nowhere/machine.xml"},
      {"machine.xml", "there is no topology file"},
      {"package:2 chair:4", "package:2 chair:4"},
      {"", "synthetic description"},
      {"<nonsense>", "XML"},
      {"<?xml version=\"1.0\"?><topology version=\"2.0\"></topology>", "XML"},
      {SGLCOLL_TEST_FIXTURES "/../node_test.cpp", "node_test.cpp"},
      {SGLCOLL_TEST_FIXTURES, "topology"},
  };
  for (const auto& [text, part] : cases) {
    Result<Node> node = load_node(text);
    ASSERT_FALSE(node.ok()) << text;
    EXPECT_EQ(node.status().code(), SGLCOLL_ERR_ARG) << text;
    EXPECT_NE(node.status().text().find(part), std::string::npos) << node.status().text();
  }
}

TEST(Discover, TakesTheMachineThatTheSettingNames) {
  setenv("SGLCOLL_TOPOLOGY", "package:3 core:5 pu:1", 1);
  Result<Node> node = discover_node();
  setenv("SGLCOLL_TOPOLOGY", "package:chair", 1);
  Result<Node> bad = discover_node();
  unsetenv("SGLCOLL_TOPOLOGY");
  ASSERT_TRUE(node.ok()) << node.status().text();
  EXPECT_EQ(node.value().pus.size(), 15u);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().text().find("SGLCOLL_TOPOLOGY"), std::string::npos);
}

TEST(Discover, SeesTheAffinityOfTheProcess) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Result<Node> bound = discover_node(Scope::affinity);
  Result<Node> machine = discover_node(Scope::machine);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(bound.ok()) << bound.status().text();
  ASSERT_TRUE(machine.ok()) << machine.status().text();
  ASSERT_EQ(bound.value().pus.size(), 1u);
  EXPECT_EQ(bound.value().pus[0].os_index, first);
  EXPECT_GE(static_cast<int>(machine.value().pus.size()), CPU_COUNT(&before));
}

}  // namespace
}  // namespace sgl::test
