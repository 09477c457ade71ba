// Edges whose sender copies into the receiver's memory, all of the bytes or their end while the
// receiver takes the rest: it stores to what it can map, and writes to the rest by the kernel. For
// collectives with a root, where else one of the two processors would wait for the other.
#include "executor/engine.hpp"
#include "executor/operation.hpp"

namespace sgl {

int64_t Operation::stored_bytes(int edge) const {
  return bytes_to_store(transport(edge).limits(), flow_, plan_->problem.size,
                        plan_->edges[edge].slice.length);
}

// ---- The receiving end

// As far as is known here: of what is sent from a root the offer has come.
bool Operation::can_ask_to_store(int edge) {
  EdgeState& state = edges_[edge];
  if (state.declined || plan_->edges[edge].operand >= 0 || stored_bytes(edge) == 0) return false;
  const View target = view(plan_->edges[edge].slice);
  if (!expose(edge, target, true).ok()) return false;
  if (transport(edge).mappable(state.memory)) return true;
  const TransportLimits& limits = transport(edge).limits();
  return fit_to_write(limits, flow_, *target.layout, target.length) &&
         (flow_ == Flow::to_root ||
          fit_to_write(limits, flow_, state.remote_layout, target.length));
}

// Before an offer has come: the sender stores while this rank does what else it has to do.
void Operation::invite(int edge) {
  const int64_t length = plan_->edges[edge].slice.length;
  if (is_signal(plan_->edges[edge].slice) || flow_ != Flow::to_root) return;
  if (goes_at_once(transport(edge).limits(), engine_.options().eager_bytes, length)) return;
  if (can_ask_to_store(edge)) ask_to_store(edge, Path::store, View{});
}

// source: of what this rank loads a part itself, by path map_both.
void Operation::ask_to_store(int edge, Path path, const View& source) {
  edges_[edge].in_place = source;
  edges_[edge].path = path;
  begin_ask(edge, MessageKind::ask_store);
}

bool Operation::answer_with_store(int edge) {
  EdgeState& state = edges_[edge];
  const View target = view(plan_->edges[edge].slice);
  Offer place{state.memory, target.offset, target.length, 0, OfferedLayout::opaque, 0};
  if (!describe_layout(edge, *target.layout, &place)) return false;
  if (place.layout == OfferedLayout::opaque) {
    take_declined(edge);
    return true;
  }
  if (send_struct(edge, MessageKind::ask_store, &place, sizeof place) != Post::done) return false;
  const int64_t own = target.length - stored_bytes(edge);
  if (state.path == Path::lists_both) {
    state.phase = EdgePhase::reading;
    compile(edge, Path::lists_both, 0, own);
    return post_batches(edge);
  }
  state.phase = EdgePhase::receiving;
  if (state.path == Path::map_both) {
    copy_to(target.part(0, own), state.in_place.part(0, own));
    engine_.counters().bytes_direct += static_cast<uint64_t>(own);
  }
  return true;
}

// Nothing is stored; the offer that has come or will come is taken in another way.
void Operation::take_declined(int edge) {
  edges_[edge].declined = true;
  if (edges_[edge].phase != EdgePhase::reading) take_otherwise(edge);  // else when that is over
}

void Operation::take_otherwise(int edge) {
  EdgeState& state = edges_[edge];
  state.moved = 0;
  state.phase = EdgePhase::awaiting_data;
  if (state.has_offer) take_offer(edge);
}

// ---- The sending end

// In answer to an offer, or before this end has begun.
void Operation::take_place(int edge, std::span<const std::byte> payload) {
  if (!read_place(edge, payload)) return;
  EdgeState& state = edges_[edge];
  state.invited = true;
  if (state.phase == EdgePhase::awaiting_answer && store(edge)) drive(edge);
}

// False: this process cannot reach the place, and has said so.
bool Operation::store(int edge) {
  EdgeState& state = edges_[edge];
  const Edge& planned = plan_->edges[edge];
  state.invited = false;
  if (state.offer.length != planned.slice.length) {
    fail_edge(edge, error(SGLCOLL_ERR_MISMATCH,
                          "rank {} expects {} bytes where {} are sent: counts or types differ",
                          planned.peer, state.offer.length, planned.slice.length));
    return true;
  }
  if (remote_layout_known(edge) && (store_mapped(edge) || write_lists(edge))) return true;
  send_in_order(edge, MessageKind::declined, nullptr, 0);
  return false;
}

bool Operation::store_mapped(int edge) {
  EdgeState& state = edges_[edge];
  const View source = view(plan_->edges[edge].slice);
  View target = remote_view(edge);
  target.base = transport(edge).map(world_peer(edge), state.offer.memory,
                                    state.remote_layout.true_lb(), state.remote_layout.true_ub());
  if (!target.base) return false;
  const int64_t bytes = stored_bytes(edge);
  copy_to(target.part(source.length - bytes, bytes), source.part(source.length - bytes, bytes));
  engine_.counters().bytes_direct += static_cast<uint64_t>(bytes);
  state.path = bytes < source.length ? Path::map_both : Path::store;
  state.phase = EdgePhase::notifying;
  return true;
}

bool Operation::write_lists(int edge) {
  EdgeState& state = edges_[edge];
  const View source = view(plan_->edges[edge].slice);
  const Transport& way = transport(edge);
  if (!fit_to_write(way.limits(), flow_, *source.layout, source.length)) return false;
  if (!way.reachable(state.offer.memory)) return false;
  const int64_t bytes = stored_bytes(edge);
  state.phase = EdgePhase::writing;
  compile(edge, bytes < source.length ? Path::lists_both : Path::write_lists, source.length - bytes,
          bytes);
  return true;
}

}  // namespace sgl
