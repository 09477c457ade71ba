// sglperf: times one collective over a range of sizes and checks its results.
#include "sglperf/measure.hpp"
#include "sglperf/size_range.hpp"
#include "sglperf/traffic.hpp"
#include "support/command_line.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>
#include <sched.h>

namespace {

struct Output {
  bool json = false;
  bool explain = false;
};

// Tells what is wrong once, not by each rank, and before any rank ends the job.
int refuse(perf::Backend& backend, const std::string& text) {
  if (backend.rank() == 0) std::fputs(sgl::usage_error("sglperf", text).c_str(), stderr);
  backend.barrier();
  return sgl::kBadUse;
}

// The processors that each rank may run on: the first, and how many.
std::vector<std::string> bindings(perf::Backend& backend) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  double first = -1, count = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    count = CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE && first < 0; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) first = cpu;
  }
  std::vector<double> all = backend.gather_all({first, count});
  std::vector<std::string> texts;
  for (size_t i = 0; i < all.size(); i += 2) {
    int more = static_cast<int>(all[i + 1]) - 1;
    std::string text = "cpu " + std::to_string(static_cast<int>(all[i]));
    texts.push_back(more > 0 ? text + " and " + std::to_string(more) + " more" : text);
  }
  return texts;
}

const char* name_of(perf::Memory memory) {
  return memory == perf::Memory::allocated ? "alloc" : "malloc";
}

void print_header(const perf::Backend& backend, const perf::MeasureOptions& options,
                  const std::vector<std::string>& bound) {
  std::printf("# %s, %d ranks (%s), %s, layout %s, memory %s%s\n", backend.describe().c_str(),
              backend.size(), CLI::detail::join(bound, "; ").c_str(), options.collective.c_str(),
              options.layout.c_str(), name_of(options.memory),
              options.mode == perf::Mode::packed ? ", packed by hand" : "");
  std::printf("%12s %12s %12s %12s %12s %10s %10s %8s  %s\n", "bytes", "median us", "p99 us",
              "min us", "max us", "alg GB/s", "bus GB/s", "samples", "result");
}

void print_row(const perf::Measurement& m, const Output& output) {
  std::printf("%12lld %12.2f %12.2f %12.2f %12.2f %10.2f %10.2f %8d  %s\n",
              static_cast<long long>(m.bytes), m.median_us, m.p99_us, m.min_us, m.max_us,
              m.algorithm_gb_s, m.bus_gb_s, m.samples, m.verified ? "right" : "WRONG");
  if (m.beside_speed > 0) std::printf("#   %-16s %14.3f\n", "beside_speed", m.beside_speed);
  if (output.explain)
    for (const auto& [name, value] : m.counters)
      std::printf("#   %-16s %14.2f\n", name.c_str(), value);
  std::fflush(stdout);
}

nlohmann::json to_json(const perf::Measurement& m, const Output& output) {
  nlohmann::json row{{"bytes", m.bytes},          {"median_us", m.median_us},
                     {"p99_us", m.p99_us},        {"min_us", m.min_us},
                     {"max_us", m.max_us},        {"algorithm_gb_s", m.algorithm_gb_s},
                     {"bus_gb_s", m.bus_gb_s},    {"samples", m.samples},
                     {"calls_a_sample", m.calls}, {"verified", m.verified}};
  if (m.beside_speed > 0) row["beside_speed"] = m.beside_speed;
  if (output.explain)
    for (const auto& [name, value] : m.counters) row["counters"][name] = value;
  return row;
}

int run(perf::Backend& backend, const perf::MeasureOptions& options,
        const std::vector<int64_t>& sizes, Output output) {
  bool print = backend.rank() == 0;
  std::vector<std::string> bound = bindings(backend);
  if (options.root < 0 || options.root >= backend.size())
    throw std::invalid_argument("--root " + std::to_string(options.root) + ": it takes 0 to " +
                                std::to_string(backend.size() - 1) + ", as there are " +
                                std::to_string(backend.size()) + " ranks");
  if (output.explain && backend.counters().empty())
    throw std::invalid_argument("--explain: " + backend.describe() +
                                " tells nothing of what it did; only libsglcoll does");
  if (print && !output.json) print_header(backend, options, bound);
  nlohmann::json rows = nlohmann::json::array();
  bool all_right = true;
  for (int64_t bytes : sizes) {
    perf::Measurement m = perf::measure(backend, options, bytes);
    all_right &= m.verified;
    rows.push_back(to_json(m, output));
    if (print && !output.json) print_row(m, output);
  }
  if (print && output.json) {
    nlohmann::json document{{"library", backend.describe()},
                            {"ranks", backend.size()},
                            {"binding", bound},
                            {"collective", options.collective},
                            {"layout", options.layout},
                            {"memory", name_of(options.memory)},
                            {"packed", options.mode == perf::Mode::packed},
                            {"rows", rows}};
    std::printf("%s\n", document.dump(2).c_str());
    std::fflush(stdout);
  }
  backend.barrier();  // all is printed before a rank ends the job with its status
  return all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Times a collective on every rank of a job and checks its results, e.g.\n"
      "  sglrun -n 2 sglperf allgather --layout vector:64:128 --bytes 1K:1M\n"
      "  mpirun -n 2 sglperf-ompi allgather --pack --layout vector:64:128 --bytes 1K:1M");
  perf::MeasureOptions options;
  std::string bytes = "8:1M", memory = "malloc";
  Output output;
  bool pack = false;
  app.add_option("collective", options.collective, "what to run")
      ->required()
      ->check(CLI::IsMember(perf::collective_names()));
  app.add_option("--layout", options.layout,
                 "contig | vector:BLOCK:STRIDE | indexed:SEED:MIN:MAX:GAP |\n"
                 "subarray:DIMS:SUBDIMS:STARTS:ELEM_BYTES (DIMS as 64x64, C order) | tensors:FILE\n"
                 "of int32; sizes in bytes, multiples of 4 (default contig)");
  app.add_option(
      "--bytes", bytes,
      "FROM:TO[:FACTOR] payload bytes of a rank's block, doubling if no factor is given\n"
      "(default 8:1M);\n"
      "subarray and tensors have their own size");
  app.add_option(
      "--beside", options.beside,
      "another layout, run in turn with the first sample by sample: tells how fast it is\n"
      "over the first");
  app.add_option("--memory", memory, "malloc, or alloc: sglcoll_mem_alloc (default malloc)")
      ->check(CLI::IsMember({"malloc", "alloc"}));
  app.add_option("--samples", options.samples,
                 "samples a size, 30 or more (default 30, up to 300 of short ones)")
      ->check(CLI::Range(perf::kLeastSamples, 1000000));
  app.add_option("--root", options.root, "of the rooted collectives (default 0)");
  app.add_flag("--pack", pack, "pack by hand, run on contiguous data, unpack");
  app.add_flag("--json", output.json, "print JSON");
  app.add_flag("--explain", output.explain, "print what rank 0 did in a call (libsglcoll only)");
  sgl::add_version(&app, "sglperf");
  std::string wrong;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    if (failure.get_exit_code() == 0) return app.exit(failure);  // --help, --version
    wrong = failure.what();
  }
  options.memory = memory == "alloc" ? perf::Memory::allocated : perf::Memory::malloced;
  options.mode = pack ? perf::Mode::packed : perf::Mode::derived;
  try {
    std::unique_ptr<perf::Backend> backend = perf::make_backend();
    if (!wrong.empty()) return refuse(*backend, wrong);
    try {
      std::vector<int64_t> sizes = perf::parse_size_range(bytes);
      bool one_size = perf::has_fixed_size(options.layout) || options.collective == "barrier";
      if (one_size) sizes.resize(1);
      for (int64_t size : sizes) perf::parse_layout(options.layout, size);
      if (!options.beside.empty())
        for (int64_t size : sizes) perf::parse_layout(options.beside, size);
      return run(*backend, options, sizes, output);
    } catch (const std::invalid_argument& failure) {  // on all ranks alike
      return refuse(*backend, failure.what());
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sglperf: %s\n", sgl::reason_of(failure));
    return sgl::kBadUse;
  }
}
