#include "schedule/concrete.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace sgl::test {
namespace {

// A byte stands for the affine map x -> scale * x + offset modulo 2^64. Maps compose
// associatively and not commutatively; with scale 1 they commute as well.
struct Byte {
  uint64_t scale = 1, offset = 0;
  bool operator==(const Byte&) const = default;
};

Byte combined(const Byte& a, const Byte& b) {
  return {a.scale * b.scale, a.scale * b.offset + a.offset};
}

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

Byte input_byte(const Problem& problem, int rank, int64_t position) {
  const uint64_t value = mixed(static_cast<uint64_t>(rank) << 40 | static_cast<uint64_t>(position));
  return {problem.commutative ? 1 : mixed(value + 7) | 1, value};
}

// A run of one step: an edge's transfer, or the work of a copy or reduction.
struct Work {
  int step = -1;  // of the copy or reduction, or
  int edge = -1;
  int64_t done = 0, length = 0;
  uint64_t priority = 0;
};

struct LocalStep {
  Step step;
  int rank = 0;
  std::vector<Operand> operands;
  std::vector<int> successors;
  int deps_left = 1;  // the rank's entry is one
  int waiting_operands = 0;
  std::vector<int> incoming;  // edges
  bool started = false, finished = false;
};

struct MessageEdge {
  int sender = -1, receiver = -1;
  Slice from, to;
  bool into_reduction = false, in_place = false, signal = false;
};

class Run {
 public:
  Run(std::span<const Problem> problems, std::span<const Schedule> schedules, uint64_t seed)
      : problems_(problems), schedules_(schedules), random_(seed), entered_(problems.size()) {}

  std::string go() {
    unroll();
    if (failure_.empty()) match();
    if (failure_.empty()) fill();
    if (failure_.empty()) check_slices();
    if (!failure_.empty()) return failure_;
    eager_signals_ = random_() % 2;
    interleave();
    if (failure_.empty()) compare();
    return failure_;
  }

 private:
  const Blocks& blocks() const { return problems_[problems_[0].root].blocks; }
  void fail(std::string text) {
    if (failure_.empty()) failure_ = std::move(text);
  }

  void unroll() {
    for (size_t rank = 0; rank < schedules_.size(); ++rank) {
      std::vector<std::vector<int>> numbers;
      Round round;
      for (int64_t r = 0; r < schedules_[rank].rounds; ++r) {
        round.reset(r);
        schedules_[rank].generate(round);
        numbers.emplace_back();
        for (const Step& step : round.steps()) {
          const int number = static_cast<int>(steps_.size());
          LocalStep& local = steps_.emplace_back();
          local.step = step;
          local.rank = static_cast<int>(rank);
          const auto operands = round.operands(step);
          local.operands.assign(operands.begin(), operands.end());
          for (const StepRef& dep : round.deps(step)) {
            if (dep.round < 0 || dep.round > r || dep.index < 0 ||
                dep.index >= static_cast<int>(numbers[static_cast<size_t>(dep.round)].size()))
              return fail("a dependency on no earlier step");
            const int before =
                numbers[static_cast<size_t>(dep.round)][static_cast<size_t>(dep.index)];
            steps_[before].successors.push_back(number);
            ++steps_[number].deps_left;
          }
          numbers.back().push_back(number);
        }
      }
    }
  }

  static bool on_wire(const Slice& slice) { return slice.buffer == -1 || slice.length != 0; }

  void match() {
    std::map<std::tuple<int, int, uint32_t>, int> sends;
    auto valid = [&](int rank, int peer) {
      if (peer < 0 || peer >= static_cast<int>(problems_.size()) || peer == rank)
        fail("a peer that is not there");
    };
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
      const Step& step = steps_[i].step;
      if (step.kind != StepKind::send || !on_wire(step.slice)) continue;
      valid(steps_[i].rank, step.peer);
      if (!sends.emplace(std::tuple(steps_[i].rank, step.peer, step.tag), i).second)
        return fail("a message sent twice");
    }
    auto receive = [&](int number, int peer, uint32_t tag, const Slice& to, bool reduction) {
      valid(steps_[number].rank, peer);
      const auto found = sends.find({peer, steps_[number].rank, tag});
      if (found == sends.end()) return fail("a message that nobody sends, or is received twice");
      const Slice& from = steps_[found->second].step.slice;
      if (from.length != to.length || (from.buffer == -1) != (to.buffer == -1))
        fail("ends of different lengths");
      steps_[number].incoming.push_back(static_cast<int>(edges_.size()));
      edges_.push_back({found->second, number, from, to, reduction, reduction && random_() % 2 == 0,
                        from.buffer == -1});
      edge_of_send_[found->second] = static_cast<int>(edges_.size()) - 1;
      sends.erase(found);
    };
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
      const Step& step = steps_[i].step;
      if (step.kind == StepKind::recv && on_wire(step.slice))
        receive(i, step.peer, step.tag, step.slice, false);
      for (const Operand& operand : steps_[i].operands)
        if (operand.incoming() && operand.slice.length != 0)
          receive(i, operand.peer, operand.tag, operand.slice, true);
      steps_[i].waiting_operands = static_cast<int>(steps_[i].incoming.size());
    }
    if (!sends.empty()) fail("a message that nobody receives");
  }

  // Buffers with the ranks' inputs, and values of no meaning everywhere else.
  void fill() {
    uint64_t garbage = 1;
    for (size_t r = 0; r < problems_.size(); ++r) {
      const int rank = static_cast<int>(r);
      std::vector<std::vector<Byte>> buffers(2);
      const auto [send, recv] = user_bytes(rank);
      buffers[kSend].resize(static_cast<size_t>(send));
      buffers[kRecv].resize(static_cast<size_t>(recv));
      for (int64_t bytes : schedules_[r].temp_bytes)
        buffers.emplace_back(static_cast<size_t>(bytes));
      for (auto& buffer : buffers)
        for (Byte& byte : buffer) byte = {1, mixed(garbage++ << 20 | 0xabcde)};
      const Problem& problem = problems_[r];
      const Buffer input = problem.input_buffer();
      const int64_t start = input == kRecv && is_gather(problem) ? blocks().start(rank) : 0;
      for (int64_t i = 0; i < input_bytes(rank); ++i)
        buffers[input][static_cast<size_t>(start + i)] = input_byte(problem, rank, i);
      memory_.push_back(std::move(buffers));
    }
  }

  static bool is_gather(const Problem& problem) {
    return problem.collective == Collective::allgather ||
           problem.collective == Collective::allgatherv ||
           problem.collective == Collective::gather || problem.collective == Collective::gatherv;
  }
  int64_t input_bytes(int rank) const {
    const Problem& problem = problems_[static_cast<size_t>(rank)];
    switch (problem.collective) {
      case Collective::barrier:
        return 0;
      case Collective::bcast:
      case Collective::scatter:
      case Collective::scatterv:
        return rank == problem.root ? blocks().total() : 0;
      case Collective::alltoall:
      case Collective::alltoallv:
      case Collective::alltoallw:
        return problem.outgoing().total();
      default:
        return is_gather(problem) ? blocks().bytes(rank) : blocks().total();
    }
  }
  std::pair<int64_t, int64_t> user_bytes(int rank) const {
    const Problem& problem = problems_[static_cast<size_t>(rank)];
    const bool root = rank == problem.root;
    const int64_t send = problem.input_buffer() == kSend ? input_bytes(rank) : 0;
    switch (problem.collective) {
      case Collective::barrier:
        return {0, 0};
      case Collective::gather:
      case Collective::gatherv:
      case Collective::reduce:
        return {send, root ? blocks().total() : 0};
      case Collective::scatter:
      case Collective::scatterv:
        return {send, root && problem.in_place ? 0 : blocks().bytes(rank)};
      case Collective::reduce_scatter:
      case Collective::reduce_scatter_block:
        return {send, problem.in_place ? blocks().total() : blocks().bytes(rank)};
      case Collective::alltoall:
      case Collective::alltoallv:
      case Collective::alltoallw:
        return {send, problem.blocks.total()};
      default:
        return {send, blocks().total()};
    }
  }

  void check_slice(int rank, const Slice& slice, bool writes) {
    if (slice.length == 0) return;
    const auto& buffers = memory_[static_cast<size_t>(rank)];
    if (slice.buffer < 0 || slice.buffer >= static_cast<int>(buffers.size()) || slice.length < 0 ||
        slice.offset < 0 ||
        slice.offset + slice.length > static_cast<int64_t>(buffers[slice.buffer].size()))
      return fail("a slice outside its buffer");
    if (writes && slice.buffer == kSend) fail("an input is written");
  }
  void check_slices() {
    for (const LocalStep& local : steps_) {
      if (local.step.slice.buffer != -1)
        check_slice(local.rank, local.step.slice, local.step.kind != StepKind::send);
      for (const Operand& operand : local.operands) {
        check_slice(local.rank, operand.slice, operand.incoming());
        if (operand.slice.length != local.step.slice.length) fail("operands of different lengths");
      }
    }
  }

  void interleave() {
    for (int rank = 0; rank < static_cast<int>(problems_.size()); ++rank) entries_.push_back(rank);
    std::shuffle(entries_.begin(), entries_.end(), random_);
    while (failure_.empty() && (!entries_.empty() || !work_.empty())) {
      const size_t choices = work_.size() + (entries_.empty() ? 0 : 1);
      if (!entries_.empty() && random_() % choices == 0) {
        const int rank = entries_.back();
        entries_.pop_back();
        enter(rank);
      } else if (!work_.empty()) {
        progress(pick());
      }
    }
    for (const LocalStep& local : steps_)
      if (!local.finished) fail("deadlock");
  }

  // Mostly the work of the highest priority, so that some steps starve for long.
  size_t pick() {
    if (random_() % 4 == 0) return random_() % work_.size();
    size_t best = 0;
    for (size_t i = 1; i < work_.size(); ++i)
      if (work_[i].priority > work_[best].priority) best = i;
    return best;
  }

  void enter(int rank) {
    entered_[static_cast<size_t>(rank)] = true;
    int count = 0;
    for (int i = 0; i < static_cast<int>(steps_.size()); ++i)
      if (steps_[i].rank == rank) {
        ++count;
        release(i);
      }
    if (count == 0) leave(rank);
  }
  void release(int step) {
    if (--steps_[step].deps_left == 0) start(step);
  }

  void start(int number) {
    LocalStep& local = steps_[number];
    local.started = true;
    switch (local.step.kind) {
      case StepKind::send:
        if (!on_wire(local.step.slice)) return finish(number);
        return both_started(edge_of_send_[number]);
      case StepKind::recv:
        if (!on_wire(local.step.slice)) return finish(number);
        return both_started(local.incoming[0]);
      default:
        if (local.incoming.empty()) return add_work(number, -1, local.step.slice.length);
        for (int edge : local.incoming) both_started(edge);
    }
  }

  void both_started(int number) {
    const MessageEdge& edge = edges_[number];
    if (edge.signal && eager_signals_ && steps_[edge.sender].started &&
        !steps_[edge.sender].finished)
      finish(edge.sender);
    if (!steps_[edge.sender].started || !steps_[edge.receiver].started) return;
    if (edge.in_place) return operand_ready(edge.receiver);
    add_work(-1, number, edge.to.length);
  }
  void operand_ready(int step) {
    if (--steps_[step].waiting_operands == 0) add_work(step, -1, steps_[step].step.slice.length);
  }
  void add_work(int step, int edge, int64_t length) {
    work_.push_back({step, edge, 0, length, random_()});
  }

  void progress(size_t chosen) {
    Work work = work_[chosen];
    const int64_t left = work.length - work.done;
    const int64_t bytes =
        left <= 1 ? left : 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(left));
    for (int64_t i = work.done; i < work.done + bytes; ++i)
      work.edge >= 0 ? transfer(edges_[work.edge], i) : compute(steps_[work.step], i);
    work.done += bytes;
    if (work.done < work.length) {
      work_[chosen].done = work.done;
      return;
    }
    work_.erase(work_.begin() + static_cast<std::ptrdiff_t>(chosen));
    work.edge >= 0 ? transferred(edges_[work.edge]) : computed(work.step);
  }

  Byte& at(int rank, const Slice& slice, int64_t i) {
    return memory_[static_cast<size_t>(rank)][static_cast<size_t>(slice.buffer)]
                  [static_cast<size_t>(slice.offset + i)];
  }
  void transfer(const MessageEdge& edge, int64_t i) {
    if (!edge.signal)
      at(steps_[edge.receiver].rank, edge.to, i) = at(steps_[edge.sender].rank, edge.from, i);
  }
  void transferred(const MessageEdge& edge) {
    if (!steps_[edge.sender].finished) finish(edge.sender);
    edge.into_reduction ? operand_ready(edge.receiver) : finish(edge.receiver);
  }
  void compute(LocalStep& local, int64_t i) {
    Byte result;
    size_t next_edge = 0;
    for (size_t o = 0; o < local.operands.size(); ++o) {
      Byte value;
      const Operand& operand = local.operands[o];
      if (operand.incoming()) {
        const MessageEdge& edge = edges_[local.incoming[next_edge++]];
        value =
            edge.in_place ? at(steps_[edge.sender].rank, edge.from, i) : at(local.rank, edge.to, i);
      } else {
        value = at(local.rank, operand.slice, i);
      }
      result = o == 0 ? value : combined(result, value);
    }
    at(local.rank, local.step.slice, i) = result;
  }
  void computed(int step) {
    for (int edge : steps_[step].incoming)
      if (!steps_[edges_[edge].sender].finished) finish(edges_[edge].sender);
    finish(step);
  }

  void finish(int step) {
    steps_[step].finished = true;
    bool all = true;
    for (const LocalStep& local : steps_)
      if (local.rank == steps_[step].rank && !local.finished) all = false;
    if (all) leave(steps_[step].rank);
    for (size_t i = 0; i < steps_[step].successors.size(); ++i) release(steps_[step].successors[i]);
  }
  void leave(int rank) {
    if (problems_[0].collective != Collective::barrier) return;
    for (bool entered : entered_)
      if (!entered) fail(fmt::format("rank {} leaves the barrier too early", rank));
  }

  void compare() {
    for (int rank = 0; rank < static_cast<int>(problems_.size()); ++rank)
      for (int64_t i = 0; i < output_bytes(rank); ++i)
        if (at(rank, {kRecv, 0, 0}, i) != wanted(rank, i))
          return fail(fmt::format("rank {}: byte {} is wrong", rank, i));
  }
  int64_t output_bytes(int rank) const {
    const Problem& problem = problems_[static_cast<size_t>(rank)];
    if (problem.collective == Collective::reduce_scatter ||
        problem.collective == Collective::reduce_scatter_block)
      return blocks().bytes(rank);
    return user_bytes(rank).second;
  }
  Byte wanted(int rank, int64_t i) const {
    const Problem& problem = problems_[static_cast<size_t>(rank)];
    switch (problem.collective) {
      case Collective::bcast:
        return input_byte(problem, problem.root, i);
      case Collective::scatter:
      case Collective::scatterv:
        return input_byte(problem, problem.root, blocks().start(rank) + i);
      case Collective::alltoall:
      case Collective::alltoallv:
      case Collective::alltoallw: {
        int source = 0;
        while (i >= problem.blocks.start(source + 1)) ++source;
        const Blocks& theirs = problems_[static_cast<size_t>(source)].outgoing();
        return input_byte(problem, source, theirs.start(rank) + i - problem.blocks.start(source));
      }
      default:
        break;
    }
    if (is_gather(problem)) {
      int source = 0;
      while (i >= blocks().start(source) + blocks().bytes(source)) ++source;
      return input_byte(problem, source, i - blocks().start(source));
    }
    const bool whole =
        problem.collective == Collective::allreduce || problem.collective == Collective::reduce;
    const int64_t position = (whole ? 0 : blocks().start(rank)) + i;
    Byte result = input_byte(problem, 0, position);
    for (int source = 1; source < problem.size; ++source)
      result = combined(result, input_byte(problem, source, position));
    return result;
  }

  std::span<const Problem> problems_;
  std::span<const Schedule> schedules_;
  std::mt19937_64 random_;
  std::string failure_;
  std::vector<LocalStep> steps_;
  std::vector<MessageEdge> edges_;
  std::map<int, int> edge_of_send_;
  std::vector<std::vector<std::vector<Byte>>> memory_;
  std::vector<bool> entered_;
  std::vector<int> entries_;
  std::vector<Work> work_;
  bool eager_signals_ = false;
};

}  // namespace

std::string run_concrete(std::span<const Problem> problems, std::span<const Schedule> schedules,
                         uint64_t seed) {
  return Run(problems, schedules, seed).go();
}

}  // namespace sgl::test
