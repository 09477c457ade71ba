// Which port and address is chosen, and what is said when none fits.
#include "transport/verbs/choice.hpp"

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr Gid kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1};
constexpr Gid kLinkLocalIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 169, 254, 0, 1};
constexpr Gid kLinkLocal = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 9};
constexpr Gid kRoutable = {0x20, 0x01, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 9};

PortEntry ethernet(const std::string& device, int64_t megabits = 100'000) {
  PortEntry port;
  port.device = device;
  port.port = 1;
  port.active = true;
  port.link = LinkLayer::ethernet;
  port.mtu_bytes = 4096;
  port.megabits = megabits;
  port.gids = {{0, GidKind::roce_v1, kLinkLocal},
               {1, GidKind::roce_v2, kLinkLocal},
               {2, GidKind::roce_v1, kMappedIpv4},
               {3, GidKind::roce_v2, kMappedIpv4}};
  port.pkeys = {0xffff};
  return port;
}

PortEntry infiniband(const std::string& device) {
  PortEntry port = ethernet(device);
  port.link = LinkLayer::infiniband;
  port.lid = 12;
  port.gids = {{0, GidKind::infiniband, kLinkLocal}};
  port.pkeys = {0xffff, 0, 0x8001};
  return port;
}

PortChoice chosen(const std::vector<PortEntry>& ports, const VerbsWishes& wishes = {}) {
  PortChoices choices = choose_ports(ports, wishes);
  EXPECT_TRUE(check_any_taken(choices).ok()) << check_any_taken(choices).text();
  return choices.taken.empty() ? PortChoice{} : choices.taken.front();
}

std::string refusal(const std::vector<PortEntry>& ports, const VerbsWishes& wishes = {}) {
  Status status = check_any_taken(choose_ports(ports, wishes));
  EXPECT_FALSE(status.ok());
  return status.text();
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Choice, ipv4_address_of_roce_v2_is_preferred) {
  EXPECT_EQ(chosen({ethernet("a")}).gid.index, 3);
}

TEST(Choice, routable_address_comes_before_a_local_one) {
  PortEntry port = ethernet("a");
  port.gids = {{0, GidKind::roce_v2, kLinkLocal},
               {4, GidKind::roce_v2, kRoutable},
               {5, GidKind::roce_v2, kLinkLocalIpv4}};
  EXPECT_EQ(chosen({port}).gid.index, 4);
  port.gids.erase(port.gids.begin() + 1);
  EXPECT_EQ(chosen({port}).gid.index, 0);
  port.gids = {{7, GidKind::roce_v1, kMappedIpv4}};
  EXPECT_EQ(chosen({port}).gid.index, 7) << "better than nothing";
}

TEST(Choice, fastest_active_port_is_taken) {
  std::vector<PortEntry> ports = {ethernet("a", 25'000), ethernet("b"), ethernet("c", 400'000)};
  ports[2].active = false;
  ports[2].state = "PORT_DOWN";
  EXPECT_EQ(chosen(ports).entry, 1u);
}

std::vector<size_t> entries(const PortChoices& choices) {
  std::vector<size_t> entries;
  for (const PortChoice& choice : choices.taken) entries.push_back(choice.entry);
  return entries;
}

TEST(Choice, nearest_of_many_alike_are_taken_in_the_order_of_all_ranks) {
  std::vector<PortEntry> ports = {ethernet("a"), ethernet("b"), ethernet("c"), ethernet("d"),
                                  ethernet("e", 25'000)};
  EXPECT_EQ(entries(choose_ports(ports, {})), (std::vector<size_t>{0, 1})) << "none is nearer";
  ports[0].distance = 32, ports[1].distance = 21, ports[2].distance = 10, ports[3].distance = 32;
  EXPECT_EQ(entries(choose_ports(ports, {})), (std::vector<size_t>{1, 2}));
  ports[4].distance = 1;
  EXPECT_EQ(entries(choose_ports(ports, {})), (std::vector<size_t>{1, 2})) << "slow, however near";
  VerbsWishes one;
  one.rails = 1;
  EXPECT_EQ(entries(choose_ports(ports, one)), (std::vector<size_t>{2}));
  one.device = "a,d";
  EXPECT_EQ(entries(choose_ports(ports, one)), (std::vector<size_t>{0}));
}

TEST(Choice, two_are_both_used_wherever_they_are) {
  std::vector<PortEntry> ports = {ethernet("a"), ethernet("b")};
  ports[0].distance = 32;
  EXPECT_EQ(entries(choose_ports(ports, {})), (std::vector<size_t>{0, 1}));
}

TEST(Choice, wishes_are_kept) {
  const std::vector<PortEntry> ports = {ethernet("a"), ethernet("b", 10'000), infiniband("c")};
  VerbsWishes wishes;
  wishes.device = "b";
  EXPECT_EQ(chosen(ports, wishes).entry, 1u);
  wishes.gid_index = 1;
  EXPECT_EQ(chosen(ports, wishes).gid.index, 1);
  wishes.gid_index = 9;
  expect_part(refusal(ports, wishes), "SGLCOLL_GID_INDEX=9: the port has no such address");
  wishes = {};
  wishes.port = 2;
  expect_part(refusal(ports, wishes), "SGLCOLL_PORT=2 asks for another");
}

TEST(Choice, partition_is_found_by_its_key_with_any_membership) {
  VerbsWishes wishes;
  wishes.pkey = 1;
  EXPECT_EQ(chosen({infiniband("c")}, wishes).pkey_index, 2);
  wishes.pkey = 0x8001;
  EXPECT_EQ(chosen({infiniband("c")}, wishes).pkey_index, 2);
  wishes.pkey = 5;
  expect_part(refusal({infiniband("c")}, wishes),
              "SGLCOLL_PKEY=0x5: the port is in no such partition");
}

TEST(Choice, refusal_lists_every_port_with_its_reason) {
  std::vector<PortEntry> ports = {ethernet("a"), ethernet("b"), infiniband("c"), ethernet("d")};
  ports[0].active = false;
  ports[0].state = "PORT_DOWN";
  ports[1].gids.clear();
  ports[2].lid = 0;
  ports[2].gids.clear();
  ports[3].unusable = "it cannot be opened";
  const std::string text = refusal(ports);
  expect_part(text, "a port 1: the port is PORT_DOWN, not active");
  expect_part(text, "b port 1: its network interface has no address");
  expect_part(text, "c port 1: it has no LID");
  expect_part(text, "d port 1: it cannot be opened");
  expect_part(refusal({}), "there is none");
}

}  // namespace
}  // namespace sgl::test
