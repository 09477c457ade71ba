// sglperf-floor: the time that memory alone asks for a collective.
//
// The bytes that the ranks must move, laid out as they are, by the best of several ways that
// their kind of memory leaves, one process a core, measured here and now. Also the cost of
// handing cache lines to another core, of which small operations are made.
#include "floor/lines.hpp"
#include "floor/race.hpp"
#include "floor/ways.hpp"
#include "sglperf/rows.hpp"
#include "sglperf/size_range.hpp"
#include "sglperf/traffic.hpp"
#include "support/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace {

// Below, the slots' flags would cost more than the copies: what must be handed over is counted
// in cache lines instead, and the bytes are copied without.
constexpr int64_t kLeastStaged = 4096;

struct Options {
  std::string collective, bytes = "8:1M", layout = "contig", memory = "malloc";
  int ranks = 2;
  bool json = false, explain = false;
};

// All that has to be made before the processes start.
struct Setting {
  std::vector<perf::Shape> shapes;
  std::byte *seen = nullptr, *own = nullptr;  // buffers of all ranks
  std::byte* lines = nullptr;
  std::shared_ptr<perf::Slots> slots;
};

bool is_private(const Options& options, const perf::Shape& shape) {
  return options.memory == "malloc" && options.collective != "barrier" &&
         shape.payload * 4 >= kLeastStaged;
}

Setting prepare(const Options& options, int workers) {
  Setting setting;
  std::vector<int64_t> sizes = perf::parse_size_range(options.bytes);
  if (perf::has_fixed_size(options.layout) || options.collective == "barrier") sizes.resize(1);
  int64_t most = 0;
  for (int64_t size : sizes) {
    setting.shapes.push_back(perf::parse_layout(options.layout, size));
    const perf::Shape& shape = setting.shapes.back();
    most = std::max(most, perf::Field::bytes_of(options.collective, options.ranks, shape,
                                                perf::most_calls(shape, options.ranks)));
  }
  const int64_t there = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (most > there / 2)
    throw std::invalid_argument("--bytes " + options.bytes + ": the buffers of " +
                                std::to_string(options.ranks) + " ranks take " +
                                std::to_string(most >> 20) +
                                " MiB, more than half of this "
                                "machine's memory; take fewer ranks or bytes");
  setting.seen = perf::reserve_shared(most);
  setting.own = perf::reserve_private(most);
  setting.lines = perf::line_memory();
  setting.slots = perf::slot_memory(workers);
  return setting;
}

nlohmann::json floor_of(perf::Worker& worker, const Options& options, const Setting& setting,
                        const perf::Shape& shape, const perf::LineCosts& costs) {
  const int64_t bytes = options.collective == "barrier" ? 0 : shape.payload * 4;
  const perf::LinesNeeded needed = perf::lines_needed(options.collective, options.ranks);
  const bool own = is_private(options, shape);
  nlohmann::json row{{"bytes", bytes},
                     {"copied_bytes", perf::copied_blocks(options.collective, options.ranks) *
                                          static_cast<double>(bytes)},
                     {"run_bytes", bytes / perf::runs_of(shape).count},
                     {"transfers", needed.transfers()},
                     {"latency_us", needed.us(costs)}};
  perf::Field field(own ? setting.own : setting.seen, options.collective, options.ranks, shape,
                    perf::most_calls(shape, options.ranks));
  perf::Scene scene{worker, field, perf::flow_of(options.collective, options.ranks),
                    perf::runs_of(shape)};
  std::vector<perf::Way> ways;
  if (own) {
    ways = perf::kernel_ways(scene);
    for (perf::Way& way : perf::staged_ways(scene, setting.slots)) ways.push_back(std::move(way));
  } else {
    ways = perf::direct_ways(scene);
  }
  const perf::Best best = perf::race(worker, field, ways);
  const perf::Way& way = ways[best.way];
  row["copy_us"] = best.us;
  row["median_us"] = bytes < kLeastStaged ? std::max(best.us, needed.us(costs)) : best.us;
  row["way"] = way.name + ", " + perf::name_of(way.kind);
  row["chunk"] = way.chunk;
  row["verified"] = best.verified;
  for (size_t i = 0; i < ways.size() && options.explain; ++i)
    row["ways"].push_back({{"way", ways[i].name + ", " + perf::name_of(ways[i].kind)},
                           {"chunk", ways[i].chunk},
                           {"us", best.first_us[i]}});
  return row;
}

void print(const Options& options, const nlohmann::json& document) {
  if (options.json) {
    std::printf("%s\n", document.dump(2).c_str());
    return;
  }
  std::printf("# floor of %s, %d ranks, %d processes, layout %s, memory %s\n",
              options.collective.c_str(), options.ranks, document["processes"].get<int>(),
              options.layout.c_str(), options.memory.c_str());
  std::printf(
      "# a cache line takes %.0f ns to another core, one each way %.0f ns, one of a row %.0f ns\n",
      document["line_transfer_ns"].get<double>(), document["line_exchanged_ns"].get<double>(),
      document["line_streamed_ns"].get<double>());
  std::printf("%12s %14s %12s %10s %10s %10s  %s\n", "bytes", "copied bytes", "median us",
              "copy us", "lines us", "chunk", "way");
  for (const auto& row : document["rows"]) {
    std::printf("%12lld %14.0f %12.3f %10.3f %10.3f %10lld  %s%s\n", row["bytes"].get<long long>(),
                row["copied_bytes"].get<double>(), row["median_us"].get<double>(),
                row["copy_us"].get<double>(), row["latency_us"].get<double>(),
                row["chunk"].get<long long>(), row["way"].get<std::string>().c_str(),
                row["verified"].get<bool>() ? "" : " WRONG");
    for (const auto& way : row.value("ways", nlohmann::json::array()))
      std::printf("#%26s %12.3f %21s %10lld  %s\n", "", way["us"].get<double>(), "",
                  way["chunk"].get<long long>(), way["way"].get<std::string>().c_str());
  }
}

void run(perf::Worker& worker, const Options& options, const Setting& setting) {
  const perf::LineCosts costs = perf::measure_lines(worker, setting.lines);
  nlohmann::json document{{"collective", options.collective},
                          {"ranks", options.ranks},
                          {"layout", options.layout},
                          {"memory", options.memory},
                          {"processes", worker.count()},
                          {"line_transfer_ns", costs.one_way},
                          {"line_exchanged_ns", costs.exchanged},
                          {"line_streamed_ns", costs.streamed},
                          {"rows", nlohmann::json::array()}};
  bool right = true;
  for (const perf::Shape& shape : setting.shapes) {
    document["rows"].push_back(floor_of(worker, options, setting, shape, costs));
    right &= document["rows"].back()["verified"].get<bool>();
  }
  if (worker.index() == 0) print(options, document);
  worker.barrier();  // printed before a process ends with its status
  if (!right) throw std::runtime_error("some results were wrong");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Times the best ways to move the bytes of a collective, on the cores of this process.\n"
      "Start it alone, not under a launcher.");
  Options options;
  app.add_option("collective", options.collective, "whose bytes")
      ->required()
      ->check(CLI::IsMember(perf::collective_names()));
  app.add_option("--ranks", options.ranks, "ranks of the collective (default 2)")
      ->check(CLI::Range(2, 256));
  app.add_option("--bytes", options.bytes,
                 "FROM:TO[:FACTOR] payload bytes of a rank's block (default 8:1M)");
  app.add_option("--layout", options.layout, "of a block, in sglperf's grammar (default contig)");
  app.add_option("--memory", options.memory,
                 "malloc: each rank's own, or alloc: seen by all (default malloc)")
      ->check(CLI::IsMember({"malloc", "alloc"}));
  app.add_flag("--explain", options.explain, "tell the time of each way, of a few samples");
  app.add_flag("--json", options.json, "print JSON");
  if (auto status = sgl::parse_command_line(&app, "sglperf-floor", argc, argv)) return *status;
  try {
    std::vector<int> cpus = perf::allowed_cpus();
    if (cpus.empty()) throw std::runtime_error("this process may run on no processor");
    cpus.resize(std::min(cpus.size(), static_cast<size_t>(options.ranks)));
    const Setting setting = prepare(options, static_cast<int>(cpus.size()));
    return perf::run_workers(cpus, [&](perf::Worker& worker) { run(worker, options, setting); });
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sglperf-floor: %s\n", sgl::reason_of(failure));
    return 2;
  }
}
