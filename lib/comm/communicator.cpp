#include "comm/communicator.hpp"

#include "base/log.hpp"
#include "collectives/builder.hpp"
#include "schedule/verifier.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace sgl {
namespace {

struct CallCard {
  uint64_t signature;
  int64_t elements;
  int64_t bytes;
  uint64_t counts;  // hash of each rank's bytes, where all ranks give them
  int64_t own_bytes;
  int32_t collective, root;
  uint32_t op, commutative;
  int32_t in_place;  // where that changes the schedules of all
};

// One rank's end of a pair of an alltoall.
struct PairCard {
  uint64_t signature;
  int64_t elements, bytes;
  bool operator==(const PairCard&) const = default;
};

// FNV-1a over the bytes of each block.
uint64_t hash_of(const Blocks& blocks) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; !blocks.is_uniform() && i < blocks.count(); ++i)
    hash = (hash ^ static_cast<uint64_t>(blocks.bytes(i))) * 0x100000001b3;
  return hash;
}

Status no_context_left() {
  return error(SGLCOLL_ERR_UNSUPPORTED,
               "the ids of communicators are used up: make fewer and keep them");
}

}  // namespace

Communicator::Communicator(std::shared_ptr<World> world, uint32_t id, int rank,
                           std::vector<int> world_ranks)
    : world_(std::move(world)) {
  context_.id = id;
  context_.rank = rank;
  context_.world_ranks = std::move(world_ranks);
  for (size_t i = 0; i < context_.world_ranks.size(); ++i)
    context_.rank_in_world[context_.world_ranks[i]] = static_cast<int>(i);
  std::vector<RankPath> paths;
  for (int world_rank : context_.world_ranks)
    paths.push_back(world_->rank_paths()[static_cast<size_t>(world_rank)]);
  arrangement_ = Arrangement(std::move(paths));
  on_node_ = world_->share_node(context_.world_ranks);
  world_->engine().add_context(context_);
}

Communicator::~Communicator() {
  auto held = world_->lock();
  calls_.clear();
  plans_.clear();
  internal_plans_.clear();
  world_->engine().remove_context(context_);
}

Status Communicator::check_whole(uint32_t sequence) const {
  if (!context_.refuses(sequence)) return {};
  return error(context_.broken.code(), "the communicator cannot be used any more: {}",
               context_.broken.text());
}

Result<std::shared_ptr<const Plan>> Communicator::make_plan(Problem problem) {
  // A reproducible order depends on no placement.
  if (!world_->settings().reproducible) arrangement_.apply(&problem);
  Result<const Builder*> builder = select_builder(
      problem, on_node_, internal_ ? std::string_view() : world_->settings().algorithm,
      world_->settings().reproducible, nullptr, "SGLCOLL_ALGORITHM",
      world_->settings().node.choices);
  if (!builder.ok()) return std::move(builder.status());
  if (world_->settings().verify && !counts_are_private(problem.collective)) {
    std::vector<Problem> problems(static_cast<size_t>(problem.size), problem);
    std::vector<Schedule> schedules;
    for (int rank = 0; rank < problem.size; ++rank) {
      problems[static_cast<size_t>(rank)].rank = rank;
      schedules.push_back(builder.value()->build(problems[static_cast<size_t>(rank)]));
    }
    SGL_TRY(verify(problems, schedules));
  }
  ++world_->engine().counters().plans_built;
  return std::shared_ptr<const Plan>(
      std::make_shared<Plan>(problem, builder.value()->build(problem)));
}

Result<std::unique_ptr<Operation>> Communicator::prepare(
    CollectiveCall call, std::unique_lock<std::recursive_mutex>& held) {
  SGL_TRY(check_whole(context_.next));
  call.problem.chunk_bytes = world_->settings().chunk_bytes;
  if (world_->settings().check && !internal_) SGL_TRY(check_across_ranks(call, held));
  PlanCache& plans = internal_ ? internal_plans_ : plans_;
  PlanCache::Entry* entry = plans.find(call.problem);
  const bool explain = !entry && !internal_ && world_->explain().wants(call.problem.collective);
  if (!entry) {
    Result<std::shared_ptr<const Plan>> plan = make_plan(call.problem);
    if (!plan.ok()) return std::move(plan.status());
    entry = &plans.insert(plan.take());
  }
  std::unique_ptr<Operation> operation;
  if (entry->idle.empty()) {
    operation = std::make_unique<Operation>(world_->engine(), entry->plan, context_);
  } else {
    operation = std::move(entry->idle.back());
    entry->idle.pop_back();
  }
  operation->bind(std::move(call.send), std::move(call.recv), call.reduction);
  if (explain) print_explanation(*world_, *operation);
  return operation;
}

std::unique_ptr<Operation> Communicator::recall(const CallKey& key, const CallArrays& arrays,
                                                const CallBuffers& buffers) {
  if (!context_.broken.ok() || world_->settings().check) return nullptr;
  return calls_.recall(key, arrays, buffers);
}

void Communicator::remember(const CallKey& key, const CallArrays& arrays,
                            const CallBuffers& buffers, Operation& operation) {
  calls_.remember(key, arrays, buffers, operation);
}

void Communicator::recycle(std::unique_ptr<Operation> operation) {
  if (operation->running() || !operation->status().ok()) return;
  if (calls_.recycle(operation)) return;
  PlanCache::Entry* entry = plans_.find(operation->plan().problem);
  if (entry && entry->idle.size() < PlanCache::kMaxIdle && entry->plan.get() == &operation->plan())
    entry->idle.push_back(std::move(operation));
}

Status Communicator::start(Operation& operation) {
  SGL_TRY(check_whole(context_.next));
  ++world_->engine().counters().operations;
  operation.start(context_.take_sequence());
  return {};
}

Status Communicator::run(Operation& operation, std::unique_lock<std::recursive_mutex>& held) {
  if (held.owns_lock()) {  // other threads' operations have to go on
    SGL_TRY(start(operation));
  } else {
    SGL_TRY(check_whole(context_.next));
    ++world_->engine().counters().operations;
    operation.run(context_.take_sequence());
  }
  return complete(operation, held);
}

Status Communicator::start_persistent(Operation& operation, uint32_t id, uint32_t epoch) {
  const uint32_t sequence = persistent_sequence(id, epoch);
  SGL_TRY(check_whole(sequence));
  ++world_->engine().counters().operations;
  operation.start(sequence);
  return {};
}

Status Communicator::complete(Operation& operation, std::unique_lock<std::recursive_mutex>& held) {
  int64_t idle_since = 0;
  while (operation.running()) world_->wait_turn(held, &idle_since);
  return operation.status().copy();
}

Status Communicator::allgather_bytes(std::span<const std::byte> mine, std::vector<std::byte>* all,
                                     std::unique_lock<std::recursive_mutex>& held) {
  TypePtr byte = basic_type(Basic::byte);
  auto count = static_cast<int64_t>(mine.size());
  all->resize(mine.size() * static_cast<size_t>(size()));
  BufferArgument send{"mine", "count", const_cast<std::byte*>(mine.data()), false, count, byte};
  BufferArgument recv{"all", "count", all->data(), false, count, byte};
  return agree(allgather_call({rank(), size()}, send, recv), held);
}

Status Communicator::alltoall_bytes(std::span<const std::byte> send, std::span<std::byte> recv,
                                    std::unique_lock<std::recursive_mutex>& held) {
  TypePtr byte = basic_type(Basic::byte);
  const int64_t count = static_cast<int64_t>(send.size()) / size();
  BufferArgument mine{"send", "count", const_cast<std::byte*>(send.data()), false, count, byte};
  BufferArgument theirs{"recv", "count", recv.data(), false, count, byte};
  return agree(alltoall_call({rank(), size()}, mine, theirs), held);
}

Status Communicator::agree(Result<CollectiveCall> call,
                           std::unique_lock<std::recursive_mutex>& held) {
  if (!call.ok()) return std::move(call.status());
  internal_ = true;
  Result<std::unique_ptr<Operation>> operation = prepare(call.take(), held);
  internal_ = false;
  if (!operation.ok()) return std::move(operation.status());
  SGL_TRY(run(*operation.value(), held));
  recycle(operation.take());
  return {};
}

// The group's first rank names the new communicators: its ids are unique in the world, so
// threads that split different communicators at the same time do not need to agree.
Result<CommunicatorPtr> Communicator::split(int color, int key,
                                            std::unique_lock<std::recursive_mutex>& held) {
  struct Card {
    int32_t color, key;
    uint32_t id;  // rank 0's, 0 if it has none left
  } mine{color, key, rank() == 0 ? world_->take_context_id() : 0};
  std::vector<std::byte> bytes;
  SGL_TRY(allgather_bytes(std::as_bytes(std::span(&mine, 1)), &bytes, held));
  std::vector<Card> cards(static_cast<size_t>(size()));
  std::memcpy(cards.data(), bytes.data(), bytes.size());
  const uint32_t id = cards[0].id;
  if (id == 0) return no_context_left();
  if (color == SGLCOLL_UNDEFINED) return CommunicatorPtr();
  std::vector<std::pair<int, int>> members;  // (key, rank)
  for (int i = 0; i < size(); ++i)
    if (cards[static_cast<size_t>(i)].color == color)
      members.emplace_back(cards[static_cast<size_t>(i)].key, i);
  std::sort(members.begin(), members.end());
  std::vector<int> world_ranks;
  int new_rank = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].second == rank()) new_rank = static_cast<int>(i);
    world_ranks.push_back(context_.world_ranks[static_cast<size_t>(members[i].second)]);
  }
  return std::make_shared<Communicator>(world_, id, new_rank, std::move(world_ranks));
}

Result<CommunicatorPtr> Communicator::self() {
  const uint32_t id = world_->take_context_id();
  if (id == 0) return no_context_left();
  return std::make_shared<Communicator>(world_, id, 0, std::vector<int>{world_->rank()});
}

void Communicator::meet(std::unique_lock<std::recursive_mutex>& held) {
  Result<std::unique_ptr<Operation>> operation =
      prepare(barrier_call({rank(), size()}).take(), held);
  Status outcome = operation.ok() ? run(*operation.value(), held) : std::move(operation.status());
  if (!outcome.ok()) log(LogLevel::info, "not all ranks met: {}", outcome.text());
}

// The odd rank is the one that differs from what most ranks gave.
Status Communicator::check_across_ranks(const CollectiveCall& call,
                                        std::unique_lock<std::recursive_mutex>& held) {
  const bool known_in_part = counts_are_private(call.problem.collective);
  const bool exchanges = is_alltoall(call.problem.collective);
  const Blocks& blocks = call.problem.blocks;
  CallCard mine{call.signature.hash,
                call.signature.elements,
                known_in_part ? 0 : blocks.total(),
                known_in_part ? 0 : hash_of(blocks),
                blocks.count() == size() ? blocks.bytes(rank()) : 0,
                static_cast<int32_t>(call.problem.collective),
                call.problem.root,
                static_cast<uint32_t>(call.reduction.kind),
                call.problem.commutative,
                exchanges && call.problem.in_place};
  std::vector<std::byte> bytes;
  SGL_TRY(allgather_bytes(std::as_bytes(std::span(&mine, 1)), &bytes, held));
  std::vector<CallCard> cards(static_cast<size_t>(size()));
  std::memcpy(cards.data(), bytes.data(), bytes.size());
  auto differs = [&](auto field, auto describe, const char* what) -> Status {
    std::map<decltype(field(mine)), std::vector<int>> ranks;
    for (int i = 0; i < size(); ++i) ranks[field(cards[static_cast<size_t>(i)])].push_back(i);
    if (ranks.size() == 1) return {};
    auto most = std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    auto odd = ranks.begin() == most ? std::next(ranks.begin()) : ranks.begin();
    return error(SGLCOLL_ERR_MISMATCH, "{}: rank {} gives {} {} where rank {} gives {}",
                 collective_name(call.problem.collective), odd->second.front(), what,
                 describe(odd->first), most->second.front(), describe(most->first));
  };
  auto plain = [](auto value) { return fmt::format("{}", value); };
  SGL_TRY(
      differs([](const CallCard& c) { return c.collective; },
              [](int32_t c) { return std::string(collective_name(static_cast<Collective>(c))); },
              "collective"));
  SGL_TRY(differs([](const CallCard& c) { return c.root; }, plain, "root"));
  SGL_TRY(differs([](const CallCard& c) { return c.op; },
                  [](uint32_t op) { return std::string(op_name(static_cast<OpKind>(op))); }, "op"));
  SGL_TRY(differs([](const CallCard& c) { return c.bytes; }, plain, "bytes"));
  SGL_TRY(differs([](const CallCard& c) { return c.elements; }, plain, "basic elements"));
  SGL_TRY(differs([](const CallCard& c) { return c.counts; }, plain, "counts with the hash"));
  SGL_TRY(differs([](const CallCard& c) { return c.signature; }, plain, "type signature"));
  SGL_TRY(differs([](const CallCard& c) { return c.in_place; },
                  [](int32_t in_place) { return in_place ? "SGLCOLL_IN_PLACE" : "a buffer"; },
                  "as send_buffer"));
  if (!known_in_part) return {};
  if (exchanges) return check_pairs(call, held);
  std::vector<int64_t> given;
  given.reserve(cards.size());
  for (const CallCard& card : cards) given.push_back(card.own_bytes);
  return check_against_root(call.problem, given, held);
}

// Each rank compares what the others have for it with what it takes, and all learn what
// was found.
Status Communicator::check_pairs(const CollectiveCall& call,
                                 std::unique_lock<std::recursive_mutex>& held) {
  auto card = [](const Signature& signature, int64_t bytes) {
    return PairCard{signature.hash, signature.elements, bytes};
  };
  const auto ranks = static_cast<size_t>(size());
  std::vector<PairCard> mine, theirs(ranks);
  for (size_t i = 0; i < ranks; ++i)
    mine.push_back(card(call.sent[i], call.problem.outgoing().bytes(static_cast<int>(i))));
  SGL_TRY(alltoall_bytes(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(theirs)),
                         held));
  struct Verdict {
    int64_t odd = -1, given = 0, expected = 0;
  } found;
  for (size_t i = 0; i < ranks && found.odd < 0; ++i) {
    const int64_t expected = call.problem.blocks.bytes(static_cast<int>(i));
    if (theirs[i] != card(call.taken[i], expected))
      found = {static_cast<int64_t>(i), theirs[i].bytes, expected};
  }
  std::vector<std::byte> bytes;
  SGL_TRY(allgather_bytes(std::as_bytes(std::span(&found, 1)), &bytes, held));
  for (size_t i = 0; i < ranks; ++i) {
    std::memcpy(&found, bytes.data() + i * sizeof found, sizeof found);
    if (found.odd < 0) continue;
    const char* name = collective_name(call.problem.collective);
    if (found.given == found.expected)
      return error(
          SGLCOLL_ERR_MISMATCH,
          "{}: rank {} gives {} bytes of another type signature for rank {} than that expects",
          name, found.odd, found.given, i);
    return error(SGLCOLL_ERR_MISMATCH, "{}: rank {} gives {} bytes for rank {}, which expects {}",
                 name, found.odd, found.given, i, found.expected);
  }
  return {};
}

// The root compares what each rank gives with its own counts, and all learn what it found.
Status Communicator::check_against_root(const Problem& problem, const std::vector<int64_t>& given,
                                        std::unique_lock<std::recursive_mutex>& held) {
  struct Verdict {
    int64_t odd = -1, expected = 0;
  } mine;
  for (int i = size(); rank() == problem.root && i-- > 0;)
    if (problem.blocks.bytes(i) != given[static_cast<size_t>(i)])
      mine = {i, problem.blocks.bytes(i)};
  std::vector<std::byte> bytes;
  SGL_TRY(allgather_bytes(std::as_bytes(std::span(&mine, 1)), &bytes, held));
  Verdict found;
  std::memcpy(&found, bytes.data() + static_cast<size_t>(problem.root) * sizeof found,
              sizeof found);
  if (found.odd < 0) return {};
  return error(SGLCOLL_ERR_MISMATCH,
               "{}: rank {} gives {} bytes where the root, rank {}, has {} for it",
               collective_name(problem.collective), found.odd,
               given[static_cast<size_t>(found.odd)], problem.root, found.expected);
}

}  // namespace sgl
