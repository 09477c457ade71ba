// sglcoll-info as a user runs it: options, JSON, drawing, settings, checks, bad input.
#include "topology/run_program.hpp"

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl::test {
namespace {

using Json = nlohmann::json;
using Environment = std::map<std::string, std::string>;

constexpr const char* kMachine =
    "package:2 [numa(memory=64GiB)] l3:1(size=32MiB) l2:4 core:1 pu:2(indexes=2*8:1*2)";

Outcome info(std::vector<std::string> options, const Environment& environment = {},
             const std::function<void()>& before = {}) {
  options.insert(options.begin(), SGLCOLL_INFO);
  return run_program(options, environment, before);
}

Json json_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  Json json = Json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << outcome.out;
  return json;
}

Json entry(const Json& list, const std::string& name) {
  for (const Json& each : list)
    if (each.at("name") == name) return each;
  ADD_FAILURE() << "no " << name << " in " << list;
  return {};
}

// Reads as much of XML as an SVG needs: a prolog, then one element whose tags nest, whose
// attributes are quoted and whose text has no bare & or <. What is wrong, or "".
class XmlChecker {
 public:
  explicit XmlChecker(std::string text) : text_(std::move(text)) {}

  std::string check() {
    if (!text_.starts_with("<?xml")) return "no prolog";
    at_ = text_.find("?>") + 2;
    skip_space();
    do {
      if (text_.compare(at_, 2, "</") == 0) {
        if (!read_end()) return fault("wrong end tag");
      } else if (text_[at_] == '<') {
        if (!read_start()) return fault("wrong start tag");
      } else if (!read_text('<')) {
        return fault("wrong text");
      }
    } while (!open_.empty() && at_ < text_.size());
    skip_space();
    if (!open_.empty()) return "unclosed " + open_.back();
    return at_ == text_.size() ? "" : fault("text after the end");
  }

 private:
  std::string fault(const std::string& what) const {
    return what + " at \"" + text_.substr(at_, 60) + "\"";
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string read_name() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-'))
      ++at_;
    return text_.substr(start, at_ - start);
  }
  // Up to, and not including, `end`.
  bool read_text(char end) {
    for (; at_ < text_.size() && text_[at_] != end; ++at_) {
      if (text_[at_] == '<') return false;
      if (text_[at_] != '&') continue;
      const std::string entity = text_.substr(at_, text_.find(';', at_) + 1 - at_);
      if (!std::set<std::string>{"&lt;", "&gt;", "&amp;", "&quot;"}.contains(entity)) return false;
    }
    return at_ < text_.size();
  }
  bool read_start() {
    ++at_;
    const std::string name = read_name();
    std::set<std::string> attributes;
    for (skip_space(); !name.empty() && at_ < text_.size(); skip_space()) {
      if (text_[at_] == '>') return open_.push_back(name), ++at_, true;
      if (text_.compare(at_, 2, "/>") == 0) return at_ += 2, true;
      if (!attributes.insert(read_name()).second || text_.compare(at_, 2, "=\"") != 0) return false;
      at_ += 2;
      if (!read_text('"')) return false;
      ++at_;
    }
    return false;
  }
  bool read_end() {
    at_ += 2;
    if (open_.empty() || read_name() != open_.back() || text_[at_] != '>') return false;
    open_.pop_back();
    ++at_;
    return true;
  }

  std::string text_;
  size_t at_ = 0;
  std::vector<std::string> open_;
};

TEST(XmlChecker, TellsGoodFromBad) {
  const std::string prolog = "<?xml version=\"1.0\"?>\n";
  EXPECT_EQ(XmlChecker(prolog + "<a b=\"1\"><c/>x&amp;y<d></d></a>\n").check(), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=1></a>", "<a b=\"1\" b=\"2\"></a>", "<a>&</a>",
                          "<a></a>x", "<a b=\"<\"></a>"})
    EXPECT_NE(XmlChecker(prolog + bad).check(), "") << bad;
}

TEST(Info, PrintsMachinePlanAndPaths) {
  const Outcome outcome = info({"--topology", kMachine, "--ranks", "4", "--bind-to", "core"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part :
       {"sglcoll 0.", "2 packages, 2 NUMA nodes, 2 L3s", "PUs 0-3,8-11", "Placement of 4 ranks",
        "Ring: 0 1 2 3", "Data paths", "map", "read", "push", "PMIx"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " is not in\n" << outcome.out;
}

TEST(Info, PrintsThisMachine) {
  const Outcome outcome = info({});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("this machine"), std::string::npos) << outcome.out;
}

TEST(Info, PrintsJson) {
  const Json json = json_of(info(
      {"--json", "--topology", kMachine, "-n", "5", "--map-by", "package", "--bind-to", "core"}));
  EXPECT_EQ(json["machine"]["levels"][6]["domains"].size(), 16u);
  EXPECT_EQ(json["machine"]["levels"][1]["domains"][1]["pus"], Json({4, 12, 5, 13, 6, 14, 7, 15}));
  EXPECT_EQ(json["plan"]["ring"], Json({0, 2, 4, 1, 3}));
  EXPECT_EQ(json["plan"]["ring_edges"]["machine"], 2);
  EXPECT_EQ(json["plan"]["ranks"][3]["bind_set"], Json({5, 13}));
  EXPECT_EQ(json["plan"]["ranks"][0]["parent"], -1);
  EXPECT_EQ(json["plan"]["ranks"][0]["children"][0], 1);
  EXPECT_EQ(json["data_paths"].size(), 3u);
}

TEST(Info, TakesTheSettingsTopology) {
  const Json json = json_of(info({"--json"}, {{"SGLCOLL_TOPOLOGY", "package:3 core:2 pu:1"}}));
  EXPECT_EQ(json["plan"]["ranks"].size(), 6u);
}

TEST(Info, DrawsWellFormedSvg) {
  char folder[] = "sglcoll-info-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/machine.svg";
  // Its name is drawn and must be escaped.
  const std::string strange = std::string(folder) + "/a <&\".xml";
  std::filesystem::copy_file(SGLCOLL_TEST_FIXTURES "/two_sockets_restricted.xml", strange);
  for (const char* machine :
       {kMachine, "pu:1", strange.c_str(), SGLCOLL_TEST_FIXTURES "/snc2_devices.xml",
        "package:2 group:4 [numa] l3:2 l2:4 core:1 pu:2"})
    for (const char* ranks : {"1", "7", "150"}) {
      const Outcome outcome = info({"--topology", machine, "--ranks", ranks, "--svg", file});
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      std::ifstream in(file);
      const std::string svg{std::istreambuf_iterator<char>(in), {}};
      EXPECT_EQ(XmlChecker(svg).check(), "") << machine;
      EXPECT_EQ(svg.find("nan"), std::string::npos);
      const std::string last_rank = "rank " + std::to_string(std::stoi(ranks) - 1) + " on PU";
      EXPECT_NE(svg.find(last_rank), std::string::npos) << machine;
    }
  std::filesystem::remove_all(folder);
}

TEST(Info, ListsSettingsWithOrigin) {
  const Environment environment = {{"SGLCOLL_SPIN_US", "7"}};
  const Json settings = json_of(info({"--settings", "--json"}, environment))["settings"];
  const Json spin = entry(settings, "SGLCOLL_SPIN_US");
  EXPECT_EQ(spin["value"], "7");
  EXPECT_EQ(spin["default"], "auto");
  EXPECT_EQ(spin["origin"], "environment");
  EXPECT_EQ(entry(settings, "SGLCOLL_CHECK")["origin"], "default");
  const Outcome text = info({"--settings"}, environment);
  EXPECT_NE(text.out.find("SGLCOLL_SPIN_US=\"7\" (environment, default \"auto\")"),
            std::string::npos)
      << text.out;
}

TEST(Info, WarnsOfUnknownVariables) {
  const Outcome outcome = info({"--settings"}, {{"SGLCOLL_SPIN_MS", "7"}});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("SGLCOLL_SPIN_MS"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("nearest is SGLCOLL_SPIN_US"), std::string::npos) << outcome.err;
}

void deny_process_vm_readv() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {std::size(filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(99);
}

TEST(Check, NamesEachProbe) {
  const Outcome outcome = info({"--check", "--json"});
  const Json json = Json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << outcome.out;
  EXPECT_EQ(outcome.status, json["check_passed"].get<bool>() ? 0 : 1);
  for (const char* name :
       {"memfd", "cross-memory access", "pidfd", "huge pages", "memlock", "PMIx"}) {
    const Json probe = entry(json["probes"], name);
    EXPECT_TRUE(probe["state"] != "fails" || probe["remedy"] != "") << name;
  }
}

TEST(Check, RefusedReadsComeWithARemedy) {
  const Outcome outcome = info({"--check"}, {}, deny_process_vm_readv);
  EXPECT_NE(outcome.out.find("Operation not permitted"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("remedy: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.status, 99) << "the system takes no seccomp filter";
  const Json json = json_of(info({"--json"}, {}, deny_process_vm_readv));
  EXPECT_EQ(entry(json["data_paths"], "read")["used"], false);
  EXPECT_EQ(entry(json["data_paths"], "push")["used"], true);
}

TEST(Check, FailsWhenTheForcedPathIsRefused) {
  const Outcome outcome = info({"--check"}, {{"SGLCOLL_SHM_PATH", "cma"}}, deny_process_vm_readv);
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("Check failed"), std::string::npos) << outcome.out;
}

TEST(Check, FollowsTheForcedPath) {
  const Json json = json_of(info({"--json"}, {{"SGLCOLL_SHM_PATH", "staged"}}));
  EXPECT_EQ(entry(json["data_paths"], "map")["used"], false);
  EXPECT_NE(
      entry(json["data_paths"], "map")["reason"].get<std::string>().find("SGLCOLL_SHM_PATH=staged"),
      std::string::npos);
}

TEST(BadUse, IsRefusedWithStatusTwo) {
  struct Case {
    std::vector<std::string> options;
    Environment environment;
    const char* part;
  };
  const Case cases[] = {
      {{"--nonsense"}, {}, "--nonsense"},
      {{"--ranks"}, {}, "--ranks"},
      {{"--ranks", "0"}, {}, "--ranks"},
      {{"--ranks", "-3"}, {}, "--ranks"},
      {{"--ranks", "many"}, {}, "many"},
      {{"--map-by", "chair"}, {}, "chair"},
      {{"--bind-to", "chair"}, {}, "chair"},
      {{"stray"}, {}, "stray"},
      {{"--topology", "missing.xml"}, {}, "missing.xml"},
      {{"--topology", "package:x"}, {}, "package:x"},
      {{"--topology", "pu:2", "--ranks", "3", "--bind-to", "core"}, {}, "use 2 ranks or fewer"},
      {{"--topology", "pu:2", "--map-by", "l3"}, {}, "l3"},
      {{"--svg", "/nowhere/file.svg"}, {}, "/nowhere/file.svg"},
      {{}, {{"SGLCOLL_TOPOLOGY", "package:x"}}, "SGLCOLL_TOPOLOGY"},
      {{}, {{"SGLCOLL_SPIN_US", "soon"}}, "SGLCOLL_SPIN_US"},
      {{}, {{"SGLCOLL_ALGORITHM", "allgather=guess"}}, "guess"},
  };
  for (const Case& each : cases) {
    const Outcome outcome = info(each.options, each.environment);
    EXPECT_EQ(outcome.status, 2) << each.part;
    EXPECT_EQ(outcome.out, "") << each.part;
    EXPECT_NE(outcome.err.find("sglcoll-info: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(each.part), std::string::npos) << outcome.err;
  }
}

TEST(Help, NamesEveryOption) {
  const Outcome outcome = info({"--help"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* option : {"--ranks", "--map-by", "--bind-to", "--topology", "--svg",
                             "--settings", "--check", "--json", "--version"})
    EXPECT_NE(outcome.out.find(option), std::string::npos) << option;
  EXPECT_EQ(info({"--version"}).status, 0);
}

}  // namespace
}  // namespace sgl::test
