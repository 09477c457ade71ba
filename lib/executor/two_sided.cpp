// Edges whose bytes go from a list of posted sends into a list of posted receives.
//
// The receiver posts the receives of a batch and grants it. The sender posts the batches of
// all operations in the order in which their grants came, for a receive queue is first in,
// first out. Both ends compile the same batches, of which each posts its own lists.
#include "executor/engine.hpp"
#include "executor/operation.hpp"

#include <cstring>

namespace sgl {

// The side that may pack is the compiler's local one, at both ends.
void Operation::compile_lists(int edge) {
  EdgeState& state = edges_[edge];
  transport(edge).will_use(view(plan_->edges[edge].slice));
  SglLimits limits = transport(edge).limits().sgl;
  const bool receiver_packs = state.offer.flag != 0;
  if (receiver_packs) std::swap(limits.max_send_sge, limits.max_recv_sge);
  View packing = view(plan_->edges[edge].slice), other = remote_view(edge);
  const bool turned = receiver_packs == plan_->edges[edge].sends;
  if (turned) std::swap(packing, other);
  state.transfer.begin(packing, other, TransferShape::send_receive, limits,
                       transfer_rules(transport(edge).limits()), turned);
}

// ---- The receiving end

// The first answer needs a posted receive and the peer's knowledge of this end's layout.
bool Operation::answer_with_lists(int edge) {
  EdgeState& state = edges_[edge];
  const View target = view(plan_->edges[edge].slice);
  Offer place{{reinterpret_cast<uint64_t>(target.base), 0},
              target.offset,
              target.length,
              0,
              OfferedLayout::opaque,
              state.offer.flag};
  if (!describe_layout(edge, *target.layout, &place)) return false;
  if (place.layout == OfferedLayout::opaque) return push_instead(edge);
  if (!state.answer_ready) {
    compile_lists(edge);
    state.answer_ready = true;
  }
  state.has_next(state.transfer);
  Result<Post> posted = post_receive(edge);
  if (!posted.ok()) return push_instead(edge);
  if (posted.value() == Post::busy) return false;
  send_in_order(edge, MessageKind::ask_send, &place, sizeof place);
  state.phase = EdgePhase::posting_receives;
  grant(edge);
  return post_receives(edge);
}

bool Operation::push_instead(int edge) {
  edges_[edge].answer = MessageKind::ask_push;
  return send_answer(edge);
}

Result<Post> Operation::post_receive(int edge) {
  EdgeState& state = edges_[edge];
  ++state.in_flight;
  Result<Post> posted = transport(edge).post_receive(world_peer(edge), state.next->batch,
                                                     view(plan_->edges[edge].slice),
                                                     OperationTable::token(*this, edge));
  if (!posted.ok() || posted.value() != Post::done) --state.in_flight;
  return posted;
}

void Operation::grant(int edge) {
  const CompiledTransfer::Item& posted = *edges_[edge].next;
  const Grant grant{static_cast<uint32_t>(posted.batch.wrs.size())};
  send_in_order(edge, MessageKind::grant, &grant, sizeof grant);
  engine_.counters().bytes_direct +=
      static_cast<uint64_t>(posted.batch.bytes - posted.packed_bytes);
  count_batch(edge);
}

// False: some are left to be posted or have not completed.
bool Operation::post_receives(int edge) {
  EdgeState& state = edges_[edge];
  while (state.has_next(state.transfer)) {
    Result<Post> posted = post_receive(edge);
    if (!posted.ok()) {
      fail_edge(edge, std::move(posted.status()));
      return true;
    }
    if (posted.value() == Post::busy) return false;
    grant(edge);
  }
  if (state.in_flight > 0) return false;
  engine_.counters().bytes_received += static_cast<uint64_t>(plan_->edges[edge].slice.length);
  data_landed(edge);
  return true;
}

// ---- The sending end

// False: not all grants have come, or not all sends have completed.
bool Operation::finish_sends(int edge) {
  EdgeState& state = edges_[edge];
  if (state.in_flight > 0 || state.moved < plan_->edges[edge].slice.length) return false;
  engine_.counters().bytes_sent += static_cast<uint64_t>(state.moved);
  complete_edge(edge);
  return true;
}

Post Operation::post_granted(int world_rank, uint32_t tag, uint32_t wrs) {
  if (!live()) return Post::failed;
  const int rank = context_.rank_of(world_rank);
  const int edge = rank < 0 ? -1 : plan_->find_edge(rank, tag, true);
  if (edge < 0 || edges_[edge].phase != EdgePhase::posting_sends ||
      !edges_[edge].has_next(edges_[edge].transfer) || edges_[edge].next->batch.wrs.size() != wrs) {
    fail(error(SGLCOLL_ERR_INTERNAL,
               "rank {} grants {} requests of message {}, which this rank does not have to send",
               world_rank, wrs, tag));
    return Post::failed;
  }
  EdgeState& state = edges_[edge];
  ++state.in_flight;
  Result<Post> posted =
      transport(edge).post_send(world_rank, state.next->batch, view(plan_->edges[edge].slice),
                                OperationTable::token(*this, edge));
  if (posted.ok() && posted.value() == Post::done) {
    count_batch(edge);
    return Post::done;
  }
  --state.in_flight;
  if (posted.ok()) return Post::busy;
  fail_edge(edge, std::move(posted.status()));
  return Post::failed;
}

}  // namespace sgl
