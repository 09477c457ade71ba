// sglcoll-tune: measures this machine and writes what the library and sglcoll-plan take from it.
#include "base/clock.hpp"
#include "base/settings.hpp"
#include "sgl/calibration.hpp"
#include "support/command_line.hpp"
#include "tune/case.hpp"
#include "tune/tuning_run.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace sgl::tune {
namespace {

constexpr int kOk = 0, kFailed = 1;

struct Options {
  std::string output;
  bool quick = false, json = false;
  std::string cases;  // of a rank that this program started
  double budget_ms = 10;
};

int fail(const std::string& text, int status = kFailed) {
  fmt::print(stderr, "sglcoll-tune: {}\n", text);
  return status;
}

void add_options(CLI::App* app, Options* options) {
  app->add_option("-o,--output", options->output,
                  "Write this file (default: where the library looks for it, " +
                      (default_tuning_path().empty() ? std::string("but HOME is not set")
                                                     : default_tuning_path()) +
                      ")");
  app->add_flag("--quick", options->quick, "A third of the time, less exact");
  app->add_flag("--json", options->json, "Print the file's text instead of writing it");
  app->add_option("--cases", options->cases)->group("");
  app->add_option("--budget-ms", options->budget_ms)->group("");
  app->footer(
      "Started alone, not by sglrun: it starts the ranks that it needs. Nothing else should run\n"
      "on the machine meanwhile. Status: 0, 1 when a measurement failed, 2 for a wrong option.");
}

// The file is complete before it has its name, for jobs that start meanwhile.
std::string partial_of(const std::string& path) {
  return path + ".new";
}

// Whether write() will be able to, told before the minute of measuring.
Status prepare(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure))
    return error(SGLCOLL_ERR_ARG, "--output {}: it is a directory", path);
  failure.clear();
  if (!folder.empty()) std::filesystem::create_directories(folder, failure);
  if (failure)
    return error(SGLCOLL_ERR_SYSTEM, "cannot make {}: {}", folder.string(), failure.message());
  const std::string partial = partial_of(path);
  if (!std::ofstream(partial))
    return error(SGLCOLL_ERR_SYSTEM, "cannot write {}: {}", partial, strerror(errno));
  std::filesystem::remove(partial, failure);
  return {};
}

Status write(const std::string& path, const std::string& text) {
  std::error_code failure;
  const std::string partial = partial_of(path);
  std::ofstream file(partial);
  file << text;
  file.close();
  if (!file) return error(SGLCOLL_ERR_SYSTEM, "cannot write {}: {}", partial, strerror(errno));
  std::filesystem::rename(partial, path, failure);
  if (failure) return error(SGLCOLL_ERR_SYSTEM, "cannot write {}: {}", path, failure.message());
  return {};
}

void print_summary(const NodeModel& model, const std::string& path, double seconds) {
  auto us = [](double ns) { return ns / 1e3; };
  fmt::print("{}\n", describe(this_machine()));
  fmt::print("{:<10}{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "us", "", "8 B", "4 KiB", "64 KiB",
             "1 MiB", "16 MiB");
  for (size_t way = 0; way < kNodeWays; ++way)
    for (size_t traffic = 0; traffic < kNodeTraffics; ++traffic) {
      fmt::print("{:<10}{:<18}", kNodeWayNames[way], kNodeTrafficNames[traffic]);
      for (size_t column : {0, 2, 5, 7, 9})
        fmt::print("{:>10.2f}", us(model.transfers[way][traffic].point(TimeGrid::kWhole, column)));
      fmt::print("\n");
    }
  const NodeChoices& choices = model.choices;
  auto bytes = [](int64_t value) {
    return value >= int64_t{1} << 60 ? std::string("never") : fmt::format("{} bytes", value);
  };
  fmt::print("sent before it is asked for up to {}\n", bytes(choices.eager_bytes));
  fmt::print("read from {}, in runs of {}\n", bytes(choices.read_bytes),
             bytes(choices.read_run_bytes));
  fmt::print("past the cache from {}\n",
             choices.stream_bytes == 0 ? "its second level" : bytes(choices.stream_bytes));
  fmt::print(
      "allreduce in one step up to {}, and of two ranks from {}; bcast and reduce shared by all "
      "from {}, or {} where "
      "ranks share processors\n",
      bytes(choices.whole_bytes), bytes(choices.whole_from_bytes), bytes(choices.cooperative_bytes),
      bytes(choices.shared_cooperative_bytes));
  fmt::print("{:.0f} s; written to {}\n", seconds, path);
}

int tune(const Options& options) {
  const std::string path = options.output.empty() ? default_tuning_path() : options.output;
  if (path.empty() && !options.json)
    return fail("neither XDG_CONFIG_HOME nor HOME is set: give --output", kBadUse);
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  RunOptions run;
  run.quick = options.quick;
  run.program = program;
  run.launcher = program.parent_path() / "sglrun";
  run.tell = [](const std::string& text) { fmt::print(stderr, "sglcoll-tune: {}\n", text); };
  if (!std::filesystem::exists(run.launcher, ignored))
    return fail(fmt::format("{} is missing: it starts the ranks", run.launcher));
  const bool writes = !options.json || !options.output.empty();
  if (writes)
    if (Status prepared = prepare(path); !prepared.ok()) return fail(prepared.text(), kBadUse);
  const int64_t start = now_ns();
  Result<NodeModel> model = measure_node(run);
  if (!model.ok()) return fail(model.status().text());
  const std::string text = calibration_text(this_machine(), model.value());
  if (options.json) fmt::print("{}", text);
  if (writes)
    if (Status written = write(path, text); !written.ok()) return fail(written.text());
  if (!options.json)
    print_summary(model.value(), path, static_cast<double>(now_ns() - start) / 1e9);
  return kOk;
}

}  // namespace
}  // namespace sgl::tune

int main(int argc, char** argv) {
  CLI::App app(
      "Measures this machine, in less than a minute, for the library's choices and\n"
      "sglcoll-plan's predictions.",
      "sglcoll-tune");
  sgl::tune::Options options;
  sgl::tune::add_options(&app, &options);
  if (auto status = sgl::parse_command_line(&app, "sglcoll-tune", argc, argv)) return *status;
  if (options.cases.empty()) {
    if (std::getenv("PMIX_RANK"))
      return sgl::tune::fail("start it alone: it starts the ranks that it needs", sgl::kBadUse);
    return sgl::status_with_output("sglcoll-tune", sgl::tune::tune(options));
  }
  const auto cases = sgl::tune::cases_of(options.cases);
  if (!cases)
    return sgl::tune::fail("--cases " + options.cases + ": not of its form", sgl::kBadUse);
  return sgl::tune::measure_cases(*cases, options.budget_ms);
}
