#include "executor/operation.hpp"

#include "executor/engine.hpp"
#include "sgl/copy.hpp"
#include "sgl/stream_copy.hpp"

#include <cassert>
#include <cstring>

namespace sgl {

Operation::Operation(Engine& engine, std::shared_ptr<const Plan> plan, Context& context)
    : engine_(engine),
      plan_(std::move(plan)),
      context_(context),
      flow_(flow_of(plan_->problem, plan_->algorithm)) {
  streams_ = plan_->bytes_to_send + plan_->bytes_to_receive >= engine_.options().stream_bytes;
  bindings_.resize(kFirstTemp + plan_->temp_bytes.size());
  temps_.resize(plan_->temp_bytes.size());
  for (size_t i = 0; i < temps_.size(); ++i)
    bindings_[kFirstTemp + i].layout = Layout::run(0, plan_->temp_bytes[i]);
  edges_.resize(plan_->edges.size());
  is_short_ = short_runs_fit();
  edges_left_.resize(plan_->steps.size());
  dependencies_.resize(plan_->steps.size());
  reduced_.resize(plan_->steps.size());
  packed_.reserve(plan_->edges.size());
  for (const Edge& edge : plan_->edges) packed_.push_back(Layout::run(0, edge.slice.length));
  size_t most = 0;
  for (const PlanStep& step : plan_->steps)
    most = std::max(most, static_cast<size_t>(step.operand_count));
  sources_.reserve(most);
  ready_.reserve(plan_->steps.size());
  polled_.reserve(plan_->edges.size());
}

Operation::~Operation() {
  if (running_) engine_.detach(*this);
}

void Operation::bind(Binding send, Binding recv, const Reduction& reduction) {
  assert(!running_);
  bindings_[kSend] = std::move(send);
  bindings_[kRecv] = std::move(recv);
  reduction_ = reduction;
}

void Operation::rebind(std::byte* send, std::byte* recv) {
  assert(!running_);
  bindings_[kSend].base = send;
  bindings_[kRecv].base = recv;
}

void Operation::start(uint32_t sequence) {
  reset(sequence);
  ready_.assign(plan_->initial.begin(), plan_->initial.end());
  launch();
}

void Operation::reset(uint32_t sequence) {
  assert(!running_);
  sequence_ = sequence;
  running_ = true;
  status_ = {};
  steps_left_ = static_cast<int>(plan_->steps.size());
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    dependencies_[i] = plan_->steps[i].dependencies;
    edges_left_[i] = plan_->steps[i].edge_count;
    reduced_[i] = 0;
  }
  for (EdgeState& edge : edges_) {
    edge.phase = EdgePhase::idle;
    edge.has_offer = edge.has_payload = edge.exposed = false;
    edge.next = nullptr;
    edge.answer_ready = false;
    edge.holds_source = edge.consumed = edge.abandoned_by_peer = false;
    edge.invited = edge.declined = edge.stored = false;
    edge.in_flight = 0;
    edge.moved = 0;
  }
  polled_.clear();
  ready_.clear();
  next_ready_ = 0;
}

void Operation::launch() {
  engine_.attach(*this);
  if (!live()) return;
  if (steps_left_ == 0)
    finish();
  else
    run_ready();
}

void Operation::run_ready() {
  if (draining_) return;
  draining_ = true;
  while (live() && next_ready_ < ready_.size()) start_step(ready_[next_ready_++]);
  draining_ = false;
  if (live() && steps_left_ == 0) finish();
}

void Operation::start_step(int index) {
  const PlanStep& step = plan_->steps[index];
  switch (step.kind) {
    case StepKind::send:
      if (step.edge_count == 0) return finish_step(index);
      return start_send(step.first_edge);
    case StepKind::recv:
      if (step.edge_count == 0) return finish_step(index);
      return start_receive(step.first_edge);
    case StepKind::copy: {
      const Slice& from = plan_->operands[step.first_operand].slice;
      if (step.slice.length > 0) copy_to(view(step.slice), view(from));
      return finish_step(index);
    }
    case StepKind::reduce:
      for (int i = 0; i < step.edge_count && live(); ++i) start_receive(step.first_edge + i);
      if (step.edge_count == 0) try_reduce(index);
      return;
  }
}

void Operation::finish_step(int index) {
  const PlanStep& step = plan_->steps[index];
  --steps_left_;
  for (int i = 0; i < step.successor_count; ++i) {
    int later = plan_->successors[step.first_successor + i];
    if (--dependencies_[later] == 0) ready_.push_back(later);
  }
  if (!draining_) run_ready();
}

void Operation::finish() {
  running_ = false;
  engine_.detach(*this);
}

View Operation::view(const Slice& slice) const {
  auto* self = const_cast<Operation*>(this);  // temporaries are allocated on first use
  std::byte* base =
      slice.buffer >= kFirstTemp ? self->temp_memory(slice.buffer) : bindings_[slice.buffer].base;
  if (!bindings_[slice.buffer].blocks.empty()) return block_view(slice);
  return {base, &bindings_[slice.buffer].layout, slice.offset, slice.length};
}

// Of a slice of a buffer whose blocks have layouts of their own.
View Operation::block_view(const Slice& slice) const {
  const Binding& binding = bindings_[slice.buffer];
  const Problem& problem = plan_->problem;
  const Blocks& blocks = slice.buffer == kSend ? problem.outgoing() : problem.blocks;
  const int block = slice.length > 0 ? blocks.at(slice.offset) : 0;
  const int64_t offset = slice.offset - blocks.start(block);
  if (slice.length == 0 || offset + slice.length > blocks.bytes(block))
    return {binding.base, &binding.layout, slice.offset, slice.length};
  return {binding.base, &binding.blocks[static_cast<size_t>(block)], offset, slice.length};
}

void Operation::copy_to(const View& to, const View& from) {
  streams_ ? stream_copy(to, from) : copy(to, from);
}

void Operation::unpack_to(const View& to, const std::byte* packed) {
  streams_ ? stream_unpack(to, packed) : unpack(to, packed);
}

std::byte* Operation::temp_memory(Buffer buffer) {
  Binding& binding = bindings_[buffer];
  if (!binding.base) {
    temps_[buffer - kFirstTemp].reset(new std::byte[binding.layout.size()]);
    binding.base = temps_[buffer - kFirstTemp].get();
  }
  return binding.base;
}

Transport& Operation::transport(int edge) const {
  return engine_.transport()->toward(world_peer(edge));
}

int Operation::world_peer(int edge) const {
  return context_.world_ranks[plan_->edges[edge].peer];
}

MessageHeader Operation::header(int edge, MessageKind kind, int64_t bytes) const {
  return {context_.id, sequence_, plan_->edges[edge].tag, static_cast<uint16_t>(kind),
          static_cast<uint16_t>(bytes)};
}

Post Operation::send(int edge, MessageKind kind, const View* payload, int64_t bytes) {
  Post posted = transport(edge).send_message(world_peer(edge), header(edge, kind, bytes), payload);
  if (posted == Post::done) ++engine_.counters().messages;
  return posted;
}

Post Operation::send_struct(int edge, MessageKind kind, const void* data, int64_t bytes) {
  static const Layout offer_layout = Layout::run(0, sizeof(Offer));
  assert(bytes == sizeof(Offer));
  View payload{const_cast<std::byte*>(static_cast<const std::byte*>(data)), &offer_layout, 0,
               bytes};
  return send(edge, kind, &payload, bytes);
}

void Operation::send_in_order(int edge, MessageKind kind, const void* data, int64_t bytes) {
  engine_.send_later(world_peer(edge), header(edge, kind, bytes),
                     {static_cast<const std::byte*>(data), static_cast<size_t>(bytes)});
  ++engine_.counters().messages;
}

void Operation::deliver(int world_rank, const MessageHeader& header,
                        std::span<const std::byte> payload) {
  int rank = context_.rank_of(world_rank);
  auto kind = static_cast<MessageKind>(header.kind);
  int edge = rank < 0 ? -1 : plan_->find_edge(rank, header.tag, is_answer(kind));
  if (!status_.ok()) return deliver_to_failed(edge, kind);
  if (edge < 0)
    return fail(error(SGLCOLL_ERR_MISMATCH,
                      "message {} from rank {} is not part of {} \"{}\": the ranks called "
                      "different collectives or "
                      "with different arguments",
                      header.tag, world_rank, collective_name(plan_->problem.collective),
                      plan_->algorithm));
  switch (kind) {
    case MessageKind::eager:
      take_eager(edge, payload);
      break;
    case MessageKind::fragment:
      take_fragment(edge, payload);
      break;
    case MessageKind::offer:
      std::memcpy(&edges_[edge].offer, payload.data(), std::min(payload.size(), sizeof(Offer)));
      edges_[edge].has_offer = true;
      if (edges_[edge].is_pushed()) edges_[edge].early.clear();
      if (edges_[edge].phase == EdgePhase::awaiting_data) take_offer(edge);
      break;
    case MessageKind::written:
      take_written(edge);
      break;
    case MessageKind::declined:
      take_declined(edge);
      break;
    case MessageKind::abandoned:  // of an earlier failure
    case MessageKind::layout:     // from here on the engine's
    case MessageKind::grant:
    case MessageKind::hold_eager:
    case MessageKind::resume_eager:
    case MessageKind::abandon:
    case MessageKind::broken:
      break;
    default:
      take_answer(edge, kind, payload);
      break;
  }
}

void Operation::complete_edge(int edge) {
  EdgeState& state = edges_[edge];
  if (state.exposed) {
    transport(edge).release(state.memory);
    state.exposed = false;
  }
  state.phase = EdgePhase::done;
  int step = plan_->edges[edge].step;
  if (--edges_left_[step] == 0) finish_step(step);
}

void Operation::drive(int edge) {
  if (!advance_edge(edge)) polled_.push_back(edge);
}

bool Operation::advance_edge(int edge) {
  switch (edges_[edge].phase) {
    case EdgePhase::sending:
      return send_first(edge);
    case EdgePhase::pushing:
      return push(edge);
    case EdgePhase::writing:
    case EdgePhase::reading:
      return post_batches(edge);
    case EdgePhase::writing_pieces:
      return write_pieces(edge);
    case EdgePhase::posting_sends:
      return finish_sends(edge);
    case EdgePhase::posting_receives:
      return post_receives(edge);
    case EdgePhase::streaming:
      return stream(edge);
    case EdgePhase::notifying:
      return notify(edge);
    case EdgePhase::answering:
      return send_answer(edge);
    case EdgePhase::releasing:
      return release_source(edge);
    default:
      return true;
  }
}

bool Operation::advance() {
  if (!status_.ok()) return advance_failed();
  if (polled_.empty()) return false;
  bool moved = false;
  // Each edge says whether it needs no more polling; new ones may be appended.
  size_t kept = 0;
  for (size_t i = 0; i < polled_.size() && live(); ++i) {
    int edge = polled_[i];
    if (advance_edge(edge))
      moved = true;
    else
      polled_[kept++] = edge;
  }
  if (!live()) return true;
  polled_.resize(kept);
  return moved;
}

std::string Operation::describe_waiting(int peer) const {
  for (size_t i = 0; i < edges_.size(); ++i) {
    const EdgePhase phase = edges_[i].phase;
    const Edge& edge = plan_->edges[i];
    if (phase == EdgePhase::idle || !edges_[i].needs_peer() || (peer >= 0 && edge.peer != peer))
      continue;
    return fmt::format("{} \"{}\" is at step {} of {}, {} rank {} ({} of {} bytes moved)",
                       collective_name(plan_->problem.collective), plan_->algorithm, edge.step,
                       plan_->steps.size(), edge.sends ? "sending to" : "receiving from", edge.peer,
                       edges_[i].moved, edge.slice.length);
  }
  return fmt::format("{} \"{}\" has {} of {} steps left",
                     collective_name(plan_->problem.collective), plan_->algorithm, steps_left_,
                     plan_->steps.size());
}

}  // namespace sgl
