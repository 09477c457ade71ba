// What the SGL compiler costs: ns a segment (entry of either list) for the layouts
// and limits of the transports.
#include "sgl/batch.hpp"

#include <vector>

#include <benchmark/benchmark.h>

namespace sgl {
namespace {

constexpr int64_t kPayload = 4 << 20;

Layout strided(int64_t block) {
  return Layout::loop(kPayload / block, 2 * block, Layout::run(0, block));
}

Layout scattered(int64_t block) {
  std::vector<int64_t> displacements;
  for (int64_t i = 0; i < kPayload / block; ++i) {
    displacements.push_back((2 * i + (i * 2654435761 >> 7) % 2) * block * 2);
  }
  return Layout::indexed(displacements, Layout::run(0, block));
}

void compile(benchmark::State& state, const Layout& local, const Layout& remote,
             TransferShape shape, const SglLimits& limits, const SglRules& rules) {
  const View local_view{nullptr, &local, 0, kPayload}, remote_view{nullptr, &remote, 0, kPayload};
  BatchCompiler compiler;
  Batch batch;
  int64_t segments = 0, requests = 0;
  for (auto _ : state) {
    compiler.reset(local_view, remote_view, shape, limits, rules);
    while (compiler.next(&batch)) {
      segments += static_cast<int64_t>(batch.local.size() + batch.remote.size());
      requests += static_cast<int64_t>(batch.wrs.size());
      benchmark::DoNotOptimize(batch.local.data());
    }
  }
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["wrs"] = static_cast<double>(requests) / iterations;
  state.counters["segments"] = static_cast<double>(segments) / iterations;
  // Seconds a segment: printed with a prefix, so 1.5n is 1.5 ns.
  state.counters["per_segment"] = benchmark::Counter(
      static_cast<double>(segments), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

const SglLimits kLists{
    .max_send_sge = 1024, .max_recv_sge = 1024, .max_read_sge = 1024, .max_batch_wrs = 1};
const SglRules kNoRules{.max_segment_bytes = kPayload};

// process_vm_readv: two long lists a call.
void lists_strided_to_strided(benchmark::State& state) {
  const Layout local = strided(state.range(0)), remote = strided(state.range(1));
  compile(state, local, remote, TransferShape::send_receive, kLists, kNoRules);
}
void lists_strided_to_contiguous(benchmark::State& state) {
  const Layout local = strided(state.range(0)), remote = Layout::run(0, kPayload);
  compile(state, local, remote, TransferShape::send_receive, kLists, kNoRules);
}
void lists_scattered_to_strided(benchmark::State& state) {
  const Layout local = scattered(state.range(0)), remote = strided(state.range(1));
  compile(state, local, remote, TransferShape::send_receive, kLists, kNoRules);
}
// A device: short lists, many WRs a batch.
void write_gather(benchmark::State& state) {
  const Layout local = strided(state.range(0)), remote = Layout::run(0, kPayload);
  compile(state, local, remote, TransferShape::write_gather, {}, {});
}
void write_gather_packed(benchmark::State& state) {
  const Layout local = strided(state.range(0)), remote = Layout::run(0, kPayload);
  compile(state, local, remote, TransferShape::write_gather, {}, {.pack_below_bytes = 512});
}

BENCHMARK(lists_strided_to_strided)->Args({64, 64})->Args({64, 256})->Args({1024, 1024});
BENCHMARK(lists_strided_to_contiguous)->Args({64})->Args({4096});
BENCHMARK(lists_scattered_to_strided)->Args({64, 64})->Args({256, 64});
BENCHMARK(write_gather)->Args({64})->Args({4096});
BENCHMARK(write_gather_packed)->Args({64});

}  // namespace
}  // namespace sgl

BENCHMARK_MAIN();
