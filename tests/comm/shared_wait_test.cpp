// Several threads that wait on one transport: who sleeps, and what ends it.
#include "comm/shared_wait.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace sgl {
namespace {

using std::chrono::seconds;
constexpr int64_t kForever = 40'000'000'000;  // a sleep that nothing ends fails by this

// Has nothing but an event that the test raises.
class QuietTransport final : public Transport {
 public:
  QuietTransport() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  void raise() { eventfd_write(event_.get(), 1); }

  bool prepare_wait(std::vector<int>* descriptors) override {
    EXPECT_EQ(++sleepers, 1) << "two threads sleep on the transport";
    descriptors->push_back(event_.get());
    return !busy;
  }
  void finish_wait() override {
    --sleepers;
    ++waits;
    eventfd_t events = 0;
    eventfd_read(event_.get(), &events);
  }

  const TransportLimits& limits() const override { return limits_; }
  Post send_message(int, const MessageHeader&, const View*) override { return Post::failed; }
  Result<RemoteMemory> expose(const View&, bool) override { return RemoteMemory{}; }
  void release(const RemoteMemory&) override {}
  bool reachable(const RemoteMemory&) const override { return false; }
  bool mappable(const RemoteMemory&) const override { return false; }
  std::byte* map(int, const RemoteMemory&, int64_t, int64_t) override { return nullptr; }
  Post post(int, const Batch&, const View&, const RemoteMemory&, uint64_t) override {
    return Post::failed;
  }
  Result<Post> post_receive(int, const Batch&, const View&, uint64_t) override {
    return Post::failed;
  }
  Result<Post> post_send(int, const Batch&, const View&, uint64_t) override { return Post::failed; }
  int progress(TransportSink&) override { return 0; }
  void wait(int64_t) override { ADD_FAILURE() << "this sleep holds the lock"; }
  void fail_peer(int, Status) override {}
  void* allocate(size_t) override { return nullptr; }
  bool deallocate(void*) override { return false; }
  std::string describe() const override { return "quiet"; }

  bool busy = false;
  int sleepers = 0;  // these by one thread at a time, under the lock
  int waits = 0;

 private:
  TransportLimits limits_;
  OwnedFd event_;
};

class SharedWaitTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(wait.open().ok()); }
  void TearDown() override {
    for (std::thread& thread : threads_) thread.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin_, seconds(30)) << "a sleep timed out";
  }

  // A thread that waits, as World::wait_turn does, until `done`.
  void start_waiting(const std::atomic<bool>& done) {
    threads_.emplace_back([this, &done] {
      SharedWait::Lock held(mutex);
      ++started;
      while (!done) wait.sleep(transport, held, kForever);
    });
  }
  // Until that many threads are asleep: each lets the lock go only then.
  void await_sleepers(int count) {
    await([&] { return started == count; });
  }
  // Until `reached`, asked under the lock.
  template <class Condition>
  void await(Condition reached) {
    for (;; std::this_thread::yield()) {
      SharedWait::Lock held(mutex);
      if (reached()) return;
    }
  }

  SharedWait wait;
  QuietTransport transport;
  std::recursive_mutex mutex;
  int started = 0;
  std::atomic<bool> first_done{false}, second_done{false};

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<std::thread> threads_;
};

TEST_F(SharedWaitTest, OneSleepsOnTheTransportAndNoneHoldsTheLock) {
  for (int i = 0; i < 3; ++i) start_waiting(first_done);
  await_sleepers(3);
  SharedWait::Lock held(mutex);
  EXPECT_EQ(transport.sleepers, 1);
  EXPECT_EQ(transport.waits, 0);
  first_done = true;
  wait.wake();
}

TEST_F(SharedWaitTest, AnEventWakesTheOneThatSleepsOnTheTransport) {
  start_waiting(first_done);
  await_sleepers(1);
  first_done = true;
  transport.raise();
}

// The one that slept on the transport has what it waited for, so another takes its place.
TEST_F(SharedWaitTest, AnotherTakesTheSleepersPlace) {
  start_waiting(first_done);
  await_sleepers(1);
  start_waiting(second_done);
  await_sleepers(2);
  {
    SharedWait::Lock held(mutex);
    first_done = true;
    wait.wake();
  }
  await([&] { return transport.waits > 0 && transport.sleepers == 1; });
  second_done = true;
  transport.raise();
}

TEST_F(SharedWaitTest, NoSleepWhenSomethingMayBeThere) {
  transport.busy = true;
  SharedWait::Lock held(mutex);
  wait.sleep(transport, held, kForever);
  EXPECT_EQ(transport.waits, 1);
  EXPECT_EQ(transport.sleepers, 0);
  EXPECT_TRUE(held.owns_lock());
}

}  // namespace
}  // namespace sgl
