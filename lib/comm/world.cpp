#include "comm/world.hpp"

#include "base/log.hpp"
#include "base/settings.hpp"
#include "collectives/builder.hpp"
#include "comm/rank_card.hpp"
#include "sgl/calibration.hpp"
#include "transport/mixed/mixed.hpp"
#include "transport/shm/shm.hpp"
#include "transport/sim/sim.hpp"
#include "transport/verbs/verbs.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace sgl {
namespace {

// Counts the forks between this process and the one that loaded the library.
std::atomic<uint64_t> fork_generation{0};

void watch_forks() {
  static const bool registered = [] {
    pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1); });
    return true;
  }();
  (void)registered;
}

struct SettingsCard {
  uint64_t version;
  int64_t eager_bytes;  // kAutomatic where the transport decides
  int64_t chunk_bytes;
  uint64_t algorithm_hash;
  uint32_t check, reproducible;
  ProcessorSet processors;
  NodeChoices choices;
};

constexpr int64_t kAutomatic = -1;

std::string bytes_text(int64_t bytes) {
  return bytes == kAutomatic ? "auto" : std::to_string(bytes);
}

constexpr uint64_t kVersion =
    SGLCOLL_VERSION_MAJOR * 1'000'000 + SGLCOLL_VERSION_MINOR * 1'000 + SGLCOLL_VERSION_PATCH;

int64_t stream_bytes(const NodeChoices& choices) {
  if (int64_t chosen = setting_bytes("SGLCOLL_STREAM_BYTES"); chosen > 0) return chosen;
  if (choices.stream_bytes > 0) return choices.stream_bytes;
  constexpr int64_t kUsualL2Bytes = 2 << 20;
  int64_t l2_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return l2_bytes > 0 ? l2_bytes : kUsualL2Bytes;
}

// With a processor for each rank, whoever gave it up would only lose it to others' work.
int64_t spin_ns(bool processor_each) {
  constexpr int64_t kShared = 0, kOwn = 10'000'000, kNsInUs = 1000;
  if (std::optional<int64_t> chosen = setting_automatic("SGLCOLL_SPIN_US"))
    return *chosen * kNsInUs;
  return processor_each ? kOwn : kShared;
}

}  // namespace

Result<std::unique_ptr<World>> World::create(sglcoll_thread_level level,
                                             const sglcoll_exchange* exchange) {
  std::vector<std::string> warnings;
  SGL_TRY(check_settings(&warnings));
  SGL_TRY(check_algorithm_setting(setting_text("SGLCOLL_ALGORITHM")));
  set_log_level(setting_text("SGLCOLL_LOG_LEVEL"));
  watch_forks();

  std::unique_ptr<World> world(new World);
  world->level_ = level;
  world->process_generation_ = fork_generation.load();
  Result<std::unique_ptr<Boot>> boot = boot_auto(exchange);
  if (!boot.ok()) return std::move(boot.status());
  world->boot_ = boot.take();
  set_log_prefix(fmt::format("rank {}", world->rank()));
  if (world->rank() == 0)
    for (const std::string& warning : warnings) log(LogLevel::warn, "{}", warning);
  Result<std::vector<int>> node_ranks = world->boot_->node_ranks();
  if (!node_ranks.ok()) return std::move(node_ranks.status());
  world->node_ranks_ = node_ranks.take();
  Result<ExplainSetting> explain = ExplainSetting::from_environment(world->rank());
  if (!explain.ok()) return std::move(explain.status());
  world->explain_ = explain.take();
  SGL_TRY(world->agree_on_settings());
  Result<std::vector<RankPath>> paths = exchange_rank_paths(*world->boot_, world->node_ranks_);
  if (!paths.ok()) return std::move(paths.status());
  world->rank_paths_ = paths.take();
  SGL_TRY(world->make_engine());
  return world;
}

World::~World() {
  for (void* memory : plain_memory_) std::free(memory);
}

Status World::agree_on_settings() {
  settings_.eager_bytes = setting_automatic("SGLCOLL_EAGER_BYTES");
  settings_.chunk_bytes = setting_bytes("SGLCOLL_CHUNK_BYTES");
  settings_.check = setting_boolean("SGLCOLL_CHECK");
  settings_.verify = setting_boolean("SGLCOLL_VERIFY");
  settings_.reproducible = setting_boolean("SGLCOLL_REPRODUCIBLE");
  settings_.algorithm = setting_text("SGLCOLL_ALGORITHM");
  Result<NodeTuning> tuning = find_node_tuning();
  if (!tuning.ok()) return std::move(tuning.status());
  if (!tuning.value().note.empty() && rank() == node_ranks_.front())
    log(LogLevel::warn, "tuning {}", tuning.value().note);
  settings_.node = tuning.take().model;
  SettingsCard mine{kVersion,
                    settings_.eager_bytes.value_or(kAutomatic),
                    settings_.chunk_bytes,
                    std::hash<std::string>{}(settings_.algorithm),
                    settings_.check,
                    settings_.reproducible,
                    own_processors(),
                    settings_.node.choices};
  std::vector<std::byte> all;
  SGL_TRY(boot_->allgather(std::as_bytes(std::span(&mine, 1)), &all));
  std::vector<SettingsCard> cards(static_cast<size_t>(size()));
  std::memcpy(cards.data(), all.data(), all.size());
  std::vector<ProcessorSet> on_node;
  for (int rank : node_ranks_) on_node.push_back(cards[static_cast<size_t>(rank)].processors);
  processor_each_ = have_processor_each(on_node);
  for (int rank = 0; rank < size(); ++rank) {
    const SettingsCard& other = cards[static_cast<size_t>(rank)];
    auto differ = [&](const char* what, auto theirs, auto ours) {
      return error(SGLCOLL_ERR_MISMATCH,
                   "{} is {} on rank {} and {} on rank {}: it must be the same on all ranks", what,
                   theirs, rank, ours, this->rank());
    };
    if (other.version != mine.version)
      return differ("the library's version", other.version, mine.version);
    if (other.eager_bytes != mine.eager_bytes)
      return differ("SGLCOLL_EAGER_BYTES", bytes_text(other.eager_bytes),
                    bytes_text(mine.eager_bytes));
    if (other.chunk_bytes != mine.chunk_bytes)
      return differ("SGLCOLL_CHUNK_BYTES", other.chunk_bytes, mine.chunk_bytes);
    if (other.algorithm_hash != mine.algorithm_hash)
      return differ("SGLCOLL_ALGORITHM", "another", settings_.algorithm);
    const bool near = std::ranges::find(node_ranks_, rank) != node_ranks_.end();
    if (near && other.choices != mine.choices)
      return error(
          SGLCOLL_ERR_MISMATCH,
          "SGLCOLL_TUNING names another tuning on rank {} than on rank {} of this node: it "
          "must be the same on both",
          rank, this->rank());
    if (other.check != mine.check) return differ("SGLCOLL_CHECK", other.check, mine.check);
    if (other.reproducible != mine.reproducible)
      return differ("SGLCOLL_REPRODUCIBLE", other.reproducible, mine.reproducible);
  }
  settings_.node.choices = settings_.node.choices.among(processor_each_);
  return {};
}

Result<std::unique_ptr<Transport>> World::make_transport() {
  auto allgather = [this](std::span<const std::byte> mine, std::vector<std::byte>* all) {
    return boot_->allgather(mine, all);
  };
  const std::string wanted = setting_text("SGLCOLL_TRANSPORT");
  const std::vector<int> everyone = all_peers(rank(), size());
  if (wanted == "sim") {
    SimOptions options;
    options.queues = rc_options();
    options.rails = static_cast<int>(
        std::clamp<int64_t>(setting_automatic("SGLCOLL_RAILS").value_or(1), 1, kMostRails));
    options.lazy = setting_text("SGLCOLL_CONNECT") != "start";
    return make_sim_transport({rank(), size(), everyone, allgather, options});
  }
  if (wanted == "verbs") return make_verbs_transport({rank(), size(), everyone, allgather});
  if (wanted == "shm" && !on_one_node())
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "{} of {} ranks share this node: SGLCOLL_TRANSPORT=shm reaches only ranks of one "
                 "node; start all of them there, or use auto or verbs",
                 node_ranks_.size(), size());
  Result<std::unique_ptr<Transport>> near = make_shm_transport(
      {rank(), size(), node_ranks_, allgather, processor_each_, settings_.node.choices});
  if (!near.ok() || on_one_node()) return near;
  std::vector<int> way_of_rank(static_cast<size_t>(size()), 1);
  for (int rank : node_ranks_) way_of_rank[static_cast<size_t>(rank)] = 0;
  std::vector<int> others;
  for (int rank : everyone)
    if (way_of_rank[static_cast<size_t>(rank)] == 1) others.push_back(rank);
  Result<std::unique_ptr<Transport>> far =
      make_verbs_transport({rank(), size(), others, allgather});
  if (!far.ok() || node_ranks_.size() == 1) return far;  // alone on its node: no shared memory
  std::vector<std::unique_ptr<Transport>> ways;
  ways.push_back(near.take());
  ways.push_back(far.take());
  return make_mixed_transport(std::move(ways), std::move(way_of_rank));
}

Status World::make_engine() {
  std::unique_ptr<Transport> transport;
  if (size() > 1) {
    Result<std::unique_ptr<Transport>> made = make_transport();
    if (!made.ok()) return std::move(made.status());
    transport = made.take();
    log(LogLevel::info, "transport {}", transport->describe());
  }
  EngineOptions options;
  options.eager_bytes = settings_.eager_bytes;
  options.stream_bytes = stream_bytes(settings_.node.choices);
  options.early_bytes = setting_bytes("SGLCOLL_EARLY_BYTES");
  options.spin_ns = spin_ns(processor_each_);
  options.shares_processor = !processor_each_;
  options.timeout_ns = setting_integer("SGLCOLL_TIMEOUT_S") * 1'000'000'000;
  engine_ = std::make_unique<Engine>(std::move(transport), options);
  return level_ == SGLCOLL_THREAD_MULTIPLE ? shared_wait_.open() : Status();
}

Status World::check_caller() const {
  if (fork_generation.load(std::memory_order_relaxed) != process_generation_)
    return error(SGLCOLL_ERR_FORKED,
                 "this process was forked after sglcoll_init: only the parent may call");
  if (in_user_function())
    return error(SGLCOLL_ERR_OP,
                 "a reduction function called the library: it may call datatype functions only");
  return {};
}

bool World::share_node(std::span<const int> world_ranks) const {
  const auto node_of = [&](int rank) { return rank_paths_[static_cast<size_t>(rank)].node; };
  return std::ranges::all_of(
      world_ranks, [&](int rank) { return node_of(rank) == node_of(world_ranks.front()); });
}

// Id 0 is the world's. The others are numbered apart by the rank that gives them.
uint32_t World::take_context_id() {
  uint64_t id = ++contexts_named_ * static_cast<uint64_t>(size()) + static_cast<uint64_t>(rank());
  return id <= UINT32_MAX ? static_cast<uint32_t>(id) : 0;
}

std::unique_lock<std::recursive_mutex> World::lock() {
  return level_ == SGLCOLL_THREAD_MULTIPLE ? std::unique_lock(mutex_)
                                           : std::unique_lock<std::recursive_mutex>();
}

void World::hear_of_deaths() {
  if (std::optional<int> failed = boot_->poll_failed_rank())
    engine_->fail_peer(*failed, error(SGLCOLL_ERR_PEER_FAILED,
                                      "rank {} is reported dead by the launcher", *failed));
}

void World::progress() {
  engine_->progress();
  hear_of_deaths();
  wake_if_ended();
}

// What one thread advanced may be what another waits for.
void World::wake_if_ended() {
  if (level_ != SGLCOLL_THREAD_MULTIPLE || engine_->ended_operations() == ended_seen_) return;
  ended_seen_ = engine_->ended_operations();
  shared_wait_.wake();
}

void World::wait_turn(std::unique_lock<std::recursive_mutex>& held, int64_t* idle_since) {
  const Engine::Pause pause = engine_->wait_turn(idle_since);
  hear_of_deaths();
  wake_if_ended();
  const bool alone = !held.owns_lock();  // below THREAD_MULTIPLE
  if (pause == Engine::Pause::sleep) {
    if (alone)
      engine_->transport()->wait(Engine::kSleepNs);
    else
      shared_wait_.sleep(*engine_->transport(), held, Engine::kSleepNs);
    return;
  }
  if (pause == Engine::Pause::spin) __builtin_ia32_pause();
  if (alone && pause != Engine::Pause::yield) return;
  if (!alone) held.unlock();
  sched_yield();
  if (!alone) held.lock();
}

Result<void*> World::allocate(size_t bytes) {
  constexpr size_t kAlignment = 64;
  if (bytes > PTRDIFF_MAX - kAlignment)
    return error(SGLCOLL_ERR_NO_MEMORY, "bytes is {}: it is more than a process can address",
                 bytes);
  void* memory = nullptr;
  if (Transport* transport = engine_->transport()) {
    memory = transport->allocate(std::max<size_t>(bytes, 1));
  } else {
    memory = std::aligned_alloc(
        kAlignment, (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment);
    if (memory) {
      std::memset(memory, 0, bytes);
      plain_memory_.insert(memory);
    }
  }
  if (!memory)
    return error(SGLCOLL_ERR_NO_MEMORY, "{} bytes of shared memory could not be had", bytes);
  return memory;
}

Status World::deallocate(void* memory) {
  if (plain_memory_.erase(memory)) {
    std::free(memory);
    return {};
  }
  if (engine_->transport() && engine_->transport()->deallocate(memory)) return {};
  return error(SGLCOLL_ERR_ARG, "memory {} is not from sglcoll_mem_alloc, or was freed", memory);
}

Status World::register_memory(void* memory, size_t bytes) {
  if (!memory) return error(SGLCOLL_ERR_ARG, "memory is NULL: give the address to register");
  if (bytes == 0 || bytes > PTRDIFF_MAX)
    return error(SGLCOLL_ERR_ARG, "bytes is {}: it must be from 1 to {}", bytes, PTRDIFF_MAX);
  if (registered_memory_.count(memory))
    return error(SGLCOLL_ERR_ARG, "memory {} is registered: deregister it first", memory);
  if (Transport* transport = engine_->transport())
    SGL_TRY(transport->keep_memory(static_cast<std::byte*>(memory), bytes));
  registered_memory_.insert(memory);
  return {};
}

Status World::deregister_memory(void* memory) {
  if (registered_memory_.erase(memory) == 0)
    return error(SGLCOLL_ERR_ARG, "memory {} was not registered with that address, or is no longer",
                 memory);
  if (Transport* transport = engine_->transport())
    transport->forget_memory(static_cast<std::byte*>(memory));
  return {};
}

sglcoll_counters World::counters() const {
  sglcoll_counters counters = engine_->counters();
  if (const Transport* transport = engine_->transport()) transport->add_counters(&counters);
  return counters;
}

Status World::finalize() {
  engine_.reset();
  return boot_->finalize();
}

}  // namespace sgl
