// sglperf: times one collective over a range of sizes and checks its results.
#include <cstdio>
#include <cstring>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sglperf/measure.hpp"

namespace {

int64_t parse_bytes(const std::string& text) {
  size_t used = 0;
  int64_t value = std::stoll(text, &used);
  std::string unit = text.substr(used);
  if (unit == "K" || unit == "k") return value << 10;
  if (unit == "M" || unit == "m") return value << 20;
  if (unit == "G" || unit == "g") return value << 30;
  if (!unit.empty() || value < 0) throw std::invalid_argument(text);
  return value;
}

// "4K" or "8:1M": powers of two from the first to the second.
std::vector<int64_t> parse_range(const std::string& text) {
  try {
    size_t colon = text.find(':');
    int64_t from = parse_bytes(text.substr(0, colon));
    int64_t to = colon == std::string::npos ? from : parse_bytes(text.substr(colon + 1));
    if (from < 4 || to < from) throw std::invalid_argument(text);
    std::vector<int64_t> sizes;
    for (int64_t bytes = from; bytes <= to; bytes *= 2) sizes.push_back(bytes);
    return sizes;
  } catch (const std::exception&) {
    throw std::invalid_argument("--bytes " + text + ": it takes FROM or FROM:TO, such as 8:1M, from 4 bytes on");
  }
}

void print_header(const perf::Backend& backend, const perf::MeasureOptions& options) {
  std::printf("# %s, %d ranks, %s, layout %s, %s memory%s\n", backend.describe().c_str(), backend.size(),
              options.collective.c_str(), options.layout.c_str(),
              options.memory == perf::Memory::shared ? "shared" : "private",
              options.mode == perf::Mode::packed ? ", packed by hand" : "");
  std::printf("%12s %12s %12s %12s %12s %10s  %s\n", "bytes", "median us", "p99 us", "min us", "max us", "bus GB/s", "result");
}

void print_row(const perf::Measurement& m) {
  std::printf("%12lld %12.2f %12.2f %12.2f %12.2f %10.2f  %s\n", static_cast<long long>(m.bytes), m.median_us, m.p99_us,
              m.min_us, m.max_us, m.bus_gb_s, m.verified ? "right" : "WRONG");
  std::fflush(stdout);
}

nlohmann::json to_json(const perf::Measurement& m) {
  return {{"bytes", m.bytes},   {"median_us", m.median_us}, {"p99_us", m.p99_us},     {"min_us", m.min_us},
          {"max_us", m.max_us}, {"bus_gb_s", m.bus_gb_s},   {"verified", m.verified}};
}

int run(const perf::MeasureOptions& options, const std::vector<int64_t>& sizes, bool json) {
  std::unique_ptr<perf::Backend> backend = perf::make_backend();
  bool print = backend->rank() == 0;
  if (print && !json) print_header(*backend, options);
  nlohmann::json rows = nlohmann::json::array();
  bool all_right = true;
  for (int64_t bytes : sizes) {
    perf::Measurement m = perf::measure(*backend, options, bytes);
    all_right &= m.verified;
    rows.push_back(to_json(m));
    if (print && !json) print_row(m);
  }
  if (print && json) {
    nlohmann::json document{{"library", backend->describe()}, {"ranks", backend->size()}, {"collective", options.collective},
                            {"layout", options.layout},       {"rows", rows}};
    std::printf("%s\n", document.dump(2).c_str());
  }
  return all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times a collective on every rank of the job; start it with sglrun (or mpirun for the MPI builds).");
  perf::MeasureOptions options;
  std::string bytes = "8:1M", memory = "private";
  bool json = false, pack = false, explain = false;
  app.add_option("collective", options.collective, "What to run; memcpy is the floor: a plain copy of the bytes of an allgather")
      ->required()
      ->check(CLI::IsMember(perf::collective_names()));
  app.add_option("--layout", options.layout,
                 "contig | vector:BLOCK:STRIDE | indexed:SEED:MIN:MAX:GAP | subarray:DIMS:SUBDIMS:STARTS:ELEM | tensors:FILE");
  app.add_option("--bytes", bytes, "FROM:TO payload bytes a rank, doubling (default 8:1M)");
  app.add_option("--memory", memory, "private (malloc) or shared (sglcoll_mem_alloc)")->check(CLI::IsMember({"private", "shared"}));
  app.add_option("--samples", options.samples, "samples a size, 30 or more")->check(CLI::Range(30, 1000000));
  app.add_flag("--pack", pack, "pack by hand, run on contiguous data, unpack");
  app.add_flag("--explain", explain, "libsglcoll: print each size's plan to stderr, as sglcoll-plan does");
  app.add_flag("--json", json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  options.memory = memory == "shared" ? perf::Memory::shared : perf::Memory::private_memory;
  if (explain) setenv("SGLCOLL_EXPLAIN", options.collective.c_str(), 1);
  options.mode = pack ? perf::Mode::packed : perf::Mode::derived;
  try {
    std::vector<int64_t> sizes = parse_range(bytes);
    if (perf::has_fixed_size(options.layout)) sizes = {4};
    for (int64_t size : sizes) perf::parse_layout(options.layout, size);
    return run(options, sizes, json);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sglperf: %s\n", failure.what());
    return 2;
  }
}
