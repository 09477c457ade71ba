#include "floor/flow.hpp"

#include "floor/copies.hpp"
#include "sglperf/traffic.hpp"

#include <algorithm>

namespace perf {
namespace {

// From one buffer to the next: whole lines; large ones start on a page, as those of malloc do.
int64_t step_of(int blocks, const Shape& shape) {
  constexpr int64_t kPage = 4096;
  const int64_t bytes =
      std::max(blocks, 1) * shape.extent * static_cast<int64_t>(sizeof(int32_t)) + kSlack;
  const int64_t unit = bytes > kPage ? kPage : kLine;
  return (bytes + unit - 1) / unit * unit;
}

Sum sum_of(int owner, int block, int ranks) {
  Sum sum{owner, {}, {}};
  for (int rank = 0; rank < ranks; ++rank) sum.from.push_back({rank, false, block});
  return sum;
}

Flow reductions_of(const std::string& collective, int ranks) {
  Flow flow;
  if (collective == "reduce" || collective == "allreduce") {
    Sum sum = sum_of(0, 0, ranks);
    sum.shared = collective == "allreduce";
    for (int rank = 0; rank < (sum.shared ? ranks : 1); ++rank) sum.to.push_back({rank, true, 0});
    flow.sums.push_back(sum);
    return flow;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    flow.sums.push_back(sum_of(rank, rank, ranks));
    flow.sums.back().to.push_back({rank, true, 0});
  }
  return flow;
}

}  // namespace

Flow flow_of(const std::string& collective, int ranks) {
  if (is_reduction(collective)) return reductions_of(collective, ranks);
  Flow flow;
  auto add = [&](Place from) -> std::vector<Place>& {
    flow.moves.push_back({from, {}});
    return flow.moves.back().to;
  };
  for (int rank = 0; rank < ranks; ++rank) {
    if (collective.starts_with("allgather")) {
      std::vector<Place>& to = add({rank, false, 0});
      for (int other = 0; other < ranks; ++other) to.push_back({other, true, rank});
    } else if (collective.starts_with("alltoall")) {
      for (int other = 0; other < ranks; ++other)
        add({rank, false, other}).push_back({other, true, rank});
    } else if (collective.starts_with("gather")) {
      add({rank, false, 0}).push_back({0, true, rank});
    } else if (collective.starts_with("scatter")) {
      add({0, false, rank}).push_back({rank, true, 0});
    }
  }
  if (collective == "bcast") {
    std::vector<Place>& to = add({0, true, 0});
    for (int rank = 1; rank < ranks; ++rank) to.push_back({rank, true, 0});
  }
  return flow;
}

int64_t Field::bytes_of(const std::string& collective, int ranks, const Shape& shape, int calls) {
  int64_t bytes = 0;
  for (int rank = 0; rank < ranks; ++rank)
    bytes += calls * (step_of(blocks_sent(collective, rank, ranks, 0), shape) +
                      step_of(blocks_received(collective, rank, ranks, 0), shape));
  return bytes + int64_t{2} * 4096 * ranks;
}

Field::Field(std::byte* memory, const std::string& collective, int ranks, const Shape& shape,
             int calls)
    : memory_(memory),
      collective_(collective),
      ranks_(ranks),
      shape_(shape),
      calls_(calls),
      extent_bytes_(shape.extent * static_cast<int64_t>(sizeof(int32_t))) {
  int64_t next = 0;
  for (int rank = 0; rank < ranks; ++rank)
    for (int blocks :
         {blocks_sent(collective, rank, ranks, 0), blocks_received(collective, rank, ranks, 0)}) {
      starts_.push_back(next);
      steps_.push_back(step_of(blocks, shape));
      next = (next + calls * steps_.back() + 4095) / 4096 * 4096;  // no two ranks share a page
    }
}

Buffers Field::buffers_of(int rank, int call) const {
  return {reinterpret_cast<int32_t*>(at({rank, false, 0}, call)),
          reinterpret_cast<int32_t*>(at({rank, true, 0}, call))};
}

void Field::write(const Worker& worker, uint32_t salt, int calls) const {
  for (int rank = worker.index(); rank < ranks_; rank += worker.count())
    for (int call = 0; call < calls; ++call)
      write_inputs(pattern_of(rank, salt), shape_, buffers_of(rank, call));
}

bool Field::verify(const Worker& worker, uint32_t salt, int calls) const {
  bool right = true;
  for (int rank = worker.index(); rank < ranks_; rank += worker.count())
    for (int call = 0; call < calls; ++call)
      right &= perf::verify(pattern_of(rank, salt), shape_, buffers_of(rank, call).recv);
  return right;
}

}  // namespace perf
