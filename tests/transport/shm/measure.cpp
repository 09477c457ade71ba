// Measures the shm transport: latency of a message, rate of a stream of messages, and
// process_vm_readv by length of run against pushing the same bytes as messages. No test;
// docs/shm.md has the figures. Prints the best of kSamples, as the
// processors may be shared with others.
#include "base/clock.hpp"
#include "sgl/copy.hpp"
#include "transport/shm/shm_rank.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

#include <sched.h>
#include <sys/mman.h>

namespace sgl::test {
namespace {

constexpr int kSamples = 31;

void bind_to_processor(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(processor), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The floor of a message: one word on one line, passed to and fro.
double line_transfer_ns() {
  auto* line = static_cast<std::atomic<uint32_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto* result = reinterpret_cast<double*>(line + 64);
  new (line) std::atomic<uint32_t>(0);
  run_processes(2, [&](int rank, const Allgather& allgather) {
    bind_to_processor(rank);
    barrier(allgather);
    double best = 1e9;
    uint32_t turn = 0;
    constexpr uint32_t kRounds = 2000;
    for (int sample = 0; sample < kSamples; ++sample) {
      int64_t start = now_ns();
      for (uint32_t i = 0; i < kRounds; ++i, turn += 2) {
        if (rank == 0) line->store(turn + 1, std::memory_order_release);
        while (line->load(std::memory_order_acquire) != turn + 1 + static_cast<uint32_t>(rank == 0))
          ;
        if (rank == 1) line->store(turn + 2, std::memory_order_release);
      }
      best = std::min(best, static_cast<double>(now_ns() - start) / (2.0 * kRounds));
    }
    if (rank == 0) *result = best;
  });
  return *result;
}

// Counts, and scatters payloads into `target` one after the other, round and round.
class CountingSink final : public TransportSink {
 public:
  void on_message(int, const MessageHeader&, std::span<const std::byte> payload) override {
    ++messages;
    auto length = static_cast<int64_t>(payload.size());
    if (target.length > 0 && length > 0)
      unpack(target.part(bytes % target.length, length), payload.data());
    bytes += length;
  }
  void on_complete(uint64_t, Status status) override { completions += status.ok(); }
  void on_peer_failed(int, Status) override {}

  uint64_t messages = 0, completions = 0;
  int64_t bytes = 0;
  View target;
};

void ping_pong(Transport& transport, int rank, uint16_t bytes) {
  std::vector<std::byte> data(bytes);
  Layout layout = Layout::run(0, bytes);
  View view = view_of(data, layout);
  CountingSink sink;
  MessageHeader header{1, 2, 3, 4, bytes};
  double best = 1e9;
  constexpr int kRounds = 2000;
  for (int sample = 0; sample < kSamples; ++sample) {
    int64_t start = now_ns();
    for (int i = 0; i < kRounds; ++i) {
      uint64_t before = sink.messages;
      if (rank == 0) transport.send_message(1, header, &view);
      while (sink.messages == before) transport.progress(sink);
      if (rank == 1) transport.send_message(0, header, &view);
    }
    best = std::min(best, static_cast<double>(now_ns() - start) / (2.0 * kRounds));
  }
  if (rank == 0) printf("one way, %5d bytes: %8.0f ns\n", bytes, best);
}

// A transfer of `total` bytes in runs of `run` bytes at twice that stride, on both sides.
struct Shape {
  int64_t total, run;
};

// Both ranks send each other `total` bytes as messages and scatter what comes. GB/s of
// one direction.
double push_rate(Transport& transport, const Allgather& allgather, int rank, Shape shape,
                 std::vector<std::byte>& source, std::vector<std::byte>& target) {
  Layout layout = Layout::loop(shape.total / shape.run, 2 * shape.run, Layout::run(0, shape.run));
  CountingSink sink;
  sink.target = view_of(target, layout);
  double best = 0;
  int64_t end = 0, piece = std::min(shape.total, transport.limits().max_message_bytes);
  for (int sample = 0; sample < kSamples; ++sample) {
    barrier(allgather);
    int64_t start = now_ns();
    end += shape.total;
    for (int64_t at = 0; at < shape.total; at += piece) {
      View part{source.data(), &layout, at, piece};
      MessageHeader header{1, 2, 3, 4, static_cast<uint16_t>(piece)};
      while (transport.send_message(1 - rank, header, &part) == Post::busy)
        transport.progress(sink);
      transport.progress(sink);
    }
    while (sink.bytes < end) transport.progress(sink);
    best = std::max(best, static_cast<double>(shape.total) / static_cast<double>(now_ns() - start));
  }
  return best;
}

// Both ranks read `total` bytes from each other by process_vm_readv. GB/s of one direction.
double read_rate(Transport& transport, const Allgather& allgather, int rank, Shape shape,
                 const RemoteMemory& remote, std::vector<std::byte>& target) {
  CountingSink sink;
  double best = 0;
  Batch batch;
  for (int sample = 0; sample < kSamples; ++sample) {
    barrier(allgather);
    int64_t start = now_ns();
    for (int64_t at = 0; at < shape.total;) {
      batch.clear();
      while (batch.local.size() < 1024 && at < shape.total && batch.bytes < (1 << 20)) {
        batch.local.push_back({2 * at, shape.run, false});
        batch.bytes += shape.run;
        at += shape.run;
      }
      batch.remote = batch.local;
      WorkRequest request = {};
      request.shape = TransferShape::send_receive;
      request.local_count = request.remote_count = static_cast<int>(batch.local.size());
      request.bytes = batch.bytes;
      batch.wrs = {request};
      while (transport.post(1 - rank, batch, View{target.data()}, remote, 1) == Post::busy)
        transport.progress(sink);
    }
    transport.progress(sink);
    best = std::max(best, static_cast<double>(shape.total) / static_cast<double>(now_ns() - start));
  }
  return best;
}

void compare_paths(Transport& transport, const Allgather& allgather, int rank, int64_t total) {
  std::vector<std::byte> source(static_cast<size_t>(2 * total), std::byte{1}), target = source;
  Layout layout = Layout::run(0, 2 * total);
  RemoteMemory mine = transport.expose(view_of(source, layout), false).take();
  RemoteMemory theirs = gather_all(allgather, mine)[static_cast<size_t>(1 - rank)];
  for (int64_t run = 64; run <= std::min<int64_t>(total, 1 << 20); run *= 2) {
    Shape shape{total, run};
    double read = read_rate(transport, allgather, rank, shape, theirs, target);
    double pushed = push_rate(transport, allgather, rank, shape, source, target);
    if (rank == 0) printf("%9ld %8ld %7.2f %7.2f\n", total, run, read, pushed);
  }
}

void measure_transport(int rank, const Allgather& allgather) {
  bind_to_processor(rank);
  auto transport = open_shm(rank, 2, allgather);
  if (rank == 0) printf("%s\n", transport->describe().c_str());
  for (int bytes : {0, 8, 44, 64, 256, 1024, 4096, 16384})
    ping_pong(*transport, rank, static_cast<uint16_t>(bytes));
  if (rank == 0) {
    printf("\nboth ranks at once, GB/s a direction:\n");
    printf("%9s %8s %7s %7s\n", "bytes", "run", "read", "pushed");
  }
  for (int64_t total : {int64_t{64} << 10, int64_t{1} << 20, int64_t{16} << 20})
    compare_paths(*transport, allgather, rank, total);
  barrier(allgather);
}

}  // namespace
}  // namespace sgl::test

int main() {
  printf("one line passed to another process: %.0f ns\n", sgl::test::line_transfer_ns());
  fflush(stdout);
  sgl::test::run_processes(2, sgl::test::measure_transport, std::chrono::seconds(300));
}
