#include "executor/engine.hpp"

#include <algorithm>
#include <cstring>

#include <sched.h>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace sgl {
namespace {

constexpr int64_t kSleepNs = 2'000'000;  // deaths of peers are looked for this often

}  // namespace

Engine::Engine(std::unique_ptr<Transport> transport, EngineOptions options)
    : transport_(std::move(transport)), options_(options) {}

Engine::~Engine() {
  for (const auto& [way, memory] : left_exposed_) way->release(memory);
}

void Engine::add_context(Context& context) {
  contexts_[context.id] = &context;
  auto broken = broken_before_.find(context.id);
  if (broken != broken_before_.end()) context.broken = broken->second.copy();
}

void Engine::remove_context(Context& context) {
  contexts_.erase(context.id);
  operations_.forget_early(context.id);
}

void Engine::attach(Operation& operation) {
  operations_.add(operation);
  operations_.deliver_early(operation);
}

void Engine::detach(Operation& operation) { operations_.remove(operation); }

bool Engine::progress() {
  bool moved = transport_ && transport_->progress(*this) > 0;
  if (!outgoing_.empty()) moved |= flush_outgoing();
  const std::vector<Operation*>& active = operations_.active();
  for (size_t i = 0; i < active.size();) {
    Operation* operation = active[i];
    moved |= operation->advance();
    if (i < active.size() && active[i] == operation) ++i;
  }
  return moved;
}

void Engine::wait_turn(int64_t* idle_since) {
  if (progress()) {
    *idle_since = 0;
    return;
  }
  int64_t now = now_ns();
  if (*idle_since == 0) {
    *idle_since = now;
    last_progress_ns_ = now;
  }
  if (now - *idle_since < options_.spin_ns) {
    __builtin_ia32_pause();
    return;
  }
  if (now - *idle_since < 4 * options_.spin_ns || !transport_)
    sched_yield();
  else
    transport_->wait(kSleepNs);
  check_timeout();
}

void Engine::check_timeout() {
  if (options_.timeout_ns == 0 || now_ns() - last_progress_ns_ < options_.timeout_ns) return;
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
    case MessageKind::abandon:
      return take_abandon(peer, header, payload);
    default:
      break;
  }
  if (Operation* operation = operations_.find(header.context, header.sequence)) {
    operation->deliver(peer, header, payload);
    return;
  }
  auto context = contexts_.find(header.context);
  if (context != contexts_.end() && !context->second->broken.ok()) return;
  operations_.keep_early(peer, header, payload);
}

void Engine::on_complete(uint64_t token, Status status) {
  if (Operation* operation = operations_.at(token))
    operation->on_complete(OperationTable::edge_of(token), std::move(status));
}

// ---- Failure

void Engine::on_peer_failed(int peer, Status status) {
  for (auto& [id, context] : contexts_)
    if (context->broken.ok() && context->rank_of(peer) >= 0) context->broken = status.copy();
  std::erase_if(outgoing_, [peer](const Outgoing& message) { return message.peer == peer; });
  std::vector<Operation*> running = operations_.active();
  for (Operation* operation : running) operation->on_peer_failed(peer, status);
}

void Engine::fail_peer(int world_rank, Status why) {
  if (transport_) transport_->fail_peer(world_rank, std::move(why));
}

// A peer's operation has failed, so this rank's of the same name fails too, now or when
// it is started.
void Engine::take_abandon(int peer, const MessageHeader& header,
                          std::span<const std::byte> payload) {
  AbandonHead head{SGLCOLL_ERR_PEER_FAILED, 0};
  std::string text = "it gave no reason";
  if (payload.size() >= sizeof head) {
    std::memcpy(&head, payload.data(), sizeof head);
    payload = payload.subspan(sizeof head);
    text.assign(reinterpret_cast<const char*>(payload.data()),
                std::min<size_t>(payload.size(), head.text_bytes));
  }
  Status why = error(static_cast<Code>(head.code), "rank {} gave up: {}", peer, text);
  auto context = contexts_.find(header.context);
  if (context == contexts_.end())
    broken_before_.try_emplace(header.context, why.copy());
  else if (context->second->broken.ok())
    context->second->broken = why.copy();
  if (Operation* operation = operations_.find(header.context, header.sequence))
    return operation->on_abandon(peer, header, std::move(why));
  MessageHeader answer = header;
  answer.kind = static_cast<uint16_t>(MessageKind::abandoned);
  answer.bytes = 0;
  send_later(peer, answer, {});
}

void Engine::send_later(int peer, const MessageHeader& header, std::span<const std::byte> payload) {
  outgoing_.push_back({peer, header, {payload.begin(), payload.end()}});
  flush_outgoing();
}

bool Engine::flush_outgoing() {
  auto gone = [this](const Outgoing& message) {
    Layout run = Layout::run(0, message.header.bytes);
    View view{const_cast<std::byte*>(message.payload.data()), &run, 0, message.header.bytes};
    return transport_->send_message(message.peer, message.header,
                                    message.payload.empty() ? nullptr : &view) != Post::busy;
  };
  return std::erase_if(outgoing_, gone) > 0;
}

}  // namespace sgl
