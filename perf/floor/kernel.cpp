// Private memory, through process_vm_readv and process_vm_writev.
#include "floor/ways.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <sys/uio.h>

namespace perf {
namespace {

constexpr int64_t kMovedPart = 1 << 20;
constexpr int64_t kShortRun = 256;    // the kernel takes longer than a copy of both by hand
constexpr double kMostSpan = 2.5;     // gaps are worth reading along up to here
constexpr int64_t kLongBlock = 4096;  // from here on gaps are pages

template <class Visit>
void for_each_run(const Runs& runs, Visit visit) {
  for (int64_t i = 0; i < runs.count; ++i)
    runs.list.empty()
        ? visit(runs.offset + i * runs.stride, runs.block)
        : visit(runs.list[static_cast<size_t>(i)].offset, runs.list[static_cast<size_t>(i)].bytes);
}

// From the first byte of some runs to behind their last.
struct Span {
  int64_t begin, bytes;
};
Span span_of(const Runs& runs) {
  int64_t begin = INT64_MAX, end = 0;
  for_each_run(runs, [&](int64_t offset, int64_t bytes) {
    begin = std::min(begin, offset);
    end = std::max(end, offset + bytes);
  });
  return {begin, end - begin};
}

// Two lists of segments that are full at the same time.
class Segments {
 public:
  Segments(int process, bool write) : process_(process), write_(write) {}
  ~Segments() = default;
  void add(std::byte* local, std::byte* remote, int64_t bytes) {
    local_[used_] = {local, static_cast<size_t>(bytes)};
    remote_[used_] = {remote, static_cast<size_t>(bytes)};
    bytes_ += bytes;
    if (++used_ == kMost) flush();
  }
  void flush() {
    if (used_ == 0) return;
    const auto done =
        (write_ ? process_vm_writev : process_vm_readv)(process_, local_, used_, remote_, used_, 0);
    if (done != bytes_) throw std::runtime_error("process_vm_readv or writev moved too little");
    used_ = 0;
    bytes_ = 0;
  }

 private:
  static constexpr size_t kMost = 1024;  // IOV_MAX
  int process_;
  bool write_;
  iovec local_[kMost], remote_[kMost];
  size_t used_ = 0;
  int64_t bytes_ = 0;
};

void transfer(int process, bool write, std::byte* local, std::byte* remote, const Runs& runs) {
  Segments segments(process, write);
  for_each_run(runs, [&](int64_t offset, int64_t bytes) {
    segments.add(local + offset, remote + offset, bytes);
  });
  segments.flush();
}

// How a worker's parts are got.
class KernelWay {
 public:
  KernelWay(const Scene& scene, Kind kind, double pushed, int64_t chunk, bool whole)
      : worker_(&scene.worker), field_(&scene.field), flow_(scene.flow), kind_(kind) {
    const Runs& runs = scene.runs;
    const int64_t part = chunk ? chunk : kMovedPart;
    spans_ = runs.payload / runs.count < kShortRun || (chunk && flow_.sums.empty());
    all_ = cut(runs, part);
    const int64_t middle = shares(runs, 16)[static_cast<size_t>(std::lround(pushed * 16))];
    if (middle > 0) pushed_ = cut(slice(runs, 0, middle), part);
    if (middle < runs.payload) pulled_ = cut(slice(runs, middle, runs.payload), part);
    if (flow_.sums.size() == 1 && flow_.sums[0].shared)
      share_sum(runs, part, whole);
    else
      for (size_t i = 0; i < flow_.sums.size(); ++i) sum_parts_.push_back(all_);
    int64_t most = 0;
    for (const auto* parts : {&all_, &pulled_})
      for (const Runs& one : *parts) most = std::max(most, span_of(one).bytes);
    if (spans_ || chunk) temporary_.resize(static_cast<size_t>(most + kSlack));
  }

  void run(int call) {
    for (const Move& move : flow_.moves)
      for (const Place& to : move.to) run_move(move.from, to, call);
    for (size_t i = 0; i < flow_.sums.size(); ++i)
      if (mine(flow_.sums[i].owner))
        for (const Runs& part : sum_parts_[i]) run_sum(flow_.sums[i], part, call);
  }

 private:
  bool mine(int rank) const { return rank % worker_->count() == worker_->index(); }
  int process_of(int rank) const { return worker_->process(rank % worker_->count()); }

  // A sum that is for all: each rank makes a share of it and hands it on, or makes the whole.
  void share_sum(const Runs& runs, int64_t part, bool whole) {
    const Sum sum = flow_.sums[0];
    const int ranks = field_->ranks();
    const std::vector<int64_t> ends = shares(runs, ranks);
    flow_.sums.clear();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<size_t>(rank);
      flow_.sums.push_back({rank, sum.from, {sum.to[at]}});
      for (const Place& to : sum.to)
        if (!whole && to.rank != rank) flow_.sums.back().to.push_back(to);
      const int64_t begin = whole ? 0 : ends[at], end = whole ? runs.payload : ends[at + 1];
      sum_parts_.push_back(begin < end ? cut(slice(runs, begin, end), part) : std::vector<Runs>{});
    }
  }

  void run_move(const Place& from, const Place& to, int call) {
    std::byte *source = field_->at(from, call), *target = field_->at(to, call);
    if (from.rank == to.rank) {
      if (mine(to.rank))
        for (const Runs& part : all_) move(target, source, part, kind_);
      return;
    }
    const bool both = mine(from.rank) && mine(to.rank);
    if (mine(from.rank) && !both)
      for (const Runs& part : pushed_) transfer(process_of(to.rank), true, source, target, part);
    if (!mine(to.rank)) return;
    for (const Runs& part : both ? all_ : pulled_) {
      if (spans_)
        move(target, read_span(from, part, call), part, kind_);
      else
        transfer(process_of(from.rank), false, target, source, part);
    }
  }

  // Where a part's layout would start if it lay in the temporary memory, gaps read along.
  const std::byte* read_span(const Place& from, const Runs& part, int call) {
    const Span span = span_of(part);
    const iovec local{temporary_.data(), static_cast<size_t>(span.bytes)};
    const iovec remote{field_->at(from, call) + span.begin, static_cast<size_t>(span.bytes)};
    if (process_vm_readv(process_of(from.rank), &local, 1, &remote, 1, 0) != span.bytes)
      throw std::runtime_error("process_vm_readv moved too little");
    return temporary_.data() - span.begin;
  }

  void run_sum(const Sum& sum, const Runs& part, int call) {
    std::byte* to = field_->at(sum.to[0], call);
    const std::byte* left = field_->at(sum.from[static_cast<size_t>(sum.owner)], call);
    for (const Place& from : sum.from) {
      if (from.rank == sum.owner) continue;
      perf::sum(to, left, read_span(from, part, call), part, kind_);
      left = to;
    }
    for (const Place& other : sum.to)
      if (other.rank != sum.owner)
        transfer(process_of(other.rank), true, to, field_->at(other, call), part);
  }

  const Worker* worker_;
  const Field* field_;
  Flow flow_;
  Kind kind_;
  bool spans_;  // into temporary memory, with the gaps
  std::vector<Runs> all_, pushed_, pulled_;
  std::vector<std::vector<Runs>> sum_parts_;
  std::vector<std::byte> temporary_;
};

bool permitted(const Scene& scene) {
  static std::byte probe[8];
  bool may = true;
  for (int other = 0; other < scene.worker.count(); ++other) {
    std::byte here[sizeof probe];
    const iovec local{here, sizeof here}, remote{probe, sizeof probe};
    may &= process_vm_readv(scene.worker.process(other), &local, 1, &remote, 1, 0) ==
           static_cast<ssize_t>(sizeof here);
  }
  return scene.worker.slowest(may ? 0.0 : 1.0) == 0;
}

}  // namespace

std::vector<Way> kernel_ways(const Scene& scene) {
  std::vector<Way> ways;
  if (!permitted(scene)) return ways;
  const Runs& runs = scene.runs;
  const bool sums = !scene.flow.sums.empty();
  const bool short_runs = runs.payload / runs.count < kShortRun;
  const bool dense =
      static_cast<double>(span_of(runs).bytes) <= kMostSpan * static_cast<double>(runs.payload);
  const bool gaps_small = dense && (runs.contiguous() || runs.payload / runs.count < kLongBlock);
  auto add = [&](Kind kind, double pushed, int64_t chunk, bool whole, const char* name) {
    auto way = std::make_shared<KernelWay>(scene, kind, pushed, chunk, whole);
    ways.push_back({name, kind, chunk, [way](int call) { way->run(call); }});
  };
  for (Kind kind : {Kind::loops, Kind::ahead, Kind::lines, Kind::streaming}) {
    if (!(sums ? can_sum : can_copy)(kind, runs)) continue;
    if (sums) {
      for (int64_t chunk : {16 << 10, 64 << 10, 256 << 10}) {
        if (!gaps_small && runs.payload / runs.count < kLongBlock) continue;
        add(kind, 0, chunk, false, "process_vm_readv, sum");
        if (scene.flow.sums[0].shared)
          add(kind, 0, chunk, true, "process_vm_readv, each rank sums all");
      }
      continue;
    }
    if (!short_runs)
      for (double pushed : pushed_shares(scene))
        add(kind, pushed, 0, false,
            pushed == 0   ? "process_vm_readv"
            : pushed == 1 ? "process_vm_writev"
                          : "process_vm_readv and process_vm_writev");
    if (gaps_small && !runs.contiguous())
      for (int64_t chunk : {32 << 10, 128 << 10})
        add(kind, 0, chunk, false, "process_vm_readv with gaps");
  }
  return ways;
}

}  // namespace perf
