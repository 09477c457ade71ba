#include "transport/mixed/mixed.hpp"

#include "transport/wait_for_any.hpp"

#include <algorithm>

namespace sgl {
namespace {

// The first sleep, short because a peer may miss the announcement of it: shm/sleeper.hpp.
constexpr int64_t kFirstSleepNs = 50'000;

class MixedTransport final : public Transport {
 public:
  MixedTransport(std::vector<std::unique_ptr<Transport>> ways, std::vector<int> way_of_rank)
      : ways_(std::move(ways)), way_of_rank_(std::move(way_of_rank)) {}

  Transport& toward(int peer) override {
    const auto rank = static_cast<size_t>(peer);
    return *ways_[static_cast<size_t>(rank < way_of_rank_.size() ? way_of_rank_[rank] : 0)];
  }

  Post send_message(int peer, const MessageHeader& header, const View* payload) override {
    return toward(peer).send_message(peer, header, payload);
  }
  std::byte* map(int peer, const RemoteMemory& memory, int64_t lowest, int64_t highest) override {
    return toward(peer).map(peer, memory, lowest, highest);
  }
  Post post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
            uint64_t token) override {
    return toward(peer).post(peer, batch, local, remote, token);
  }
  Post post_to(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
               uint64_t token) override {
    return toward(peer).post_to(peer, batch, local, remote, token);
  }
  Result<Post> post_receive(int peer, const Batch& batch, const View& local,
                            uint64_t token) override {
    return toward(peer).post_receive(peer, batch, local, token);
  }
  Result<Post> post_send(int peer, const Batch& batch, const View& local, uint64_t token) override {
    return toward(peer).post_send(peer, batch, local, token);
  }

  // Those of no peer in particular: what holds whatever the way.
  const TransportLimits& limits() const override { return ways_.front()->limits(); }
  Result<RemoteMemory> expose(const View&, bool) override {
    return error(SGLCOLL_ERR_INTERNAL, "memory is exposed on the way to a peer: ask toward()");
  }
  void release(const RemoteMemory&) override {}
  bool reachable(const RemoteMemory&) const override { return false; }
  bool mappable(const RemoteMemory&) const override { return false; }

  int progress(TransportSink& sink) override {
    int events = 0;
    for (auto& way : ways_) events += way->progress(sink);
    return events;
  }
  int64_t yield_ns() const override {
    int64_t longest = 0;
    for (const auto& way : ways_) longest = std::max(longest, way->yield_ns());
    return longest;
  }
  void wait(int64_t max_ns) override {
    if (max_ns <= 0) return;
    if (!sleep(std::min(kFirstSleepNs, max_ns)) && max_ns > kFirstSleepNs) sleep(max_ns);
  }
  bool prepare_wait(std::vector<int>* descriptors) override {
    bool idle = true;
    prepared_ = 0;
    while (idle && prepared_ < ways_.size()) idle = ways_[prepared_++]->prepare_wait(descriptors);
    return idle;
  }
  void finish_wait() override {
    for (size_t i = 0; i < prepared_; ++i) ways_[i]->finish_wait();
  }
  void fail_peer(int peer, Status why) override { toward(peer).fail_peer(peer, std::move(why)); }

  void* allocate(size_t bytes) override {
    for (auto& way : ways_)
      if (void* memory = way->allocate(bytes)) return memory;
    return nullptr;
  }
  bool deallocate(void* memory) override {
    return std::ranges::any_of(ways_, [&](auto& way) { return way->deallocate(memory); });
  }

  Status keep_memory(std::byte* begin, size_t bytes) override {
    for (size_t i = 0; i < ways_.size(); ++i) {
      Status kept = ways_[i]->keep_memory(begin, bytes);
      if (kept.ok()) continue;
      while (i-- > 0) ways_[i]->forget_memory(begin);
      return kept;
    }
    return {};
  }
  void forget_memory(std::byte* begin) override {
    for (auto& way : ways_) way->forget_memory(begin);
  }
  void add_counters(sglcoll_counters* counters) const override {
    for (const auto& way : ways_) way->add_counters(counters);
  }

  std::string describe() const override {
    std::string text = "by peer:";
    for (size_t i = 0; i < ways_.size(); ++i) {
      const auto peers = std::ranges::count(way_of_rank_, static_cast<int>(i));
      text += fmt::format("{} {} ranks by {}", i == 0 ? "" : ";", peers, ways_[i]->describe());
    }
    return text;
  }

 private:
  // True: there may be something to do.
  bool sleep(int64_t max_ns) {
    descriptors_.clear();
    const bool woken = !prepare_wait(&descriptors_) || wait_for_any(descriptors_, max_ns);
    finish_wait();
    return woken;
  }

  std::vector<std::unique_ptr<Transport>> ways_;
  std::vector<int> way_of_rank_;
  std::vector<int> descriptors_;  // scratch of sleep()
  size_t prepared_ = 0;           // ways that the wait has been prepared on
};

}  // namespace

std::unique_ptr<Transport> make_mixed_transport(std::vector<std::unique_ptr<Transport>> ways,
                                                std::vector<int> way_of_rank) {
  return std::make_unique<MixedTransport>(std::move(ways), std::move(way_of_rank));
}

}  // namespace sgl
