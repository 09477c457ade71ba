#include "sglperf/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace perf {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int32_t value(int rank, int64_t block, int64_t i) {
  return static_cast<int32_t>(static_cast<uint32_t>(rank + 1) * 1000003u + static_cast<uint32_t>(block) * 97u +
                              static_cast<uint32_t>(i) * 7919u);
}

// Calls visit(payload index, element offset) over one layout in payload order.
template <class Visit>
void for_each_element(const Shape& shape, Visit visit) {
  int64_t payload = 0;
  switch (shape.kind) {
    case Shape::Kind::contiguous:
      for (int64_t i = 0; i < shape.block; ++i) visit(i, i);
      return;
    case Shape::Kind::vector:
      for (int64_t b = 0; b < shape.count; ++b)
        for (int64_t i = 0; i < shape.block; ++i) visit(payload++, b * shape.stride + i);
      return;
    case Shape::Kind::indexed:
      for (size_t b = 0; b < shape.lengths.size(); ++b)
        for (int64_t i = 0; i < shape.lengths[b]; ++i) visit(payload++, shape.displacements[b] + i);
      return;
    case Shape::Kind::subarray: {
      std::vector<int64_t> index(shape.sizes.size(), 0);
      for (; payload < shape.payload; ++payload) {
        int64_t offset = 0;
        for (size_t d = 0; d < index.size(); ++d) offset = offset * shape.sizes[d] + shape.starts[d] + index[d];
        visit(payload, offset);
        for (size_t d = index.size(); d-- > 0;) {
          if (++index[d] < shape.subsizes[d]) break;
          index[d] = 0;
        }
      }
      return;
    }
  }
}

// The buffers of one run, written anew before each sample.
struct Buffers {
  int32_t* send;
  int32_t* recv;
};

void write_inputs(const Backend& backend, const Shape& shape, const MeasureOptions& options, Buffers buffers) {
  bool in_out = options.collective == "bcast";
  for (int block = 0; block < (in_out ? 1 : backend.size()); ++block) {
    int32_t* at = (in_out ? buffers.recv : buffers.send) + block * shape.extent;
    int from = in_out && backend.rank() != options.root ? -1 : backend.rank();
    for_each_element(shape, [&](int64_t i, int64_t offset) { at[offset] = value(from, block, i); });
  }
}

// What payload element i of received block `block` must be.
int32_t expected(const Backend& backend, const MeasureOptions& options, int block, int64_t i) {
  const std::string& name = options.collective;
  if (name == "memcpy") return value(backend.rank(), block, i);
  if (name == "bcast") return value(options.root, 0, i);
  if (name == "scatter" || name == "scatterv") return value(options.root, backend.rank(), i);
  if (name == "allreduce" || name == "reduce" || name == "reduce_scatter" || name == "reduce_scatter_block") {
    int from = name[6] == '_' ? backend.rank() : 0;
    uint32_t sum = 0;
    for (int rank = 0; rank < backend.size(); ++rank) sum += static_cast<uint32_t>(value(rank, from, i));
    return static_cast<int32_t>(sum);
  }
  return value(block, 0, i);  // gathers
}

bool verify(const Backend& backend, const Shape& shape, const MeasureOptions& options, const int32_t* recv) {
  if (options.collective == "memcpy" && shape.kind != Shape::Kind::contiguous) return true;  // raw bytes, not elements
  bool right = true;
  for (int block = 0; block < backend.blocks_received(options.collective, options.root); ++block)
    for_each_element(shape, [&](int64_t i, int64_t offset) {
      right &= recv[block * shape.extent + offset] == expected(backend, options, block, i);
    });
  return right;
}

// Bytes a link must carry, over the payload bytes (nccl-tests' bus bandwidth).
double bus_factor(const std::string& name, int size) {
  double others = size - 1;
  if (name == "allreduce") return 2 * others / size;
  if (name == "allgather" || name == "allgatherv" || name == "gather" || name == "gatherv" || name == "scatter" ||
      name == "scatterv" || name == "reduce_scatter_block" || name == "reduce_scatter")
    return others;
  return 1;
}

// Repetitions inside one sample, so that a short collective is not timed by the
// clock's own cost; the same on all ranks.
int repetitions(Backend& backend, const MeasureOptions& options, Buffers buffers) {
  backend.barrier();
  double start = now_us();
  backend.run(options.collective, buffers.send, buffers.recv, options.root);
  std::vector<double> all = backend.gather_all({now_us() - start});
  double slowest = *std::max_element(all.begin(), all.end());
  constexpr double kSampleUs = 200;
  return static_cast<int>(std::clamp(kSampleUs / std::max(slowest, 0.1), 1.0, 1000.0));
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names{"allgather", "allgatherv", "reduce_scatter_block", "reduce_scatter",
                                              "allreduce", "reduce",     "bcast",                "gather",
                                              "gatherv",   "scatter",    "scatterv",             "barrier",
                                              "memcpy"};
  return names;
}

Measurement measure(Backend& backend, const MeasureOptions& options, int64_t bytes) {
  Shape shape = parse_layout(options.layout, bytes);
  backend.set_layout(shape, options.mode);
  constexpr int kRotated = 2;
  int64_t elements = shape.extent * backend.size();
  std::vector<Buffers> buffers;
  for (int i = 0; i < kRotated; ++i)
    buffers.push_back({backend.allocate(elements, options.memory), backend.allocate(elements, options.memory)});

  for (int warm = 0; warm < 3; ++warm)
    for (Buffers& pair : buffers) backend.run(options.collective, pair.send, pair.recv, options.root);
  int inner = repetitions(backend, options, buffers[0]);

  std::vector<double> mine;
  for (int sample = 0; sample < options.samples; ++sample) {
    Buffers pair = buffers[static_cast<size_t>(sample % kRotated)];
    write_inputs(backend, shape, options, pair);
    backend.barrier();
    double start = now_us();
    for (int i = 0; i < inner; ++i) backend.run(options.collective, pair.send, pair.recv, options.root);
    mine.push_back((now_us() - start) / inner);
  }
  Buffers last = buffers[static_cast<size_t>((options.samples - 1) % kRotated)];
  double right = verify(backend, shape, options, last.recv);
  std::vector<double> all_right = backend.gather_all({right}), all = backend.gather_all(mine);

  std::vector<double> slowest(mine.size(), 0);
  for (size_t i = 0; i < all.size(); ++i) slowest[i % mine.size()] = std::max(slowest[i % mine.size()], all[i]);
  std::sort(slowest.begin(), slowest.end());
  Measurement result;
  result.bytes = shape.payload * 4;
  result.median_us = slowest[slowest.size() / 2];
  result.p99_us = slowest[static_cast<size_t>(std::ceil(0.99 * static_cast<double>(slowest.size()))) - 1];
  result.min_us = slowest.front();
  result.max_us = slowest.back();
  result.bus_gb_s = static_cast<double>(result.bytes) * bus_factor(options.collective, backend.size()) / result.median_us / 1e3;
  result.verified = std::all_of(all_right.begin(), all_right.end(), [](double ok) { return ok == 1; });
  for (Buffers& pair : buffers) {
    backend.release(pair.send);
    backend.release(pair.recv);
  }
  return result;
}

}  // namespace perf
