// Alltoall, Bruck: a block that has i ranks to go travels by the powers of two in i, so every
// rank sends ceil(log2 P) messages, each of about half of the blocks.
//
// The blocks of a message are packed once a hop: from the user's buffer at the first one, from
// where the earlier message landed at the others. Neither the rotation before nor the one
// after is needed, since the last hop's blocks come in the order in which the user wants them.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/slices.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace sgl {
namespace {

constexpr int kRecvStep = 0;  // of every round

// How many of the distances 0 to size - 1 have bit k, and how many of them are below i.
int64_t moved_in(int k, int64_t size) {
  const int64_t rest = size & ((int64_t{2} << k) - 1);
  return (size >> (k + 1) << k) + std::max<int64_t>(rest - (int64_t{1} << k), 0);
}

class Bruck {
 public:
  explicit Bruck(const Problem& problem)
      : problem_(problem), bytes_(problem.blocks.bytes(0)), size_(problem.size) {}

  std::vector<int64_t> temp_bytes() const {
    std::vector<int64_t> bytes;
    for (int k = 0; k < ceil_log2(problem_.size); ++k)
      bytes.insert(bytes.end(), 2, moved_in(k, size_) * bytes_);
    return bytes;
  }

  void generate(Round& round) const {
    const int rank = problem_.rank, size = problem_.size;
    const int k = static_cast<int>(round.number());
    const int to = shifted(rank, -(1 << k), size), from = shifted(rank, 1 << k, size);
    const int64_t all = moved_in(k, size_) * bytes_;
    const uint32_t tag = static_cast<uint32_t>(k);
    const StepRef came = round.recv(from, tag, {landing(k), 0, all});
    std::optional<StepRef> packed = take_input(k, round);
    for (int64_t i = int64_t{1} << k; i < size_; i += int64_t{2} << k)
      packed = pack_landed(k, i, packed, round);
    round.send(to, tag, {leaving(k), 0, all}, after(packed));
    deliver(k, came, round);
    if (k == 0 && !problem_.in_place)
      round.copy(one_block(kRecv, problem_.blocks, rank), one_block(kSend, problem_.blocks, rank));
  }

 private:
  static Buffer leaving(int k) { return kFirstTemp + 2 * k; }
  static Buffer landing(int k) { return kFirstTemp + 2 * k + 1; }
  // `count` blocks from distance i on, among those that move in round k.
  Slice moving(Buffer buffer, int k, int64_t i, int64_t count) const {
    return {buffer, moved_in(k, i) * bytes_, count * bytes_};
  }
  static Deps after(const std::optional<StepRef>& step) {
    Deps deps;
    if (step) deps.add(*step);
    return deps;
  }
  StepRef last_input() const { return {0, problem_.size - 1}; }  // in place

  // The blocks of this rank whose first hop is round k; in place those of all rounds at the
  // start, since later rounds overwrite them. Each copy waits for the one before it, so that
  // the last one stands for all.
  std::optional<StepRef> take_input(int k, Round& round) const {
    std::optional<StepRef> last;
    if (problem_.in_place && k > 0) return last_input();
    for (int hop = k; hop == k || (problem_.in_place && int64_t{1} << hop < size_); ++hop)
      for (int64_t i = int64_t{1} << hop; i < size_; i += int64_t{2} << hop) {
        const int to = shifted(problem_.rank, static_cast<int>(-i), problem_.size);
        last = round.copy(moving(leaving(hop), hop, i, 1),
                          one_block(problem_.input_buffer(), problem_.blocks, to), after(last));
      }
    return last;
  }

  // The blocks at distances i + 1 to i + 2^k - 1, which have come in the round of the highest
  // bit below k.
  std::optional<StepRef> pack_landed(int k, int64_t i, std::optional<StepRef> last,
                                     Round& round) const {
    for (int hop = 0; hop < k && i + (int64_t{1} << hop) < size_; ++hop) {
      const int64_t first = i + (int64_t{1} << hop);
      const int64_t count = std::min(int64_t{1} << hop, size_ - first);
      Deps before = after(last);
      before.add({hop, kRecvStep});
      last = round.copy(moving(leaving(k), k, first, count),
                        moving(landing(hop), hop, first, count), before);
    }
    return last;
  }

  // Those whose highest bit is k are where they belong.
  void deliver(int k, StepRef came, Round& round) const {
    const int first = 1 << k, count = std::min(first, problem_.size - first);
    Deps before;
    before.add(came);
    before.add_if(problem_.in_place, last_input());
    int64_t next = 0;
    for (const RankRange range :
         wrapped_range(shifted(problem_.rank, first, problem_.size), count, problem_.size)) {
      const Slice to = block_range(kRecv, problem_.blocks, range);
      if (to.length > 0) round.copy(to, {landing(k), next, to.length}, before);
      next += to.length;
    }
  }

  Problem problem_;
  int64_t bytes_, size_;
};

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("bruck", one_block(kRecv, problem.blocks, 0),
                     one_block(problem.input_buffer(), problem.blocks, 0));
  const Bruck bruck(problem);
  return {.algorithm = "bruck",
          .rounds = ceil_log2(problem.size),
          .temp_bytes = bruck.temp_bytes(),
          .generate = [bruck](Round& round) { bruck.generate(round); }};
}

ScheduleCost cost(const Problem& problem) {
  int64_t blocks = 0;
  for (int k = 0; k < ceil_log2(problem.size); ++k) blocks += moved_in(k, problem.size);
  return {.steps = ceil_log2(problem.size), .bytes = blocks * problem.blocks.largest()};
}

}  // namespace

// Not for the v and w forms: a rank would pass on blocks whose sizes it does not know.
Builder alltoall_bruck() {
  return {.collective = Collective::alltoall,
          .name = "bruck",
          .source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
