// The sending end of an edge.
#include "executor/engine.hpp"
#include "executor/lowering.hpp"
#include "executor/operation.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {

void Operation::start_send(int edge) {
  edges_[edge].phase = EdgePhase::sending;
  drive(edge);
}

// The whole slice in one message; of a signal the message alone.
Post Operation::send_eager(int edge) {
  const Slice& slice = plan_->edges[edge].slice;
  if (is_signal(slice)) return send(edge, MessageKind::eager, nullptr, 0);
  View payload = view(slice);
  const Post posted = send(edge, MessageKind::eager, &payload, slice.length);
  if (posted != Post::done) return posted;
  engine_.counters().bytes_sent += static_cast<uint64_t>(slice.length);
  engine_.counters().bytes_packed += static_cast<uint64_t>(slice.length);
  return posted;
}

// Short payloads travel at once, larger ones are offered. False: no room yet.
bool Operation::send_first(int edge) {
  const Slice& slice = plan_->edges[edge].slice;
  const TransportLimits& limits = transport(edge).limits();
  const std::optional<int64_t> eager_bytes = engine_.options().eager_bytes;
  const bool at_once =
      goes_at_once(limits, eager_bytes, slice.length) && engine_.takes_eager(world_peer(edge));
  if (is_signal(slice) || (at_once && fits_in_message(limits, eager_bytes, slice.length))) {
    if (send_eager(edge) != Post::done) return false;
    complete_edge(edge);
    return true;
  }
  if (at_once && would_ask_push(limits, flow_, view(slice)) && !mappable(edge))
    return push_unasked(edge);
  switch (send_offer(edge)) {
    case Post::busy:
      return false;
    case Post::failed:
      return true;
    case Post::done:
      break;
  }
  // But for a place to store to, no answer can have come yet.
  edges_[edge].phase = EdgePhase::awaiting_answer;
  return !(edges_[edge].invited && store(edge)) || advance_edge(edge);
}

// Whether the peer could do with one copy of what the edge sends.
bool Operation::mappable(int edge) {
  if (!transport(edge).limits().can_map) return false;
  return expose(edge, view(plan_->edges[edge].slice), false).ok() &&
         transport(edge).mappable(edges_[edge].memory);
}

// The offer tells the length only, so that a peer that expects another one notices.
bool Operation::push_unasked(int edge) {
  const Slice& slice = plan_->edges[edge].slice;
  Offer offer{{}, slice.offset, slice.length, 0, OfferedLayout::pushed, 0};
  if (send_struct(edge, MessageKind::offer, &offer, sizeof offer) != Post::done) return false;
  edges_[edge].phase = EdgePhase::pushing;
  return push(edge);
}

Post Operation::send_offer(int edge) {
  EdgeState& state = edges_[edge];
  View source = view(plan_->edges[edge].slice);
  if (Status exposed = expose(edge, source, false); !exposed.ok()) {
    fail_edge(edge, std::move(exposed));
    return Post::failed;
  }
  Offer offer{state.memory, source.offset, source.length, 0, OfferedLayout::opaque, 0};
  const Transport& way = transport(edge);
  bool useful = way.reachable(state.memory) &&
                worth_describing(way.limits(), *source.layout, way.mappable(state.memory));
  if (useful && !describe_layout(edge, *source.layout, &offer)) return Post::busy;
  return send_struct(edge, MessageKind::offer, &offer, sizeof offer);
}

Status Operation::expose(int edge, const View& memory, bool write) {
  EdgeState& state = edges_[edge];
  if (state.exposed) return {};
  Result<RemoteMemory> exposed = transport(edge).expose(memory, write);
  if (!exposed.ok()) return std::move(exposed.status());
  state.memory = exposed.value();
  state.exposed = true;
  return {};
}

bool Operation::describe_layout(int edge, const Layout& layout, Offer* offer) {
  if (layout.contiguous()) {
    offer->layout = OfferedLayout::contiguous;
    offer->layout_hash = static_cast<uint64_t>(layout.true_lb());
    return true;
  }
  switch (engine_.layouts().announce(transport(edge), world_peer(edge), layout)) {
    case LayoutDirectory::Known::busy:
      return false;
    case LayoutDirectory::Known::too_large:
      offer->layout = OfferedLayout::opaque;
      return true;
    case LayoutDirectory::Known::yes:
      break;
  }
  offer->layout = OfferedLayout::announced;
  offer->layout_hash = layout.hash();
  return true;
}

// Where an answer asks for the bytes. Fails the edge when it does not say.
bool Operation::read_place(int edge, std::span<const std::byte> payload) {
  if (payload.size() == sizeof(Offer)) {
    std::memcpy(&edges_[edge].offer, payload.data(), sizeof(Offer));
    return true;
  }
  fail_edge(edge,
            error(SGLCOLL_ERR_INTERNAL, "an answer of {} bytes is not an offer", payload.size()));
  return false;
}

void Operation::take_answer(int edge, MessageKind kind, std::span<const std::byte> payload) {
  EdgeState& state = edges_[edge];
  const bool begun = state.phase != EdgePhase::idle && state.phase != EdgePhase::sending;
  if (kind == MessageKind::ask_store && (!begun || state.phase == EdgePhase::awaiting_answer))
    return take_place(edge, payload);
  if (state.phase != EdgePhase::awaiting_answer)
    return fail_edge(edge,
                     error(SGLCOLL_ERR_INTERNAL, "an answer came to a send that awaits none"));
  switch (kind) {
    case MessageKind::fetched:
      engine_.counters().bytes_sent += static_cast<uint64_t>(plan_->edges[edge].slice.length);
      return complete_edge(edge);
    case MessageKind::ask_push:
      state.phase = EdgePhase::pushing;
      return drive(edge);
    case MessageKind::ask_send:
    case MessageKind::ask_write: {
      if (!read_place(edge, payload)) return;
      if (!remote_layout_known(edge))
        return fail_edge(
            edge, error(SGLCOLL_ERR_INTERNAL, "the place to write to has an unknown layout"));
      if (kind == MessageKind::ask_send) {
        state.phase = EdgePhase::posting_sends;
        compile_lists(edge);
      } else if (state.offer.flag != 0) {
        begin_writing_pieces(edge);
      } else {
        state.phase = EdgePhase::writing;
        compile(edge, Path::write, 0, plan_->edges[edge].slice.length);
      }
      return drive(edge);
    }
    default:
      return fail_edge(edge, error(SGLCOLL_ERR_INTERNAL, "message kind {} is no answer",
                                   static_cast<int>(kind)));
  }
}

// Fragments while there is room. False: some are left.
bool Operation::push(int edge) {
  EdgeState& state = edges_[edge];
  View source = view(plan_->edges[edge].slice);
  // Whole elements, so that a receiver can reduce what it has got.
  const int64_t element = element_bytes();
  const int64_t most = transport(edge).limits().max_message_bytes / element * element;
  while (state.moved < source.length) {
    View piece = source.part(state.moved, std::min(most, source.length - state.moved));
    if (send(edge, MessageKind::fragment, &piece, piece.length) != Post::done) return false;
    state.moved += piece.length;
    engine_.counters().bytes_packed += static_cast<uint64_t>(piece.length);
  }
  engine_.counters().bytes_sent += static_cast<uint64_t>(source.length);
  complete_edge(edge);
  return true;
}

bool Operation::notify(int edge) {
  if (send(edge, MessageKind::written, nullptr, 0) != Post::done) return false;
  if (edges_[edge].is_shared()) {  // the receiver has its own part to load
    edges_[edge].phase = EdgePhase::awaiting_answer;
    return true;
  }
  engine_.counters().bytes_sent += static_cast<uint64_t>(plan_->edges[edge].slice.length);
  complete_edge(edge);
  return true;
}

}  // namespace sgl
