// Private memory, through slots in memory that all workers see: a source's worker packs a part
// into a slot and raises a flag, those of its targets unpack or add it from there. What a worker
// copies to itself fills the time in which it would wait.
#include "floor/ways.hpp"

#include <algorithm>
#include <atomic>

namespace perf {

namespace {
constexpr int64_t kLeastChunk = 4 << 10, kMostChunk = 256 << 10;
constexpr int64_t kLong = 1 << 20;  // from here on fewer chunk sizes are tried
constexpr int kMostSlots = 4;
}  // namespace

// A ring of slots for each worker, which it fills and all read.
class Slots {
 public:
  explicit Slots(int workers)
      : workers_(workers), memory_(reserve_shared(counter_bytes() + workers * ring_bytes())) {}
  // How many slots a worker has filled, and how many of those another has read.
  std::atomic<int64_t>& filled(int worker) { return counter(worker, worker); }
  std::atomic<int64_t>& read(int worker, int by) { return counter(workers_ + worker, by); }
  std::byte* slot(int worker, int index, int64_t chunk) {
    return memory_ + counter_bytes() + worker * ring_bytes() + index * (chunk + kSlack);
  }

 private:
  int64_t counter_bytes() const { return 2 * kLine * workers_ * workers_; }
  static int64_t ring_bytes() { return kMostSlots * (kMostChunk + kSlack); }
  std::atomic<int64_t>& counter(int row, int column) {
    return *reinterpret_cast<std::atomic<int64_t>*>(memory_ +
                                                    kLine * (int64_t{row} * workers_ + column));
  }
  int workers_;
  std::byte* memory_;
};

std::shared_ptr<Slots> slot_memory(int workers) {
  return std::make_shared<Slots>(workers);
}

namespace {

// What a worker does with a slot that was filled: for one of its ranks.
struct Use {
  Place to;
  bool adds = false;
  int sum = -1;  // index of what is added up
};

// A part of a block on its way. All workers have all parcels, in the same order.
struct Parcel {
  Place from;
  const Runs* part;
  int after = -1;  // the index of the sum that it hands on
  std::vector<Use> uses;
};

class StagedWay {
 public:
  StagedWay(const Scene& scene, std::shared_ptr<Slots> slots, Kind kind, int64_t chunk, int depth,
            bool whole, bool own_too)
      : scene_worker_(&scene.worker),
        field_(&scene.field),
        slots_(std::move(slots)),
        kind_(kind),
        depth_(depth),
        flow_(scene.flow),
        parts_(cut(scene.runs, chunk)) {
    for (const Runs& part : parts_) chunk_ = std::max(chunk_, part.payload);
    const auto workers = static_cast<size_t>(scene.worker.count());
    parcels_.resize(workers);
    next_.resize(workers);
    for (const Move& move : flow_.moves) add_move(move, own_too);
    for (const Sum& sum : flow_.sums) sum.shared ? add_shared_sum(sum, whole) : add_sum(sum);
  }

  void run(int call) {
    call_ = call;
    std::fill(next_.begin(), next_.end(), 0);
    std::fill(added_.begin(), added_.end(), 0);
    out_ = self_ = 0;
    for (Waiting waiting;;) {
      bool moved = send_one();
      for (int source = 0; source < scene_worker_->count(); ++source) moved |= take_one(source);
      if (!moved && self_ < selves_.size()) {
        const Parcel& own = selves_[self_++];
        move(at(own.uses[0].to), at(own.from), *own.part, kind_);
        moved = true;
      }
      if (moved) continue;
      if (ended()) return;
      waiting.turn();
    }
  }

 private:
  int me() const { return scene_worker_->index(); }
  int player(int rank) const { return rank % scene_worker_->count(); }
  std::byte* at(const Place& place) const { return field_->at(place, call_); }
  std::vector<Parcel>& sent_by(int rank) { return parcels_[static_cast<size_t>(player(rank))]; }

  // A rank's own copy is made from its buffer, or from the slot that the others read.
  void add_move(const Move& way, bool own_too) {
    for (const Runs& part : parts_) {
      Parcel parcel{way.from, &part, -1, {}};
      for (const Place& to : way.to) {
        if (to.rank != way.from.rank || (own_too && way.to.size() > 1))
          parcel.uses.push_back({to});
        else if (player(to.rank) == me())
          selves_.push_back({way.from, &part, -1, {{to}}});
      }
      if (!parcel.uses.empty()) sent_by(way.from.rank).push_back(parcel);
    }
  }

  // One part of a sum at its owner; its index.
  int add_operands(const Sum& sum, const Runs& part, int owner, const Place& to) {
    const int index = static_cast<int>(own_operands_.size());
    own_operands_.push_back(sum.from[static_cast<size_t>(owner)]);
    added_.push_back(0);
    for (const Place& from : sum.from)
      if (from.rank != owner) sent_by(from.rank).push_back({from, &part, -1, {{to, true, index}}});
    return index;
  }

  void add_sum(const Sum& sum) {
    for (const Runs& part : parts_) add_operands(sum, part, sum.owner, sum.to[0]);
  }

  void add_shared_sum(const Sum& sum, bool whole) {
    if (whole) return add_whole_sum(sum);
    std::vector<int> indices;
    for (size_t i = 0; i < parts_.size(); ++i)
      indices.push_back(add_operands(sum, parts_[i], owner_of(i), sum.to[owner_at(i)]));
    for (size_t i = 0; i < parts_.size(); ++i) {
      Parcel parcel{sum.to[owner_at(i)], &parts_[i], indices[i], {}};
      for (const Place& to : sum.to)
        if (to.rank != owner_of(i)) parcel.uses.push_back({to});
      sent_by(owner_of(i)).push_back(parcel);
    }
  }
  int owner_of(size_t part) const {
    return static_cast<int>(part % static_cast<size_t>(field_->ranks()));
  }
  size_t owner_at(size_t part) const { return static_cast<size_t>(owner_of(part)); }

  // Every rank adds up all operands.
  void add_whole_sum(const Sum& sum) {
    for (const Runs& part : parts_) {
      const int first = static_cast<int>(own_operands_.size());
      own_operands_.insert(own_operands_.end(), sum.from.begin(), sum.from.end());
      added_.resize(own_operands_.size(), 0);
      for (const Place& from : sum.from) {
        Parcel parcel{from, &part, -1, {}};
        for (const Place& to : sum.to)
          if (to.rank != from.rank) parcel.uses.push_back({to, true, first + to.rank});
        sent_by(from.rank).push_back(parcel);
      }
    }
  }

  bool send_one() {
    const std::vector<Parcel>& mine = parcels_[static_cast<size_t>(me())];
    if (out_ == mine.size()) return false;
    const Parcel& parcel = mine[out_];
    if (parcel.after >= 0 && added_[static_cast<size_t>(parcel.after)] + 1 < field_->ranks())
      return false;
    const int64_t filled = slots_->filled(me()).load(std::memory_order_relaxed);
    for (int reader = 0; reader < scene_worker_->count(); ++reader)
      if (slots_->read(me(), reader).load(std::memory_order_acquire) + depth_ <= filled)
        return false;
    pack(slot(me(), filled), at(parcel.from), *parcel.part, kind_);
    slots_->filled(me()).store(filled + 1, std::memory_order_release);
    ++out_;
    return true;
  }

  std::byte* slot(int worker, int64_t number) {
    return slots_->slot(worker, static_cast<int>(number % depth_), chunk_);
  }

  bool take_one(int source) {
    const std::vector<Parcel>& theirs = parcels_[static_cast<size_t>(source)];
    size_t& next = next_[static_cast<size_t>(source)];
    if (next == theirs.size()) return false;
    std::atomic<int64_t>& read = slots_->read(source, me());
    const int64_t number = read.load(std::memory_order_relaxed);
    if (slots_->filled(source).load(std::memory_order_acquire) == number) return false;
    for (const Use& use : theirs[next].uses)
      if (player(use.to.rank) == me()) take(use, *theirs[next].part, slot(source, number));
    read.store(number + 1, std::memory_order_release);
    ++next;
    return true;
  }

  void take(const Use& use, const Runs& part, const std::byte* packed) {
    if (!use.adds) return unpack(at(use.to), packed, part, kind_);
    const auto sum = static_cast<size_t>(use.sum);
    const std::byte* left = added_[sum]++ == 0 ? at(own_operands_[sum]) : at(use.to);
    sum_packed(at(use.to), left, packed, part, kind_);
  }

  bool ended() const {
    if (out_ < parcels_[static_cast<size_t>(me())].size()) return false;
    for (size_t source = 0; source < next_.size(); ++source)
      if (next_[source] < parcels_[source].size()) return false;
    return true;
  }

  const Worker* scene_worker_;
  const Field* field_;
  std::shared_ptr<Slots> slots_;
  Kind kind_;
  int64_t chunk_ = 0;  // of the longest part
  int depth_;
  Flow flow_;
  std::vector<Runs> parts_;
  std::vector<std::vector<Parcel>> parcels_;  // by the worker that sends them
  std::vector<Parcel> selves_;                // from a rank to itself, with one use
  std::vector<Place> own_operands_;           // of each sum
  // Of the call that runs: parcels sent and taken, and operands added to each sum.
  int call_ = 0;
  size_t out_ = 0, self_ = 0;
  std::vector<size_t> next_;
  std::vector<int> added_;
};

}  // namespace

std::vector<Way> staged_ways(const Scene& scene, const std::shared_ptr<Slots>& slots) {
  std::vector<Way> ways;
  const bool sums = !scene.flow.sums.empty();
  const bool shared = sums && scene.flow.sums[0].shared;
  // With a slot of several readers, one of which is the rank itself.
  const bool to_all = std::any_of(
      scene.flow.moves.begin(), scene.flow.moves.end(),
      [](const Move& move) { return move.to.size() > 1 && move.to[0].block == move.from.rank; });
  auto add = [&](Kind kind, int64_t chunk, bool whole, bool own_too, const char* name) {
    auto way = std::make_shared<StagedWay>(scene, slots, kind, chunk, kMostSlots, whole, own_too);
    ways.push_back({name, kind, chunk, [way](int call) { way->run(call); }});
  };
  for (Kind kind : {Kind::loops, Kind::ahead, Kind::lines, Kind::streaming}) {
    if (!(sums ? can_sum : can_copy)(kind, scene.runs)) continue;
    const int factor = scene.runs.payload >= kLong ? 4 : 2;
    for (int64_t chunk = factor * kLeastChunk / 2; chunk <= kMostChunk; chunk *= factor) {
      if (chunk > scene.runs.payload) break;
      add(kind, chunk, false, false, "staged");
      if (shared) add(kind, chunk, true, false, "staged, each rank sums all");
      if (to_all) add(kind, chunk, false, true, "staged, its own copy too");
    }
  }
  return ways;
}

}  // namespace perf
