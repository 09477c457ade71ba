#include "executor/engine.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include <sched.h>

namespace sgl {
Engine::Engine(std::unique_ptr<Transport> transport, EngineOptions options)
    : transport_(std::move(transport)),
      options_(options),
      yield_ns_(transport_ ? transport_->yield_ns() : INT64_MAX / 2) {}

Engine::~Engine() {
  for (const auto& [way, memory] : left_exposed_) way->release(memory);
}

void Engine::add_context(Context& context) {
  contexts_[context.id] = &context;
  auto broken = broken_before_.find(context.id);
  if (broken != broken_before_.end())
    take_broken(context.id, broken->second.from, broken->second.cause);
}

void Engine::remove_context(Context& context) {
  contexts_.erase(context.id);
  operations_.forget_early(context.id);
  if (!held_.empty()) resume_eager();
}

void Engine::attach(Operation& operation) {
  operations_.add(operation);
  operations_.deliver_early(operation);
  if (!held_.empty()) resume_eager();
}

void Engine::detach(Operation& operation) {
  operations_.remove(operation);
  ++ended_operations_;
}

bool Engine::progress() {
  bool moved = transport_ && transport_->progress(*this) > 0;
  if (!outgoing_.empty()) moved |= flush_outgoing();
  if (granted_count_ > 0) moved |= post_granted();
  const std::vector<Operation*>& active = operations_.active();
  for (size_t i = 0; i < active.size();) {
    Operation* operation = active[i];
    moved |= operation->advance();
    if (i < active.size() && active[i] == operation) ++i;
  }
  moves_ += moved;
  return moved;
}

Engine::Pause Engine::wait_turn(int64_t* idle_since) {
  if (progress()) {
    *idle_since = 0;
    return Pause::none;
  }
  // A look at the clock costs as much as one for messages.
  constexpr uint32_t kTurnsPerLook = 16;
  if (*idle_since != 0 && spinning_ && ++spins_ % kTurnsPerLook != 0) return Pause::spin;
  const int64_t now = now_ns();
  // Other threads make progress too, and a wait may begin long after the last of it.
  if (*idle_since == 0 || moves_ != moves_seen_) {
    last_progress_ns_ = now;
    moves_seen_ = moves_;
  }
  if (*idle_since == 0) *idle_since = now;
  spinning_ = now - *idle_since < options_.spin_ns;
  if (spinning_) return Pause::spin;
  check_timeout(now);
  return now - *idle_since < options_.spin_ns + yield_ns_ ? Pause::yield : Pause::sleep;
}

void Engine::check_timeout(int64_t now) {
  if (options_.timeout_ns == 0 || now - last_progress_ns_ < options_.timeout_ns) return;
  std::vector<Operation*> late = operations_.active();
  for (Operation* operation : late)
    operation->fail(error(SGLCOLL_ERR_TIMEOUT, "no progress for {} s: {}",
                          options_.timeout_ns / 1'000'000'000, operation->describe_waiting(-1)));
}

void Engine::on_message(int peer, const MessageHeader& header, std::span<const std::byte> payload) {
  switch (static_cast<MessageKind>(header.kind)) {
    case MessageKind::layout: {
      Status learned = layouts_.learn(peer, payload);
      if (!learned.ok()) log(LogLevel::error, "{}", learned.text());
      return;
    }
    case MessageKind::hold_eager:
      no_eager_to_.insert(peer);
      return;
    case MessageKind::resume_eager:
      no_eager_to_.erase(peer);
      return;
    case MessageKind::grant:
      return take_grant(peer, header, payload);
    case MessageKind::abandon:
      return take_abandon(peer, header, payload);
    case MessageKind::broken:
      return take_broken(header.context, header.sequence, cause_from_payload(payload, peer));
    default:
      break;
  }
  if (Operation* operation = operations_.find(header.context, header.sequence)) {
    operation->deliver(peer, header, payload);
    return;
  }
  const auto kind = static_cast<MessageKind>(header.kind);
  if (is_answer(kind) && kind != MessageKind::ask_store) return;  // to one that has failed
  auto context = contexts_.find(header.context);
  if (context != contexts_.end() && context->second->refuses(header.sequence)) return;
  operations_.keep_early(peer, header, payload);
  if (operations_.early_bytes(peer) > options_.early_bytes) hold_eager(peer);
}

// ---- Messages for operations that have not started

// What is on the way still comes, so the bound is exceeded by what the transport holds.
void Engine::hold_eager(int peer) {
  if (std::ranges::find(held_, peer) != held_.end()) return;
  held_.push_back(peer);
  MessageHeader header{0, 0, 0, static_cast<uint16_t>(MessageKind::hold_eager), 0};
  send_later(peer, header, {});
}

void Engine::resume_eager() {
  std::erase_if(held_, [this](int peer) {
    if (operations_.early_bytes(peer) > options_.early_bytes / 2) return false;
    MessageHeader header{0, 0, 0, static_cast<uint16_t>(MessageKind::resume_eager), 0};
    send_later(peer, header, {});
    return true;
  });
}

void Engine::on_complete(uint64_t token, Status status) {
  if (Operation* operation = operations_.at(token))
    operation->on_complete(OperationTable::edge_of(token), OperationTable::place_of(token),
                           std::move(status));
}

// ---- Posted sends

void Engine::take_grant(int peer, const MessageHeader& header, std::span<const std::byte> payload) {
  Grant grant{0};
  std::memcpy(&grant, payload.data(), std::min(payload.size(), sizeof grant));
  const auto most = static_cast<uint32_t>(transport_->toward(peer).limits().sgl.max_batch_wrs);
  if (grant.wrs < 1 || grant.wrs > most)
    return fail_peer(
        peer, error(SGLCOLL_ERR_PEER_FAILED, "rank {} grants {} requests: 1 to {} are possible",
                    peer, grant.wrs, most));
  granted_[peer].push_back({header.context, header.sequence, header.tag, grant.wrs});
  ++granted_count_;
}

bool Engine::post_granted() {
  bool moved = false;
  for (auto& [peer, queue] : granted_) {
    while (!queue.empty() && post_granted(peer, queue.front()) == Post::done) {
      queue.pop_front();
      --granted_count_;
      moved = true;
    }
  }
  return moved;
}

// What has been granted is used up even if its operation is gone or has failed: the peer
// waits for it, and the next batch needs its own receives.
Post Engine::post_granted(int peer, const Granted& granted) {
  if (Operation* operation = operations_.find(granted.context, granted.sequence)) {
    Post posted = operation->post_granted(peer, granted.tag, granted.wrs);
    if (posted != Post::failed) return posted;
  }
  return post_nothing(peer, granted.wrs);
}

Post Engine::post_nothing(int peer, uint32_t wrs) {
  Batch batch;
  batch.wrs.assign(wrs, {TransferShape::send_receive, 0, 0, 0, 0, 0, 0, WhyCut::end});
  Result<Post> posted = transport_->post_send(peer, batch, View{}, kNoToken);
  // A peer that cannot be sent to is failing, which flushes its receives.
  return posted.ok() ? posted.value() : Post::done;
}

// ---- Failure

void Engine::on_peer_failed(int peer, Status status) {
  std::erase_if(outgoing_, [peer](const Outgoing& message) { return message.peer == peer; });
  if (auto queue = granted_.find(peer); queue != granted_.end()) {
    granted_count_ -= queue->second.size();
    granted_.erase(queue);
  }
  std::vector<Operation*> running = operations_.active();
  for (Operation* operation : running) operation->on_peer_failed(peer, status);
  for (auto& [id, context] : contexts_) {
    if (context->rank_of(peer) < 0) continue;
    const int here = context->world_ranks[static_cast<size_t>(context->rank)];
    break_context(*context, context->next, status.copy(), {here, status.copy()});
  }
}

void Engine::fail_peer(int world_rank, Status why) {
  if (transport_) transport_->fail_peer(world_rank, std::move(why));
}

void Engine::break_context(Context& context, uint32_t from, Status why, const FailureCause& cause) {
  if ((from & kPersistent) != 0) from = context.next;
  if (!context.broken.ok() && !starts_before(from, context.broken_from)) return;
  if (context.broken.ok()) context.broken = std::move(why);
  context.broken_from = from;
  tell_broken(context, cause);
  std::vector<Operation*> running = operations_.active();
  for (Operation* operation : running)
    if (&operation->context() == &context && context.refuses(operation->sequence()))
      operation->on_broken(cause);
}

// To the ranks at the distances 1, 2, 4 ... both ways, each of which passes it on once: all
// hear of it over few connections, also past dead ranks.
void Engine::tell_broken(const Context& context, const FailureCause& cause) {
  const std::vector<std::byte> payload = to_payload(cause);
  MessageHeader header{context.id, context.broken_from, 0,
                       static_cast<uint16_t>(MessageKind::broken),
                       static_cast<uint16_t>(payload.size())};
  const auto size = static_cast<int64_t>(context.world_ranks.size());
  std::unordered_set<int64_t> told{context.rank};
  for (int64_t distance = 1; distance < size; distance *= 2)
    for (int64_t rank : {context.rank + distance, context.rank - distance + size})
      if (told.insert(rank % size).second)
        send_later(context.world_ranks[static_cast<size_t>(rank % size)], header, payload);
}

void Engine::take_broken(uint32_t id, uint32_t from, const FailureCause& cause) {
  auto context = contexts_.find(id);
  if (context != contexts_.end())
    return break_context(*context->second, from, Status(cause.why.code(), cause.text()), cause);
  if ((from & kPersistent) != 0) from = 0;  // nothing has been started on it here
  auto [before, first] = broken_before_.try_emplace(id, BrokenBefore{from, cause.copy()});
  if (!first && starts_before(from, before->second.from)) before->second.from = from;
}

// A peer's operation has failed, and with it the communicator.
void Engine::take_abandon(int peer, const MessageHeader& header,
                          std::span<const std::byte> payload) {
  FailureCause cause = cause_from_payload(payload, peer);
  if (Operation* operation = operations_.find(header.context, header.sequence))
    return operation->on_abandon(peer, header, std::move(cause));
  take_broken(header.context, header.sequence, cause);
  MessageHeader answer = header;
  answer.kind = static_cast<uint16_t>(MessageKind::abandoned);
  answer.bytes = 0;
  send_later(peer, answer, {});
}

void Engine::send_later(int peer, const MessageHeader& header, std::span<const std::byte> payload) {
  auto same_peer = [peer](const Outgoing& message) { return message.peer == peer; };
  if (std::ranges::none_of(outgoing_, same_peer) && send_now(peer, header, payload)) return;
  outgoing_.push_back({peer, header, KeptPayload(payload)});
}

bool Engine::send_now(int peer, const MessageHeader& header, std::span<const std::byte> payload) {
  static const Layout longest_run = Layout::run(0, UINT16_MAX);
  View view{const_cast<std::byte*>(payload.data()), &longest_run, 0, header.bytes};
  return transport_->send_message(peer, header, payload.empty() ? nullptr : &view) != Post::busy;
}

bool Engine::flush_outgoing() {
  crowded_.clear();
  auto gone = [this](const Outgoing& message) {
    if (std::ranges::find(crowded_, message.peer) != crowded_.end()) return false;
    if (send_now(message.peer, message.header, message.payload.view())) return true;
    crowded_.push_back(message.peer);
    return false;
  };
  return std::erase_if(outgoing_, gone) > 0;
}

}  // namespace sgl
