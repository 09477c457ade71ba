// Host lists: --host, --hostfile, Slurm, PBS, LSF, and where ranks go.
#include "sglrun/environment.hpp"
#include "sglrun/hosts/allocation.hpp"
#include "sglrun/hosts/host_list.hpp"
#include "sglrun/hosts/layout.hpp"
#include "sglrun/job/agent.hpp"
#include "sglrun/job/placement_report.hpp"

#include <cstdio>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

namespace sgl::run {
namespace {

using Names = std::vector<std::string>;

std::string hosts_text(const HostList& hosts) {
  std::string text;
  for (const Host& host : hosts) text += fmt::format("{}={} ", host.name, host.slots);
  return text;
}

std::string words(const Names& given) {
  HostList hosts;
  Status status = add_host_words(given, &hosts);
  return status.ok() ? hosts_text(hosts) : "error: " + status.text();
}

TEST(Host, Words) {
  EXPECT_EQ(words({"n1:2", "n2", "n3:1"}), "n1=2 n2=1 n3=1 ");
  EXPECT_EQ(words({"n1", "n2:3", "n1:2"}), "n1=3 n2=3 ");
  EXPECT_EQ(words({"user@n1.site:4"}), "user@n1.site=4 ");
  EXPECT_EQ(words({"::1", "fd00::2", "[fd00::1]:2", "[fd00::3]"}),
            "::1=1 fd00::2=1 fd00::1=2 fd00::3=1 ");
  for (const char* bad : {"n1:0", "n1:x", "n1:", "n1:65537", "n1:2 ", ":2", "", "-oX=y", "a b",
                          "a;b", "$(x)", "[fd00::1", "[::1]2", "n1:-1"})
    EXPECT_EQ(words({bad}).substr(0, 14), "error: --host ") << bad;
  EXPECT_EQ(words({"n1:65536", "n1:1"}).substr(0, 6), "error:");
}

class HostfileTest : public testing::Test {
 protected:
  std::string read(const std::string& text) {
    std::ofstream(path_) << text;
    HostList hosts;
    Status status = read_hostfile(path_, &hosts);
    return status.ok() ? hosts_text(hosts) : "error: " + status.text();
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_ = testing::TempDir() + "/sglrun-hostfile." + std::to_string(getpid());
};

TEST_F(HostfileTest, Lines) {
  EXPECT_EQ(read("# all\nn1 slots=2\n\n  n2   # one\nn1\n"), "n1=3 n2=1 ");
  EXPECT_EQ(read("n1 slots=2"), "n1=2 ");
  EXPECT_NE(read("n1\nn2 cpus=2\n").find(":2: 'cpus=2' after the host's name"), std::string::npos);
  EXPECT_NE(read("n1 slots=\n").find(":1: '' slots on host n1"), std::string::npos);
  EXPECT_NE(read("# none\n").find("names no host"), std::string::npos);
  EXPECT_NE(read("-x\n").find("cannot be a host's name"), std::string::npos);
}

Names expand(std::string_view text) {
  Result<Names> hosts = expand_slurm_hosts(text);
  return hosts.ok() ? hosts.take() : Names{"error: " + hosts.status().text()};
}

TEST(Slurm, Hosts) {
  EXPECT_EQ(expand("n1"), (Names{"n1"}));
  EXPECT_EQ(expand("n[1-3,7],login"), (Names{"n1", "n2", "n3", "n7", "login"}));
  EXPECT_EQ(expand("n[08-11]"), (Names{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expand("n[098-101]x"), (Names{"n098x", "n099x", "n100x", "n101x"}));
  EXPECT_EQ(expand("r[1-2]n[3,5]"), (Names{"r1n3", "r1n5", "r2n3", "r2n5"}));
  EXPECT_EQ(expand("a,b[2]"), (Names{"a", "b2"}));
  for (const char* bad :
       {"", ",", "a,", "a,,b", "n[", "n[1", "n]1[", "n[1-]", "n[3-1]", "n[a]", "n[]", "n[1,]",
        "n[1-2-3]", "n[1-99999999]", "n[1-300]x[1-300]", "n[12345678901]"})
    EXPECT_EQ(expand(bad)[0].substr(0, 7), "error: ") << bad;
}

std::vector<int> counts(std::string_view text) {
  Result<std::vector<int>> read = expand_slurm_counts(text);
  return read.ok() ? read.take() : std::vector<int>{-1};
}

TEST(Slurm, Counts) {
  EXPECT_EQ(counts("4"), (std::vector<int>{4}));
  EXPECT_EQ(counts("2(x3),1"), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(counts("1,16(x2)"), (std::vector<int>{1, 16, 16}));
  for (const char* bad :
       {"", ",", "2,", "x", "2(x0)", "2(3)", "2(x3", "2(x)", "0", "-1", "2(x3)1", "2(x65536),2"})
    EXPECT_EQ(counts(bad), (std::vector<int>{-1})) << bad;
}

std::string allocation(const std::map<std::string, std::string>& variables) {
  Result<Allocation> found = find_allocation([&](const char* name) -> std::optional<std::string> {
    auto variable = variables.find(name);
    if (variable == variables.end()) return std::nullopt;
    return variable->second;
  });
  if (!found.ok()) return "error: " + found.status().text();
  return found.value().source + ": " + hosts_text(found.value().hosts);
}

TEST(Allocation, OfSlurm) {
  EXPECT_EQ(allocation({}), ": ");
  EXPECT_EQ(allocation({{"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "3,1"}}),
            "SLURM_JOB_NODELIST: n1=3 n2=1 ");
  EXPECT_EQ(allocation({{"SLURM_NODELIST", "n[1-3]"}, {"SLURM_NTASKS_PER_NODE", "2"}}),
            "SLURM_NODELIST: n1=2 n2=2 n3=2 ");
  EXPECT_EQ(allocation({{"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"}}),
            "SLURM_JOB_NODELIST: n1=8 n2=8 ");
  EXPECT_EQ(allocation({{"SLURM_JOB_NODELIST", "n[1-2]"}}), "SLURM_JOB_NODELIST: n1=1 n2=1 ");
  std::string uneven =
      allocation({{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "3,1"}});
  EXPECT_NE(uneven.find("2 counts for the 3 hosts"), std::string::npos) << uneven;
  EXPECT_NE(allocation({{"SLURM_JOB_NODELIST", "n["}}).find("error: SLURM_JOB_NODELIST"),
            std::string::npos);
}

TEST_F(HostfileTest, OfPbsAndLsf) {
  std::ofstream(path_) << "n1\nn1\nn2\n";
  EXPECT_EQ(allocation({{"PBS_NODEFILE", path_}}), "PBS_NODEFILE: n1=2 n2=1 ");
  EXPECT_EQ(allocation({{"LSB_DJOB_HOSTFILE", path_}}), "LSB_DJOB_HOSTFILE: n1=2 n2=1 ");
  EXPECT_EQ(allocation({{"LSB_HOSTS", "n1 n1 n2"}}), "LSB_HOSTS: n1=2 n2=1 ");
  EXPECT_NE(allocation({{"LSB_HOSTS", " "}}).find("error: LSB_HOSTS"), std::string::npos);
  EXPECT_EQ(allocation({{"LSB_MCPU_HOSTS", "a 4 b 2"}, {"LSB_DJOB_HOSTFILE", path_}}),
            "LSB_MCPU_HOSTS: a=4 b=2 ");
  EXPECT_NE(allocation({{"PBS_NODEFILE", "/nonexistent"}}).find("PBS_NODEFILE: the file"),
            std::string::npos);
  for (const char* bad : {"a", "a x", "a 4 b", "4 a"})
    EXPECT_NE(allocation({{"LSB_MCPU_HOSTS", bad}}).find("error: LSB_MCPU_HOSTS"),
              std::string::npos)
        << bad;
  std::ofstream(path_, std::ios::trunc) << "\n";
  EXPECT_NE(allocation({{"PBS_NODEFILE", path_}}).find("names no host"), std::string::npos);
}

std::string layout(const HostList& hosts, int ranks, HostOrder order, bool oversubscribe = false) {
  Result<Layout> laid = lay_out(hosts, ranks, order, oversubscribe);
  if (!laid.ok()) return laid.status().text();
  return fmt::format("{} {}", fmt::join(laid.value().hosts, ","),
                     fmt::join(laid.value().host_of_rank, ""));
}

TEST(Layout, FillsOrCycles) {
  HostList hosts = {{"a", 2}, {"b", 1}, {"c", 3}};
  EXPECT_EQ(layout(hosts, 6, HostOrder::fill), "a,b,c 001222");
  EXPECT_EQ(layout(hosts, 6, HostOrder::cycle), "a,b,c 012022");
  EXPECT_EQ(layout(hosts, 2, HostOrder::fill), "a 00");
  EXPECT_EQ(layout(hosts, 2, HostOrder::cycle), "a,b 01");
  EXPECT_EQ(layout(hosts, 4, HostOrder::cycle), "a,b,c 0120");
}

TEST(Layout, Oversubscribes) {
  HostList hosts = {{"a", 2}, {"b", 1}};
  EXPECT_EQ(layout(hosts, 4, HostOrder::fill),
            "-n 4: the 2 hosts have 3 slots; raise the slots, lower -n, or give --oversubscribe");
  EXPECT_EQ(layout({{"a", 2}}, 3, HostOrder::fill),
            "-n 3: host a has 2 slots; raise the slots, lower -n, or give --oversubscribe");
  EXPECT_EQ(layout(hosts, 7, HostOrder::fill, true), "a,b 0010010");
  EXPECT_EQ(layout(hosts, 7, HostOrder::cycle, true), "a,b 0100100");
}

TEST(Environment, MergesByName) {
  EXPECT_EQ(merge({"A=1", "B=2", "C=3"}, {"B=x", "D=4", "B=y"}),
            (Environment{"A=1", "C=3", "D=4", "B=y"}));
  EXPECT_EQ(value_in({"AB=1", "A=2=3"}, "A"), "2=3");
  EXPECT_EQ(value_in({"AB=1"}, "A"), std::nullopt);
  EXPECT_EQ(without_outer_launcher({"PMIX_RANK=1", "PMIX_MCA_x=1", "P=1"}),
            (Environment{"PMIX_MCA_x=1", "P=1"}));
  setenv("HOSTNAME", "here", 1);
  unsetenv("SSH_TTY");
  Environment arrived = on_this_host({"A=1", "HOSTNAME=there", "SSH_TTY=x"});
  EXPECT_EQ(value_in(arrived, "A"), "1");
  EXPECT_EQ(value_in(arrived, "HOSTNAME"), "here");
  EXPECT_EQ(value_in(arrived, "SSH_TTY"), std::nullopt);
}

TEST(Agent, QuotesForAShell) {
  EXPECT_EQ(shell_quoted("/opt/x-1.2/sglrun"), "/opt/x-1.2/sglrun");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's $(x)"), "'it'\\''s $(x)'");
}

TEST(PlacementReport, TextAndJson) {
  std::vector<RankPlace> places = {{"n1", {0, 1}}, {"node12", {}}};
  EXPECT_EQ(report_places(places, false),
            "  rank  host    processors\n     0  n1      0-1\n     1  node12  any\n");
  std::string json = report_places(places, true);
  EXPECT_NE(json.find("\"host\": \"node12\""), std::string::npos) << json;
}

}  // namespace
}  // namespace sgl::run
