// One rank's end of an shm transport in a test process.
#pragma once

#include "datatype/layout.hpp"
#include "support/fork_ranks.hpp"
#include "transport/shm/shm.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {

// Keeps all that it is told.
class RecordingSink final : public TransportSink {
 public:
  struct Message {
    int peer;
    MessageHeader header;
    std::vector<std::byte> payload;
  };
  struct Completion {
    uint64_t token;
    Status status;
  };
  struct Failure {
    int peer;
    Status status;
  };

  void on_message(int peer, const MessageHeader& header,
                  std::span<const std::byte> payload) override {
    messages.push_back({peer, header, {payload.begin(), payload.end()}});
  }
  void on_complete(uint64_t token, Status status) override {
    completions.push_back({token, std::move(status)});
  }
  void on_peer_failed(int peer, Status status) override {
    failures.push_back({peer, std::move(status)});
  }

  std::deque<Message> messages;
  std::vector<Completion> completions;
  std::vector<Failure> failures;
};

inline ShmBootstrap bootstrap_of(int rank, int size, const Allgather& allgather) {
  ShmBootstrap bootstrap{rank, size, std::vector<int>(static_cast<size_t>(size)), allgather};
  std::iota(bootstrap.node_ranks.begin(), bootstrap.node_ranks.end(), 0);
  return bootstrap;
}

// Ends the process when there is no transport: the other ranks then fail as well.
inline std::unique_ptr<Transport> open_shm(int rank, int size, const Allgather& allgather) {
  Result<std::unique_ptr<Transport>> transport =
      make_shm_transport(bootstrap_of(rank, size, allgather));
  if (transport.ok()) return transport.take();
  ADD_FAILURE() << "rank " << rank << ": " << transport.status().text();
  _exit(1);
}

inline View view_of(std::vector<std::byte>& bytes, const Layout& layout) {
  return {bytes.data(), &layout, 0, layout.size()};
}

// Calls progress() and wait() until `done`; false when that takes unreasonably long.
inline bool progress_until(Transport& transport, TransportSink& sink,
                           const std::function<bool()>& done) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (transport.progress(sink) == 0 && !done()) transport.wait(1'000'000);
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

// Sends, however often the ring is full. Takes in what arrives meanwhile.
inline Post send_all(Transport& transport, TransportSink& sink, int peer,
                     const MessageHeader& header, const View* payload) {
  Post post = Post::busy;
  while ((post = transport.send_message(peer, header, payload)) == Post::busy)
    if (transport.progress(sink) == 0) transport.wait(1'000'000);
  return post;
}

inline void barrier(const Allgather& allgather) {
  std::vector<std::byte> all;
  std::byte one{1};
  EXPECT_TRUE(allgather({&one, 1}, &all).ok());
}

// Every rank's `mine`, a trivially copyable value.
template <class T>
std::vector<T> gather_all(const Allgather& allgather, const T& mine) {
  std::vector<std::byte> bytes;
  EXPECT_TRUE(allgather(std::as_bytes(std::span(&mine, 1)), &bytes).ok());
  std::vector<T> all(bytes.size() / sizeof(T));
  memcpy(static_cast<void*>(all.data()), bytes.data(), all.size() * sizeof(T));
  return all;
}

inline std::vector<std::byte> pattern(size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::byte& byte : data) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56);
  }
  return data;
}

}  // namespace sgl::test
