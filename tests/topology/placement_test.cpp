// Maps and bindings of ranks, by table, and what is refused.
#include "topology/placement.hpp"

#include "topology/machines.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

std::vector<RankPlacement> place(const Node& node, int ranks, MapBy map_by, BindTo bind_to) {
  Result<std::vector<RankPlacement>> placed = place_ranks(node, {ranks, map_by, bind_to});
  EXPECT_TRUE(placed.ok()) << placed.status().text();
  return placed.ok() ? placed.take() : std::vector<RankPlacement>{};
}

std::vector<int> homes(const std::vector<RankPlacement>& placements) {
  std::vector<int> pus;
  for (const RankPlacement& placement : placements) pus.push_back(placement.home_pu);
  return pus;
}

std::string refusal(const Node& node, int ranks, MapBy map_by, BindTo bind_to) {
  Result<std::vector<RankPlacement>> placed = place_ranks(node, {ranks, map_by, bind_to});
  EXPECT_FALSE(placed.ok());
  if (placed.ok()) return {};
  EXPECT_EQ(placed.status().code(), SGLCOLL_ERR_ARG);
  return placed.status().text();
}

TEST(Map, BySlotFillsCoreAfterCore) {
  const Node node = load_machine("two_sockets_smt");
  const std::vector<int> cores = {0, 1, 2, 3, 4, 5, 6, 7};
  for (MapBy map_by : {MapBy::slot, MapBy::core, MapBy::node})
    EXPECT_EQ(homes(place(node, 8, map_by, BindTo::none)), cores);
}

TEST(Map, ByDomainTakesDomainsInTurn) {
  const Node node = load_machine("nps4_many_l3");
  EXPECT_EQ(homes(place(node, 4, MapBy::package, BindTo::core)), (std::vector<int>{0, 64, 2, 66}));
  EXPECT_EQ(homes(place(node, 9, MapBy::numa, BindTo::core)),
            (std::vector<int>{0, 16, 32, 48, 64, 80, 96, 112, 2}));
  EXPECT_EQ(homes(place(node, 3, MapBy::l3, BindTo::core)), (std::vector<int>{0, 8, 16}));
}

TEST(Map, PassesFullDomainsOver) {
  const Node node = load_machine("two_sockets_restricted");
  // Package 0 has the cores {4,6} {14}, package 1 {5,7} {9} {15}.
  EXPECT_EQ(homes(place(node, 5, MapBy::package, BindTo::core)),
            (std::vector<int>{4, 5, 14, 9, 15}));
}

TEST(Map, SharesCoresOnOtherPusFirst) {
  const Node node = load_machine("two_sockets_smt");
  const std::vector<int> pus = homes(place(node, 20, MapBy::slot, BindTo::none));
  EXPECT_EQ(std::set<int>(pus.begin(), pus.begin() + 16).size(), 16u);
  EXPECT_EQ(pus[8], 8);
  EXPECT_EQ(pus[16], 0);
}

TEST(Bind, GivesTheSetOfTheLevel) {
  const Node node = load_machine("two_sockets_smt");
  const std::pair<BindTo, std::string> cases[] = {
      {BindTo::none, "any"},    {BindTo::pu, "0"},          {BindTo::core, "0,8"},
      {BindTo::l3, "0-3,8-11"}, {BindTo::numa, "0-3,8-11"}, {BindTo::package, "0-3,8-11"}};
  for (const auto& [bind_to, text] : cases)
    EXPECT_EQ(format_pu_set(place(node, 1, MapBy::slot, bind_to)[0].bind_set), text)
        << bind_to_name(bind_to);
}

class Binding : public testing::TestWithParam<Machine> {};
INSTANTIATE_TEST_SUITE_P(Topology, Binding, testing::ValuesIn(machines()), machine_name);

TEST_P(Binding, ToCoresAndPusIsExclusive) {
  const Node node = load(GetParam().text);
  const int cores = static_cast<int>(node.at(Level::core).size());
  const int pus = static_cast<int>(node.pus.size());
  for (MapBy map_by : {MapBy::slot, MapBy::core, MapBy::numa, MapBy::node})
    for (auto [bind_to, ranks] : {std::pair(BindTo::core, cores), std::pair(BindTo::pu, pus)}) {
      std::set<int> used;
      for (const RankPlacement& placement : place(node, ranks, map_by, bind_to)) {
        EXPECT_TRUE(std::ranges::is_sorted(placement.bind_set));
        EXPECT_TRUE(std::ranges::count(placement.bind_set, placement.home_pu));
        for (int pu : placement.bind_set) EXPECT_TRUE(used.insert(pu).second) << pu;
      }
      EXPECT_EQ(static_cast<int>(used.size()), pus);
      refusal(node, ranks + 1, map_by, bind_to);
    }
}

TEST(Refusal, OfTooManyRanksSaysWhatWouldDo) {
  const Node smt = load_machine("two_sockets_smt");
  EXPECT_EQ(refusal(smt, 9, MapBy::slot, BindTo::core),
            "--bind-to core: 9 ranks need a core each, but only 8 may be used; use 8 ranks or "
            "fewer, or --bind-to pu or --bind-to none");
  EXPECT_EQ(refusal(load_machine("no_cores"), 5, MapBy::slot, BindTo::core),
            "--bind-to core: 5 ranks need a core each, but only 4 may be used; use 4 ranks or "
            "fewer, or --bind-to none");
  EXPECT_NE(refusal(smt, 17, MapBy::slot, BindTo::pu).find("only 16"), std::string::npos);
  EXPECT_NE(refusal(smt, 0, MapBy::slot, BindTo::none).find("0 ranks"), std::string::npos);
}

TEST(Refusal, OfALevelThatTheMachineLacks) {
  const Node node = load_machine("no_cores");
  EXPECT_NE(refusal(node, 1, MapBy::l3, BindTo::none).find("--map-by l3"), std::string::npos);
  EXPECT_NE(refusal(node, 1, MapBy::slot, BindTo::package).find("machine, numa, core, pu"),
            std::string::npos);
}

TEST(Words, AreReadAndBadOnesRefusedWithTheList) {
  for (MapBy each : {MapBy::slot, MapBy::core, MapBy::numa, MapBy::l3, MapBy::package, MapBy::node})
    EXPECT_EQ(parse_map_by(map_by_name(each)).value(), each);
  for (BindTo each :
       {BindTo::none, BindTo::pu, BindTo::core, BindTo::l3, BindTo::numa, BindTo::package})
    EXPECT_EQ(parse_bind_to(bind_to_name(each)).value(), each);
  EXPECT_EQ(parse_map_by("chair").status().text(),
            "--map-by takes slot, core, numa, l3, package, node, not \"chair\"");
  EXPECT_EQ(parse_bind_to("").status().text(),
            "--bind-to takes none, pu, core, l3, numa, package, not \"\"");
}

TEST(PuSet, IsWrittenAsRanges) {
  EXPECT_EQ(format_pu_set(std::vector<int>{0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(format_pu_set(std::vector<int>{3}), "3");
  EXPECT_EQ(format_pu_set({}), "any");
}

}  // namespace
}  // namespace sgl::test
