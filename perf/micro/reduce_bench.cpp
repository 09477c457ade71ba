// Reductions: the kernels of each instruction set, and reduce() over layouts against
// the same reduction of contiguous memory. Names are kernel/operation/type/bytes/set
// and reduce/layout/sources/bytes.
#include "op/kernels.hpp"
#include "sgl/reduce.hpp"

#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

using sgl::Basic;
using sgl::Isa;
using sgl::OpKind;

std::byte* buffer(size_t which, int64_t bytes) {
  static std::vector<std::vector<std::byte>> buffers(8);
  auto& of = buffers[which];
  if (of.size() < static_cast<size_t>(bytes)) of.resize(static_cast<size_t>(bytes));
  return of.data();
}

void run_kernel(benchmark::State& state, sgl::ReduceKernel kernel, Basic basic, int64_t bytes) {
  const int64_t count = bytes / sgl::basic_info(basic).extent;
  std::byte* left = buffer(0, bytes);
  const std::byte* right = buffer(1, bytes);
  for (auto _ : state) {
    kernel(left, left, right, count);  // in place, as a reduction runs
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * bytes);
}

void add_kernels() {
  struct Pick {
    OpKind kind;
    Basic basic;
  };
  constexpr Pick picks[] = {{OpKind::sum, Basic::float32},        {OpKind::sum, Basic::float64},
                            {OpKind::prod, Basic::complex_float}, {OpKind::sum, Basic::float16},
                            {OpKind::sum, Basic::bfloat16},       {OpKind::sum, Basic::int32},
                            {OpKind::max, Basic::int64},          {OpKind::bxor, Basic::byte},
                            {OpKind::minloc, Basic::double_int}};
  for (const Pick& pick : picks) {
    for (const int64_t bytes : {int64_t{8} << 10, int64_t{1} << 20}) {
      for (int i = 0; i < sgl::kIsaCount; ++i) {
        const auto isa = static_cast<Isa>(i);
        if (!sgl::isa_available(isa)) continue;
        const std::string name = std::string("kernel/") + sgl::op_name(pick.kind) + "/" +
                                 sgl::basic_info(pick.basic).name + "/" + std::to_string(bytes) +
                                 "/" + sgl::isa_name(isa);
        const sgl::ReduceKernel kernel = sgl::reduce_kernel_for(isa, pick.kind, pick.basic);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          run_kernel(state, kernel, pick.basic, bytes);
        });
      }
    }
  }
}

// float64 sums: `to` and every source of the same layout.
void run_reduce(benchmark::State& state, const sgl::Layout& layout, size_t sources) {
  std::vector<sgl::View> views;
  for (size_t i = 0; i <= sources; ++i) {
    views.push_back({buffer(i, layout.true_ub()), &layout, 0, layout.size()});
  }
  for (auto _ : state) {
    sgl::reduce(views[0], std::span(views).subspan(1), OpKind::sum, Basic::float64);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * layout.size() *
                          static_cast<int64_t>(sources));
}

void add_layouts() {
  for (const int64_t bytes : {int64_t{8} << 10, int64_t{1} << 20, int64_t{16} << 20}) {
    for (const int64_t block : {int64_t{0}, int64_t{8}, int64_t{64}, int64_t{512}}) {
      const std::string name = block == 0 ? "contig" : "vector:" + std::to_string(block);
      const sgl::Layout run = sgl::Layout::run(0, block == 0 ? bytes : block);
      const sgl::Layout layout =
          block == 0 ? run : sgl::Layout::loop(bytes / block, 2 * block, run);
      for (const size_t sources : {size_t{2}, size_t{4}}) {
        const std::string full =
            "reduce/" + name + "/" + std::to_string(sources) + "/" + std::to_string(bytes);
        benchmark::RegisterBenchmark(
            full.c_str(), [=](benchmark::State& state) { run_reduce(state, layout, sources); });
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_kernels();
  add_layouts();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
