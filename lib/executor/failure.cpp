// How an operation ends that cannot be completed: docs/protocols.md, "Failure".
#include "base/clock.hpp"
#include "executor/engine.hpp"
#include "executor/operation.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace sgl {
namespace {

constexpr int64_t kWaitedEnough = INT64_MAX;  // the time of a failure that was long ago

}  // namespace

void Operation::fail_edge(int edge, Status why) {
  fail(error(why.code(), "{} (step {} of {} \"{}\", with rank {})", why.text(),
             plan_->edges[edge].step, collective_name(plan_->problem.collective), plan_->algorithm,
             plan_->edges[edge].peer));
}

FailureCause Operation::cause_here(const Status& why) const {
  return {context_.world_ranks[static_cast<size_t>(context_.rank)], why.copy()};
}

void Operation::fail(Status why) {
  FailureCause cause = cause_here(why);
  fail(std::move(why), std::move(cause));
}

void Operation::fail(Status why, FailureCause cause) {
  if (!live()) return;
  status_ = std::move(why);
  cause_ = std::move(cause);
  failed_at_ns_ = now_ns();
  tell_abandon();
  finish_failed();
  engine_.break_context(context_, sequence_, status_.copy(), cause_);
}

// Every peer that has a part in this operation, for it may not notice by itself; and of
// each edge on which a peer may write, for its answer ends that.
void Operation::tell_abandon() {
  const std::vector<std::byte> payload = to_payload(cause_);
  std::unordered_set<int> told;
  for (size_t i = 0; i < edges_.size(); ++i) {
    if (!told.insert(plan_->edges[i].peer).second && !peer_may_write(edges_[i])) continue;
    const int edge = static_cast<int>(i);
    engine_.send_later(world_peer(edge),
                       header(edge, MessageKind::abandon, static_cast<int64_t>(payload.size())),
                       payload);
  }
}

bool Operation::peer_may_write(const EdgeState& edge) const {
  const bool reads_a_part =
      edge.phase == EdgePhase::reading && edge.path == Path::lists_both && !edge.stored;
  return edge.exposed &&
         (edge.phase == EdgePhase::receiving || edge.phase == EdgePhase::landing || reads_a_part);
}

// The user's memory is the user's again when nothing is on the way to or from it.
void Operation::finish_failed() {
  if (!running_) return;
  for (size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].abandoned_by_peer && edges_[i].in_flight == 0)
      answer_abandon(static_cast<int>(i));
    if (edges_[i].in_flight > 0 || peer_may_write(edges_[i])) return;
  }
  // Who does not call again would leave the others without a word.
  if (engine_.has_outgoing() && failed_at_ns_ != kWaitedEnough) return;
  for (size_t i = 0; i < edges_.size(); ++i)
    if (edges_[i].exposed) engine_.keep_exposed(transport(static_cast<int>(i)), edges_[i].memory);
  finish();
}

void Operation::answer_abandon(int edge) {
  edges_[edge].abandoned_by_peer = false;
  engine_.send_later(world_peer(edge), header(edge, MessageKind::abandoned, 0), {});
}

void Operation::deliver_to_failed(int edge, MessageKind kind) {
  if (edge < 0 || (kind != MessageKind::abandoned && kind != MessageKind::written)) return;
  EdgeState& state = edges_[edge];
  const bool more_will_come = kind == MessageKind::written && state.phase == EdgePhase::landing &&
                              ++state.stream.told * piece_bytes() < plan_->edges[edge].slice.length;
  if (peer_may_write(state) && !more_will_come) state.phase = EdgePhase::done;
  finish_failed();
}

bool Operation::advance_failed() {
  if (failed_at_ns_ == kWaitedEnough) return false;
  if (now_ns() - failed_at_ns_ < engine_.options().quiesce_ns) {
    finish_failed();
    return !running_;
  }
  failed_at_ns_ = kWaitedEnough;
  for (size_t i = 0; i < edges_.size(); ++i)
    if (peer_may_write(edges_[i]) || edges_[i].in_flight > 0)
      engine_.fail_peer(world_peer(static_cast<int>(i)),
                        error(SGLCOLL_ERR_PEER_FAILED, "rank {} did not answer after {}",
                              plan_->edges[i].peer, cause_.why.text()));
  finish_failed();
  return true;
}

bool Operation::needs(int rank) const {
  for (size_t i = 0; i < edges_.size(); ++i)
    if (plan_->edges[i].peer == rank && edges_[i].needs_peer()) return true;
  return false;
}

void Operation::on_peer_failed(int world_rank, const Status& why) {
  int rank = context_.rank_of(world_rank);
  if (rank < 0 || !running_) return;
  if (live() && !needs(rank)) return;
  const std::string waiting = live() ? describe_waiting(rank) : "";
  // It writes nothing any more, and nothing will come of it that says so.
  for (size_t i = 0; i < edges_.size(); ++i)
    if (plan_->edges[i].peer == rank && peer_may_write(edges_[i]))
      edges_[i].phase = EdgePhase::done;
  if (live()) return fail(error(why.code(), "{}; {}", why.text(), waiting), cause_here(why));
  finish_failed();
}

void Operation::on_abandon(int world_rank, const MessageHeader& header, FailureCause cause) {
  int rank = context_.rank_of(world_rank);
  for (size_t i = 0; rank >= 0 && i < edges_.size(); ++i)
    if (plan_->edges[i].sends && plan_->edges[i].peer == rank && plan_->edges[i].tag == header.tag)
      edges_[i].abandoned_by_peer = true;
  if (!live()) return finish_failed();
  on_broken(cause);
}

void Operation::on_broken(const FailureCause& cause) {
  if (!live()) return;
  fail(error(cause.why.code(), "{}; {}", cause.text(), describe_waiting(-1)), cause.copy());
}

}  // namespace sgl
