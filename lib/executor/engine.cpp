#include "executor/engine.hpp"

#include <algorithm>

#include <sched.h>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace sgl {
namespace {

uint64_t operation_name(uint32_t context, uint32_t sequence) {
  return static_cast<uint64_t>(context) << 32 | sequence;
}

constexpr int64_t kSleepNs = 2'000'000;  // deaths of peers are looked for this often

}  // namespace

Engine::Engine(std::unique_ptr<Transport> transport, EngineOptions options)
    : transport_(std::move(transport)), options_(options) {}

Engine::~Engine() = default;

void Engine::add_context(Context& context) { contexts_[context.id] = &context; }

void Engine::remove_context(Context& context) {
  contexts_.erase(context.id);
  std::erase_if(early_, [&](const auto& entry) { return entry.first >> 32 == context.id; });
}

void Engine::attach(Operation& operation) {
  size_t slot = static_cast<size_t>(std::find(slots_.begin(), slots_.end(), nullptr) - slots_.begin());
  if (slot == slots_.size()) slots_.push_back(nullptr);
  slots_[slot] = &operation;
  operation.slot = static_cast<uint32_t>(slot);
  active_.push_back(&operation);
  uint64_t name = operation_name(operation.context().id, operation.sequence());
  by_name_[name] = &operation;
  if (early_.empty()) return;
  auto found = early_.find(name);
  if (found == early_.end()) return;
  std::vector<EarlyMessage> messages = std::move(found->second);
  early_.erase(found);
  for (const EarlyMessage& message : messages) {
    if (!operation.running()) return;
    operation.deliver(message.peer, message.header, message.payload);
  }
}

void Engine::detach(Operation& operation) {
  std::erase(active_, &operation);
  slots_[operation.slot] = nullptr;
  by_name_.erase(operation_name(operation.context().id, operation.sequence()));
  if (last_ == &operation) last_ = nullptr;
}

bool Engine::progress() {
  bool moved = transport_ && transport_->progress(*this) > 0;
  for (size_t i = 0; i < active_.size();) {
    Operation* operation = active_[i];
    moved |= operation->advance();
    if (i < active_.size() && active_[i] == operation) ++i;
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
  if (now - *idle_since < 4 * options_.spin_ns || !transport_) sched_yield();
  else transport_->wait(kSleepNs);
  check_timeout();
}

void Engine::check_timeout() {
  if (options_.timeout_ns == 0 || now_ns() - last_progress_ns_ < options_.timeout_ns) return;
  std::vector<Operation*> late = active_;
  for (Operation* operation : late) {
    Status why = error(SGLCOLL_ERR_TIMEOUT, "no progress for {} s: {}", options_.timeout_ns / 1'000'000'000,
                       operation->describe_waiting(-1));
    operation->context().broken = why.copy();
    operation->fail(std::move(why));
  }
}

void Engine::on_message(int peer, const MessageHeader& header, std::span<const std::byte> payload) {
  if (header.kind == static_cast<uint16_t>(MessageKind::layout)) {
    Status learned = layouts_.learn(peer, payload);
    if (!learned.ok()) log(LogLevel::error, "{}", learned.text());
    return;
  }
  uint64_t name = operation_name(header.context, header.sequence);
  if (!last_ || last_->context().id != header.context || last_->sequence() != header.sequence) {
    auto found = by_name_.find(name);
    last_ = found == by_name_.end() ? nullptr : found->second;
  }
  if (last_) {
    last_->deliver(peer, header, payload);
    return;
  }
  auto context = contexts_.find(header.context);
  if (context != contexts_.end() && !context->second->broken.ok()) return;
  early_[name].push_back({peer, header, {payload.begin(), payload.end()}});
}

void Engine::on_complete(uint64_t token, Status status) {
  auto slot = static_cast<size_t>(token >> 32);
  if (slot < slots_.size() && slots_[slot])
    slots_[slot]->on_complete(static_cast<int>(token & 0xffffffffu), std::move(status));
}

void Engine::on_peer_failed(int peer, Status status) {
  for (auto& [id, context] : contexts_)
    if (context->broken.ok() && context->rank_in_world.count(peer)) context->broken = status.copy();
  std::vector<Operation*> running = active_;
  for (Operation* operation : running) {
    auto rank = operation->context().rank_in_world.find(peer);
    if (rank == operation->context().rank_in_world.end()) continue;
    operation->fail(error(status.code(), "{}; {}", status.text(), operation->describe_waiting(rank->second)));
  }
}

void Engine::fail_peer(int world_rank, Status why) {
  if (transport_) transport_->fail_peer(world_rank, std::move(why));
}

}  // namespace sgl
