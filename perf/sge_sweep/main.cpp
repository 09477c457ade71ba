// sge_sweep: when does a list of segments beat a copy, on this RDMA device?
#include "perf/sge_sweep/fit.hpp"
#include "perf/sge_sweep/report.hpp"
#include "support/command_line.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

using namespace sge_sweep;

constexpr uint32_t kScattered = 1 << 20;
constexpr uint32_t kListedSges = 8;

struct Options {
  std::string device, server, host, port = "18515", json, calibration, plots, from;
  bool serve = false, quick = false, no_sweep = false, no_scenarios = false;
  int rounds = 5;
  uint32_t blocks = kUsualBlocks;
};

void add_options(CLI::App& app, Options* options) {
  app.add_option("--device", options->device,
                 "device to use, e.g. mlx5_0 (the first with an active port)");
  app.add_flag("--server", options->serve, "be the passive side for one --connect");
  app.add_option("--connect", options->host,
                 "measure towards this host, where --server runs (within this process)");
  app.add_option("--port", options->port, "port of --server and --connect")->capture_default_str();
  app.add_flag("--quick", options->quick,
               "few, small cases: checks that the data moves, times mean nothing");
  app.add_option("--rounds", options->rounds, "times that each case runs, the fastest counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option(
         "--blocks", options->blocks,
         "4 KiB blocks of the storage scenario's working set; each takes 17 KB of locked memory")
      ->capture_default_str()
      ->check(CLI::Range(16U, kMostBlocks));
  app.add_flag("--no-sweep", options->no_sweep, "only the two scenarios");
  app.add_flag("--no-scenarios", options->no_scenarios, "only the sweep");
  app.add_option("--json", options->json, "write the results to this file");
  app.add_option("--calibration", options->calibration,
                 "write a cost model for this device alone to this file (needs the sweep)");
  app.add_option("--plot", options->plots, "write SVG plots into this folder (needs gnuplot)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--from", options->from, "measure nothing: report on a file that --json wrote")
      ->check(CLI::ExistingFile);
}

Result<std::unique_ptr<Link>> open_link(const Options& options) {
  return options.host.empty() ? open_loopback(options.device, options.blocks)
                              : connect_to(options.host, options.port, options.blocks);
}

Status measure_pieces(Link& link, const Options& options, uint32_t most_sges, Results* results) {
  for (uint32_t pieces : {10U, 16U, 32U, 64U, 128U, 256U}) {
    const uint32_t bytes = kScattered / pieces / 64 * 64;
    const Case copied{Shape::gather, Way::packed, pieces, bytes, pieces};
    const Case listed{Shape::gather, Way::sgl, std::min(kListedSges, most_sges), bytes, pieces};
    Result<Row> copy = measure(link, copied, options.rounds),
                list = measure(link, listed, options.rounds);
    if (!copy.ok()) return std::move(copy.status());
    if (!list.ok()) return std::move(list.status());
    results->pieces.push_back({pieces, copy.take(), list.take()});
  }
  return {};
}

Result<Results> measure_all(const Options& options) {
  Result<std::unique_ptr<Link>> opened = open_link(options);
  if (!opened.ok()) return std::move(opened.status());
  Link& link = *opened.value();
  Result<sgl::DeviceStamp> stamp = stamp_of(link.context());
  if (!stamp.ok()) return std::move(stamp.status());
  Result<uint32_t> sges = usable_sges(link.context());
  if (!sges.ok()) return std::move(sges.status());
  Results results;
  results.device = stamp.take();
  results.over = options.host.empty() ? "two queue pairs of one process" : "to " + options.host;
  results.quick = options.quick;
  if (!options.no_sweep) {
    Result<std::vector<Row>> rows =
        sweep(link, {.quick = options.quick, .rounds = options.rounds, .most_sges = sges.value()});
    if (!rows.ok()) return std::move(rows.status());
    results.rows = rows.take();
    Result<sgl::CostModel> model = fit_model(link, results.rows);
    if (!model.ok()) return std::move(model.status());
    results.model = model.take();
  }
  if (!options.no_scenarios) {
    SGL_TRY(measure_pieces(link, options, sges.value(), &results));
    Result<std::vector<StorageRow>> storage = measure_storage(
        link, options.blocks, options.quick ? 500 : 4000, options.quick ? 1 : options.rounds);
    if (!storage.ok()) return std::move(storage.status());
    results.storage = storage.take();
  }
  return results;
}

Result<Results> read_results(const std::string& path) {
  std::ifstream file(path);
  return from_json(nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false));
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? Status() : sgl::error(SGLCOLL_ERR_SYSTEM, "{} cannot be written", path);
}

Status run(const Options& options) {
  if (options.serve) return serve(options.port, options.blocks);
  Result<Results> measured =
      options.from.empty() ? measure_all(options) : read_results(options.from);
  if (!measured.ok()) return std::move(measured.status());
  const Results& results = measured.value();
  std::cout << report(results) << std::flush;
  if (!options.json.empty()) SGL_TRY(write_file(options.json, to_json(results).dump(1) + "\n"));
  if (!options.calibration.empty()) {
    if (!results.model || results.quick) {
      return sgl::error(SGLCOLL_ERR_ARG,
                        "--calibration needs a whole sweep: no --quick, --no-sweep or --from");
    }
    SGL_TRY(write_file(options.calibration, sgl::calibration_text(results.device, *results.model)));
  }
  return options.plots.empty() ? Status() : plot(results, options.plots);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures, on one RDMA device, lists of segments (SGEs) against copying them together:\n"
      "throughput over SGEs a work request and bytes a segment, for writes, reads and sends;\n"
      "1 MB in pieces; a storage-style mix. All data is checked.");
  Options options;
  add_options(app, &options);
  if (auto ending = sgl::parse_command_line(&app, "sge_sweep", argc, argv)) return *ending;
  const Status status = run(options);
  if (!status.ok()) std::fprintf(stderr, "sge_sweep: %s\n", status.text().c_str());
  return status.ok() ? 0 : 1;
}
