#include "transport/fault/fault.hpp"

#include <random>
#include <utility>

namespace sgl {
namespace {

class FaultTransport final : public Transport {
 public:
  FaultTransport(std::unique_ptr<Transport> inner, FaultPlan plan)
      : inner_(std::move(inner)), plan_(plan), random_(plan.seed) {}

  const TransportLimits& limits() const override { return inner_->limits(); }

  Post send_message(int peer, const MessageHeader& header, const View* payload) override {
    if (peer == plan_.fail_peer && sent_to_victim_ >= plan_.fail_after_messages) {
      fail_victim();
      return Post::failed;
    }
    if (strikes(plan_.busy_probability)) return Post::busy;
    Post post = inner_->send_message(peer, header, payload);
    if (post == Post::done && peer == plan_.fail_peer) ++sent_to_victim_;
    return post;
  }

  Result<RemoteMemory> expose(const View& view, bool write) override {
    return inner_->expose(view, write);
  }
  void release(const RemoteMemory& memory) override { inner_->release(memory); }
  bool reachable(const RemoteMemory& memory) const override { return inner_->reachable(memory); }
  bool mappable(const RemoteMemory& memory) const override { return inner_->mappable(memory); }
  std::byte* map(int peer, const RemoteMemory& memory, int64_t lowest, int64_t highest) override {
    return inner_->map(peer, memory, lowest, highest);
  }

  Post post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
            uint64_t token) override {
    if (strikes(plan_.busy_probability)) return Post::busy;
    return inner_->post(peer, batch, local, remote, token);
  }
  Post post_to(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
               uint64_t token) override {
    if (strikes(plan_.busy_probability)) return Post::busy;
    return inner_->post_to(peer, batch, local, remote, token);
  }
  Result<Post> post_receive(int peer, const Batch& batch, const View& local,
                            uint64_t token) override {
    if (strikes(plan_.busy_probability)) return Post::busy;
    return inner_->post_receive(peer, batch, local, token);
  }
  Result<Post> post_send(int peer, const Batch& batch, const View& local, uint64_t token) override {
    if (strikes(plan_.busy_probability)) return Post::busy;
    return inner_->post_send(peer, batch, local, token);
  }

  int progress(TransportSink& sink) override {
    return strikes(plan_.delay_probability) ? 0 : inner_->progress(sink);
  }
  // Not passed on for long: what made a call busy or late may be no event of the inner
  // transport.
  void wait(int64_t max_ns) override {
    constexpr int64_t kLongestNs = 100'000;
    inner_->wait(max_ns < kLongestNs ? max_ns : kLongestNs);
  }
  void fail_peer(int peer, Status why) override { inner_->fail_peer(peer, std::move(why)); }

  void* allocate(size_t bytes) override { return inner_->allocate(bytes); }
  bool deallocate(void* memory) override { return inner_->deallocate(memory); }
  void will_use(const View& view) override { inner_->will_use(view); }
  Status keep_memory(std::byte* begin, size_t bytes) override {
    return inner_->keep_memory(begin, bytes);
  }
  void forget_memory(std::byte* begin) override { inner_->forget_memory(begin); }
  void add_counters(sglcoll_counters* counters) const override { inner_->add_counters(counters); }
  std::string describe() const override {
    return fmt::format("fault (seed {}) over {}", plan_.seed, inner_->describe());
  }

 private:
  bool strikes(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }
  void fail_victim() {
    inner_->fail_peer(plan_.fail_peer,
                      error(SGLCOLL_ERR_PEER_FAILED, "rank {} failed by plan after {} messages",
                            plan_.fail_peer, plan_.fail_after_messages));
  }

  std::unique_ptr<Transport> inner_;
  FaultPlan plan_;
  std::mt19937_64 random_;
  int64_t sent_to_victim_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_fault_transport(std::unique_ptr<Transport> inner, FaultPlan plan) {
  return std::make_unique<FaultTransport>(std::move(inner), plan);
}

}  // namespace sgl
