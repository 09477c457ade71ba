// The receiving end of an edge, and the batches of both ends.
#include "executor/engine.hpp"
#include "executor/operation.hpp"
#include "sgl/copy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sgl {

void Operation::start_receive(int edge) {
  EdgeState& state = edges_[edge];
  state.phase = EdgePhase::awaiting_data;
  if (state.has_payload) return take_eager(edge, state.early);
  if (state.has_offer) return take_offer(edge);
  invite(edge);
}

// Fails the edge when not.
bool Operation::has_expected_length(int edge, int64_t bytes) {
  const Edge& planned = plan_->edges[edge];
  if (bytes == planned.slice.length) return true;
  fail_edge(edge, error(SGLCOLL_ERR_MISMATCH,
                        "rank {} sent {} bytes where {} are expected: counts or types differ",
                        planned.peer, bytes, planned.slice.length));
  return false;
}

void Operation::take_eager(int edge, std::span<const std::byte> payload) {
  EdgeState& state = edges_[edge];
  const Edge& planned = plan_->edges[edge];
  if (!has_expected_length(edge, static_cast<int64_t>(payload.size()))) return;
  if (state.phase == EdgePhase::idle) {
    state.early.assign(payload.begin(), payload.end());
    state.has_payload = true;
    return;
  }
  engine_.counters().bytes_received += payload.size();
  engine_.counters().bytes_packed += payload.size();
  if (is_signal(planned.slice)) return complete_edge(edge);
  if (planned.operand < 0 || reduction_.user()) {
    unpack(view(planned.slice), payload.data());
    return data_landed(edge);
  }
  // A reduction reads the payload where it lies, if it can run before it is gone.
  auto* bytes = const_cast<std::byte*>(payload.data());
  state.in_place = {bytes, &packed_[edge], 0, planned.slice.length};
  state.phase = EdgePhase::available;
  if (operands_ready(plan_->steps[planned.step])) return try_reduce(planned.step);
  if (!state.has_payload) state.early.assign(payload.begin(), payload.end());
  state.in_place.base = state.early.data();
}

void Operation::take_fragment(int edge, std::span<const std::byte> payload) {
  EdgeState& state = edges_[edge];
  const Edge& planned = plan_->edges[edge];
  if (state.phase == EdgePhase::idle && state.is_pushed()) return keep_fragment(edge, payload);
  auto bytes = static_cast<int64_t>(payload.size());
  if (state.phase != EdgePhase::receiving || bytes > planned.slice.length - state.moved)
    return fail_edge(edge, error(SGLCOLL_ERR_INTERNAL,
                                 "a fragment of {} bytes came that was not asked for", bytes));
  engine_.counters().bytes_received += payload.size();
  engine_.counters().bytes_packed += payload.size();
  const bool lands = !reduces_fragments(planned);
  if (lands)
    unpack_to(view(planned.slice).part(state.moved, bytes), payload.data());
  else
    reduce_fragment(edge, payload);
  state.moved += bytes;
  if (state.moved < planned.slice.length) return;
  if (lands) return data_landed(edge);
  state.phase = EdgePhase::available;
  try_reduce(planned.step);
}

// Of a step that has not started.
void Operation::keep_fragment(int edge, std::span<const std::byte> payload) {
  EdgeState& state = edges_[edge];
  std::vector<std::byte>& early = state.early;
  if (std::ssize(early) + std::ssize(payload) > state.offer.length)
    return fail_edge(edge, error(SGLCOLL_ERR_INTERNAL, "more than the {} bytes offered came",
                                 state.offer.length));
  early.insert(early.end(), payload.begin(), payload.end());
}

void Operation::take_kept_fragments(int edge) {
  EdgeState& state = edges_[edge];
  state.phase = EdgePhase::receiving;
  if (!state.early.empty()) take_fragment(edge, state.early);
}

bool Operation::remote_layout_known(int edge) {
  EdgeState& state = edges_[edge];
  switch (state.offer.layout) {
    case OfferedLayout::contiguous: {
      int64_t end = state.offer.payload_offset + plan_->edges[edge].slice.length;
      auto lowest = static_cast<int64_t>(state.offer.layout_hash);
      if (state.remote_layout.contiguous() && state.remote_layout.true_lb() == lowest &&
          state.remote_layout.size() == end)
        return true;
      state.remote_layout = Layout::run(lowest, end);
      return true;
    }
    case OfferedLayout::announced: {
      const Layout* layout = engine_.layouts().find(world_peer(edge), state.offer.layout_hash);
      if (!layout || state.offer.payload_offset < 0 ||
          state.offer.payload_offset + plan_->edges[edge].slice.length > layout->size())
        return false;
      state.remote_layout = *layout;
      return true;
    }
    case OfferedLayout::opaque:
    case OfferedLayout::pushed:
      return false;
  }
  return false;
}

// The shape is this end's to choose: it knows both layouts and its own memory.
void Operation::take_offer(int edge) {
  EdgeState& state = edges_[edge];
  const Transport& way = transport(edge);
  if (!has_expected_length(edge, state.offer.length)) return;
  if (state.is_pushed()) return take_kept_fragments(edge);
  if (flow_ == Flow::to_root && can_ask_to_store(edge))
    return ask_to_store(edge, Path::store, View{});
  if (!remote_layout_known(edge)) return begin_ask(edge, MessageKind::ask_push);
  if (try_map(edge)) return;
  const View here = view(plan_->edges[edge].slice);
  const Path path =
      bulk_path(way.limits(), flow_, here, remote_view(edge), way.reachable(state.offer.memory));
  switch (path) {
    case Path::lists_both:
      if (can_ask_to_store(edge)) return ask_to_store(edge, path, View{});
      return begin_ask(edge, MessageKind::ask_push);
    case Path::read_lists:
    case Path::read:
      return begin_read(edge, path);
    case Path::write:
      return begin_ask(edge, MessageKind::ask_write);
    case Path::send:
      state.offer.flag = receiver_packs(way.limits(), here) ? 1 : 0;
      return begin_ask(edge, MessageKind::ask_send);
    default:
      return begin_ask(edge, MessageKind::ask_push);
  }
}

View Operation::remote_view(int edge) const {
  const EdgeState& state = edges_[edge];
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* base = reinterpret_cast<std::byte*>(state.offer.memory.address);
  return {base, &state.remote_layout, state.offer.payload_offset, plan_->edges[edge].slice.length};
}

// Reads the sender's memory by plain loads when it can be mapped.
bool Operation::try_map(int edge) {
  EdgeState& state = edges_[edge];
  const Edge& planned = plan_->edges[edge];
  Transport& way = transport(edge);
  if (!way.limits().can_map) return false;
  std::byte* base = way.map(world_peer(edge), state.offer.memory, state.remote_layout.true_lb(),
                            state.remote_layout.true_ub());
  if (!base) return false;
  View source = remote_view(edge);
  source.base = base;
  if (flow_ == Flow::from_root && can_ask_to_store(edge)) {
    ask_to_store(edge, Path::map_both, source);
    return true;
  }
  engine_.counters().bytes_received += static_cast<uint64_t>(source.length);
  engine_.counters().bytes_direct += static_cast<uint64_t>(source.length);
  if (planned.operand >= 0 && !reduction_.user()) {
    state.in_place = source;
    state.holds_source = true;
    state.phase = EdgePhase::available;
    try_reduce(planned.step);
    return true;
  }
  copy_to(view(planned.slice), source);
  state.phase = EdgePhase::releasing;
  drive(edge);
  return true;
}

void Operation::begin_read(int edge, Path path) {
  if (worth_streaming(plan_->edges[edge])) {
    begin_stream(edge, path);
  } else {
    edges_[edge].phase = EdgePhase::reading;
    compile(edge, path, 0, plan_->edges[edge].slice.length);
  }
  drive(edge);
}

void Operation::compile(int edge, Path path, int64_t from, int64_t bytes) {
  EdgeState& state = edges_[edge];
  const View here = view(plan_->edges[edge].slice).part(from, bytes);
  transport(edge).will_use(here);
  const TransportLimits& limits = transport(edge).limits();
  state.path = path;
  state.transfer.begin(here, remote_view(edge).part(from, bytes), shape_of(path), limits.sgl,
                       transfer_rules(limits));
}

// Failed: the operation has failed.
Post Operation::post_next(int edge, const View& local, int place) {
  EdgeState& state = edges_[edge];
  ++state.in_flight;  // before posting: the completion may come at once
  const bool writes_lists = state.phase == EdgePhase::writing && state.path != Path::write;
  const auto post = writes_lists ? &Transport::post_to : &Transport::post;
  Post posted =
      (transport(edge).*post)(world_peer(edge), state.next->batch, local, state.offer.memory,
                              OperationTable::token(*this, edge, place));
  if (posted == Post::done) {
    engine_.counters().bytes_direct +=
        static_cast<uint64_t>(state.next->batch.bytes - state.next->packed_bytes);
    count_batch(edge);
    return posted;
  }
  --state.in_flight;
  if (posted == Post::failed)
    fail_edge(edge, error(SGLCOLL_ERR_SYSTEM, "a batch could not be posted"));
  return posted;
}

// Posts batches while there is room. False: some are left or in flight.
bool Operation::post_batches(int edge) {
  EdgeState& state = edges_[edge];
  const View local = view(plan_->edges[edge].slice);
  while (state.has_next(state.transfer))
    if (Post posted = post_next(edge, local); posted != Post::done) return posted == Post::failed;
  if (state.in_flight > 0) return false;
  if (state.phase == EdgePhase::writing) {
    state.phase = EdgePhase::notifying;
    return notify(edge);
  }
  if (state.path == Path::lists_both && !state.stored) {
    state.phase = EdgePhase::receiving;
    if (state.declined) take_otherwise(edge);
    return true;
  }
  engine_.counters().bytes_received += static_cast<uint64_t>(plan_->edges[edge].slice.length);
  state.phase = EdgePhase::releasing;
  return release_source(edge);
}

// Of a batch that has been posted.
void Operation::count_batch(int edge) {
  EdgeState& state = edges_[edge];
  const Batch& batch = std::exchange(state.next, nullptr)->batch;
  state.moved += batch.bytes;
  sglcoll_counters& counters = engine_.counters();
  counters.bytes_packed += static_cast<uint64_t>(packed_bytes(batch));
  ++counters.batches;
  counters.work_requests += batch.wrs.size();
  counters.segments += batch.local.size() + batch.remote.size();
}

void Operation::on_complete(int edge, int place, Status status) {
  EdgeState& state = edges_[edge];
  --state.in_flight;
  if (state.phase == EdgePhase::streaming || state.phase == EdgePhase::writing_pieces)
    --state.stream.in_flight[place];
  if (!status_.ok()) return finish_failed();
  if (!status.ok()) return fail_edge(edge, std::move(status));
  if (state.phase == EdgePhase::streaming) try_reduce(plan_->edges[edge].step);
}

void Operation::begin_ask(int edge, MessageKind kind) {
  edges_[edge].answer = kind;
  edges_[edge].phase = EdgePhase::answering;
  drive(edge);
}

bool Operation::send_answer(int edge) {
  EdgeState& state = edges_[edge];
  if (state.answer == MessageKind::ask_write) return answer_with_place(edge);
  if (state.answer == MessageKind::ask_send) return answer_with_lists(edge);
  if (state.answer == MessageKind::ask_store) return answer_with_store(edge);
  if (send(edge, MessageKind::ask_push, nullptr, 0) != Post::done) return false;
  state.phase = EdgePhase::receiving;
  return true;
}

bool Operation::answer_with_place(int edge) {
  EdgeState& state = edges_[edge];
  View target = view(plan_->edges[edge].slice);
  if (!expose(edge, target, true).ok()) return push_instead(edge);
  Offer place{state.memory, target.offset, target.length, 0, OfferedLayout::opaque, 0};
  // Only a contiguous slice is asked for, so its own run describes it.
  place.layout = OfferedLayout::contiguous;
  place.payload_offset = 0;
  place.layout_hash = static_cast<uint64_t>(contiguous_address(target) - target.base);
  const bool in_pieces = worth_streaming(plan_->edges[edge]);
  place.flag = in_pieces ? 1 : 0;
  if (send_struct(edge, state.answer, &place, sizeof place) != Post::done) return false;
  state.phase = in_pieces ? EdgePhase::landing : EdgePhase::receiving;
  state.stream = {};
  return true;
}

// Of what the sender has written or stored.
void Operation::take_written(int edge) {
  EdgeState& state = edges_[edge];
  if (state.phase == EdgePhase::landing) return take_piece(edge);
  state.stored = true;
  if (state.phase == EdgePhase::reading) return;  // its own part
  engine_.counters().bytes_received += static_cast<uint64_t>(plan_->edges[edge].slice.length);
  if (state.answer != MessageKind::ask_store || !state.is_shared()) return data_landed(edge);
  state.phase = EdgePhase::releasing;
  drive(edge);
}

// Tells the sender that its memory is its own again.
bool Operation::release_source(int edge) {
  if (send(edge, MessageKind::fetched, nullptr, 0) != Post::done) return false;
  EdgeState& state = edges_[edge];
  if (plan_->edges[edge].operand >= 0 && !state.consumed)
    data_landed(edge);
  else
    complete_edge(edge);
  return true;
}

// The bytes are in the edge's own slice.
void Operation::data_landed(int edge) {
  const Edge& planned = plan_->edges[edge];
  if (planned.operand < 0) return complete_edge(edge);
  edges_[edge].in_place = view(planned.slice);
  edges_[edge].phase = EdgePhase::available;
  try_reduce(planned.step);
}

}  // namespace sgl
