// Runs of blocking calls in which every edge is one message: made move by move in one loop,
// without the table of operations and the states of the edges. What cannot be done so at
// once, as a peer is late or sends something else, goes on in the general way from there.
#include "executor/engine.hpp"
#include "executor/lowering.hpp"
#include "executor/operation.hpp"
#include "sgl/copy.hpp"

#include <algorithm>
#include <cstring>

#include <sched.h>

namespace sgl {
namespace {

// Looks for a message before the general way takes over, which sees to everything else too.
constexpr int64_t kFewestLooks = 8, kMostLooks = 4096, kLookNs = 50;
// Turns given to ranks that share the processor, one of which has to send.
constexpr int kMostYields = 64;

}  // namespace

bool Operation::short_runs_fit() const {
  const Transport* transport = engine_.transport();
  return transport && transport->limits().can_peek && !plan_->short_run.empty() &&
         fits_in_message(transport->limits(), engine_.options().eager_bytes, plan_->longest_edge);
}

void Operation::run(uint32_t sequence) {
  if (!is_short_ || reduction_.user() || !engine_.may_run_short()) return start(sequence);
  sequence_ = sequence;
  const size_t made = run_short();
  if (made == plan_->short_run.size())
    status_ = {};
  else
    go_on_after(made);
}

size_t Operation::run_short() {
  const std::vector<ShortMove>& moves = plan_->short_run;
  size_t made = 0;
  while (made < moves.size() && make_move(moves[made])) ++made;
  return made;
}

bool Operation::make_move(const ShortMove& move) {
  if (move.kind == ShortMove::Kind::local) {
    const PlanStep& step = plan_->steps[move.step];
    if (step.kind == StepKind::reduce) reduce_part(step, 0, step.slice.length);
    if (step.kind == StepKind::copy && step.slice.length > 0)
      copy_to(view(step.slice), view(plan_->operands[step.first_operand].slice));
    return true;
  }
  if (move.kind == ShortMove::Kind::send) return send_eager(move.edge) == Post::done;
  Arrival arrival;
  const int peer = world_peer(move.edge);
  const bool early = engine_.find_early(peer, context_.id, sequence_, &arrival);
  if (!early && !await(peer, &arrival)) return false;
  if (!is_expected(move.edge, arrival.header)) return false;
  const Slice& slice = plan_->edges[move.edge].slice;
  if (move.kind == ShortMove::Kind::fold)
    fold(move, arrival);
  else if (move.kind == ShortMove::Kind::operand)
    edges_[move.edge].early.assign(arrival.payload.begin(), arrival.payload.end());
  else if (!is_signal(slice))
    unpack(view(slice), arrival.payload.data());
  engine_.counters().bytes_received += arrival.payload.size();
  engine_.counters().bytes_packed += arrival.payload.size();
  if (early)
    engine_.forget_early(peer, arrival.header);
  else
    engine_.transport()->take(peer);
  return true;
}

// False: nothing came in a while.
bool Operation::await(int peer, Arrival* arrival) {
  Transport& transport = *engine_.transport();
  const int64_t most = std::clamp(engine_.options().spin_ns / kLookNs, kFewestLooks, kMostLooks);
  int yields = engine_.options().shares_processor ? kMostYields : 0;
  for (int64_t looks = most; !transport.peek(peer, arrival);) {
    // Without it the looks take the line from the sender again and again.
    __builtin_ia32_pause();
    if (--looks > 0) continue;
    if (--yields < 0) return false;
    sched_yield();
    looks = most;
  }
  return true;
}

bool Operation::is_expected(int edge, const MessageHeader& came) const {
  const Slice& slice = plan_->edges[edge].slice;
  const MessageHeader expected =
      header(edge, MessageKind::eager, is_signal(slice) ? 0 : slice.length);
  return std::memcmp(&came, &expected, sizeof expected) == 0;
}

void Operation::fold(const ShortMove& move, const Arrival& arrival) {
  const PlanStep& step = plan_->steps[move.step];
  for (int edge = step.first_edge; edge <= move.edge; ++edge) {
    EdgeState& state = edges_[edge];
    const std::byte* bytes = edge == move.edge ? arrival.payload.data() : state.early.data();
    state.phase = EdgePhase::available;
    state.in_place = {const_cast<std::byte*>(bytes), &packed_[edge], 0, step.slice.length};
  }
  reduce_part(step, 0, step.slice.length);
}

// As if the moves had been made in the general way.
void Operation::go_on_after(size_t moves) {
  reset(sequence_);
  constexpr int kMade = -1;
  for (size_t i = 0; i < moves; ++i) {
    const ShortMove& move = plan_->short_run[i];
    if (move.kind == ShortMove::Kind::operand) {
      edges_[move.edge].has_payload = true;
      continue;
    }
    const PlanStep& step = plan_->steps[move.step];
    for (int edge = 0; edge < step.edge_count; ++edge) {
      edges_[step.first_edge + edge].phase = EdgePhase::done;
      edges_[step.first_edge + edge].has_payload = false;
    }
    dependencies_[move.step] = kMade;
    --steps_left_;
    for (int k = 0; k < step.successor_count; ++k)
      --dependencies_[plan_->successors[step.first_successor + k]];
  }
  auto ready = [this](int step) { return dependencies_[step] == 0; };
  std::ranges::copy_if(plan_->initial, std::back_inserter(ready_), ready);
  for (int step = 0; step < static_cast<int>(dependencies_.size()); ++step)
    if (ready(step) && plan_->steps[step].dependencies > 0) ready_.push_back(step);
  launch();
}

}  // namespace sgl
