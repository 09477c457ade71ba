#include "perf/sge_sweep/sweep.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace sge_sweep {

namespace {

constexpr uint32_t kChain = 32;  // WRs of one doorbell, the last one signalled
constexpr uint32_t kChainsInFlight = 4;

ibv_wr_opcode opcode_of(Shape shape) {
  if (shape == Shape::gather) return IBV_WR_RDMA_WRITE;
  return shape == Shape::scatter ? IBV_WR_RDMA_READ : IBV_WR_SEND;
}

// The requests of a case, built before the clock starts.
class Requests {
 public:
  Status build(Link& link, const Case& what) {
    if (what.way == Way::apart) SGL_TRY(register_apart(link, what));
    const Buffers& buffers = link.buffers();
    const RemoteMemory& remote = link.remote();
    const uint32_t step = what.per_wr();
    wrs_.resize(what.messages());
    list_.resize(what.way == Way::packed ? wrs_.size() : what.segments);
    for (uint32_t w = 0; w < wrs_.size(); w++) {
      const uint32_t first = w * step, count = std::min(step, what.segments - first);
      ibv_send_wr& wr = wrs_[w] = {};
      wr.opcode = opcode_of(what.shape);
      wr.sg_list = &list_[what.way == Way::packed ? w : first];
      wr.num_sge = what.way == Way::packed ? 1 : static_cast<int>(count);
      wr.wr.rdma.remote_addr = remote.flat + static_cast<uint64_t>(buffers.flat(what, first) -
                                                                   buffers.flat_memory.data());
      wr.wr.rdma.rkey = remote.flat_rkey;
      const bool ends_chain = (w + 1) % kChain == 0 || w + 1 == wrs_.size();
      wr.send_flags = ends_chain ? IBV_SEND_SIGNALED : 0;
      wr.next = ends_chain ? nullptr : &wrs_[w + 1];
      if (what.way == Way::packed) {
        *wr.sg_list = {reinterpret_cast<uint64_t>(buffers.flat(what, first)),
                       count * what.segment_bytes, buffers.flat_memory.lkey()};
        continue;
      }
      for (uint32_t i = first; i < first + count; i++) {
        const uint32_t key =
            what.way == Way::apart ? apart_[i % what.ring()]->lkey : buffers.strided_memory.lkey();
        list_[i] = {reinterpret_cast<uint64_t>(buffers.strided(what, i)), what.segment_bytes, key};
      }
    }
    return {};
  }

  // Posts all, some chains at a time, and waits for them.
  Status run(Link& link, const Case& what) {
    const auto total = static_cast<uint32_t>(wrs_.size());
    uint32_t in_flight = 0, retired = 0;
    for (uint32_t first = 0; first < total; first += kChain) {
      if (in_flight == kChainsInFlight) {
        SGL_TRY(retire_chain(link, what, retired));
        retired += kChain;
        in_flight--;
      }
      if (what.way == Way::packed && what.shape != Shape::scatter) {
        const auto [segment, count] = segments_of_chain(what, first);
        link.buffers().pack(what, segment, count);
      }
      SGL_TRY(link.endpoint().post(&wrs_[first]));
      in_flight++;
    }
    for (; in_flight > 0; in_flight--, retired += kChain)
      SGL_TRY(retire_chain(link, what, retired));
    return {};
  }

 private:
  struct SegmentRange {
    uint32_t first, count;
  };
  static SegmentRange segments_of_chain(const Case& what, uint32_t first_wr) {
    const uint32_t first = first_wr * what.per_wr();
    return {first, std::min(kChain * what.per_wr(), what.segments - first)};
  }
  Status retire_chain(Link& link, const Case& what, uint32_t first_wr) {
    SGL_TRY(link.endpoint().await_sends(1));
    if (what.way == Way::packed && what.shape == Shape::scatter) {
      const auto [segment, count] = segments_of_chain(what, first_wr);
      link.buffers().unpack(what, segment, count);
    }
    return {};
  }
  Status register_apart(Link& link, const Case& what) {
    for (uint32_t i = 0; i < what.ring(); i++) {
      Result<Region> region =
          register_memory(link.domain(), link.buffers().strided(what, i), what.segment_bytes);
      if (!region.ok()) return std::move(region.status());
      apart_.push_back(region.take());
    }
    return {};
  }

  std::vector<ibv_send_wr> wrs_;
  std::vector<ibv_sge> list_;
  std::vector<Region> apart_;
};

Status run_once(Link& link, Requests& requests, const Case& what, uint32_t seed, Timing* timing) {
  SGL_TRY(link.target().prepare(what, seed));
  const double cpu = process_cpu_ns();
  const int64_t start = sgl::now_ns();
  SGL_TRY(requests.run(link, what));
  SGL_TRY(link.target().finish(what));
  timing->ns = static_cast<double>(sgl::now_ns() - start);
  timing->cpu_ns = process_cpu_ns() - cpu;
  return {};
}

}  // namespace

double process_cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

Result<Row> measure(Link& link, const Case& what, int rounds) {
  static uint32_t seed = 0;
  seed += 7;
  const Buffers& buffers = link.buffers();
  buffers.clear();
  if (what.shape != Shape::scatter) buffers.fill(what, seed, /*in_strided=*/true);
  Requests requests;
  SGL_TRY(requests.build(link, what));
  Timing first;
  SGL_TRY(run_once(link, requests, what, seed, &first));
  SGL_TRY(link.target().check(what, seed));
  if (what.shape == Shape::scatter) SGL_TRY(buffers.check(what, seed, /*in_strided=*/true));
  std::vector<Timing> timings(static_cast<size_t>(std::max(1, rounds)));
  for (Timing& timing : timings) SGL_TRY(run_once(link, requests, what, seed, &timing));
  return Row{what, *std::min_element(timings.begin(), timings.end(), faster)};
}

std::vector<uint32_t> sge_counts(const SweepOptions& options) {
  std::vector<uint32_t> counts{1, 2, 3, 4, 6, 8, 12, 16, 24, 30};
  if (options.quick) counts = {1, 2, 4, 8, 30};
  std::erase_if(counts, [&](uint32_t count) { return count > options.most_sges; });
  return counts;
}

std::vector<uint32_t> segment_sizes(const SweepOptions& options) {
  if (options.quick) return {64, 1 << 10, kLongestSegment};
  std::vector<uint32_t> sizes;
  for (uint32_t bytes = 64; bytes <= kLongestSegment; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

// Alternating, so that what else the machine does falls on all ways alike.
Result<std::vector<Row>> sweep(Link& link, const SweepOptions& options) {
  const uint32_t budget = options.quick ? 128 << 10 : 512 << 10;
  const uint32_t fewest = 2, most = options.quick ? 16 : 128;
  std::vector<Row> rows;
  for (Shape shape : options.shapes) {
    for (uint32_t bytes : segment_sizes(options)) {
      for (uint32_t sges : sge_counts(options)) {
        for (Way way : options.ways) {
          const uint32_t wrs = std::clamp(budget / (bytes * sges), fewest, most);
          Case what{shape, way, sges, bytes, sges * wrs};
          if (what.messages() > kMostReceives) what.segments = kMostReceives / sges * sges;
          Result<Row> row = measure(link, what, options.rounds);
          if (!row.ok()) return std::move(row.status());
          rows.push_back(row.take());
        }
      }
    }
    std::fprintf(stderr, "sge_sweep: %s done\n", name_of(shape));
  }
  return rows;
}

}  // namespace sge_sweep
