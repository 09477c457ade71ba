// One rank of a job under a launcher. `rank_program SCENARIO` ends with status 0
// when all was as it should be; else it says what was not, and ends with 1.
#include "boot/boot.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

namespace {

using namespace sgl;

void require(bool condition, std::string_view what) {
  if (condition) return;
  fmt::print(stderr, "rank_program: {}\n", what);
  std::exit(1);
}

void require_ok(const Status& status) {
  require(status.ok(), status.text());
}

std::unique_ptr<Boot> join() {
  Result<std::unique_ptr<Boot>> boot = boot_auto(nullptr);
  require(boot.ok(), boot.status().text());
  return boot.take();
}

Status meet_all(Boot& boot) {
  std::vector<std::byte> all;
  return boot.allgather({}, &all);
}

// Every rank gives `bytes` bytes that only it would give.
void check_allgather(Boot& boot, size_t bytes, int salt) {
  auto byte_of = [salt](int rank, size_t i) {
    return static_cast<std::byte>(static_cast<size_t>(rank * 7 + salt) + i * 13);
  };
  std::vector<std::byte> mine(bytes), all;
  for (size_t i = 0; i < bytes; ++i) mine[i] = byte_of(boot.rank(), i);
  require_ok(boot.allgather(mine, &all));
  require(all.size() == bytes * static_cast<size_t>(boot.size()),
          "allgather gave the wrong number of bytes");
  for (int rank = 0; rank < boot.size(); ++rank)
    for (size_t i = 0; i < bytes; ++i)
      require(
          all[static_cast<size_t>(rank) * bytes + i] == byte_of(rank, i),
          fmt::format("byte {} of rank {} is wrong in an allgather of {} bytes", i, rank, bytes));
}

void meet() {
  std::unique_ptr<Boot> boot = join();
  int salt = 0;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{120}, size_t{70000}})
    check_allgather(*boot, bytes, ++salt);
  Result<std::vector<int>> node = boot->node_ranks();
  require(node.ok(), node.status().text());
  require(node.value().size() == static_cast<size_t>(boot->size()),
          "not all ranks are on this node");
  require(!boot->poll_failed_rank(), "a rank is said to have failed");
  require_ok(boot->finalize());
}

void unequal() {
  std::unique_ptr<Boot> boot = join();
  std::vector<std::byte> mine(boot->rank() == 0 ? 3 : 4), all;
  Status status = boot->allgather(mine, &all);
  require(status.code() == SGLCOLL_ERR_BOOT, "unequal lengths were taken");
  require(status.text().find("bytes") != std::string::npos, status.text());
  require_ok(boot->finalize());
}

std::optional<int> wait_for_failure(Boot& boot) {
  for (int i = 0; i < 1000; ++i) {
    if (std::optional<int> failed = boot.poll_failed_rank()) return failed;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

// The last rank ends by `how`; the others hear of it, once.
void lose_last(std::string_view how) {
  std::unique_ptr<Boot> boot = join();
  require_ok(meet_all(*boot));
  int last = boot->size() - 1;
  if (boot->rank() == last) {
    if (how == "killed") raise(SIGKILL);
    _exit(how == "failed" ? 9 : 0);
  }
  require(wait_for_failure(*boot) == last, "the death of the last rank was not reported");
  require(!boot->poll_failed_rank(), "the death was reported twice");
  require(meet_all(*boot).code() == SGLCOLL_ERR_PEER_FAILED,
          "an allgather with a dead rank did not fail");
  require_ok(boot->finalize());
}

// The last rank dies while the others are in an allgather.
void lose_last_in_allgather() {
  std::unique_ptr<Boot> boot = join();
  require_ok(meet_all(*boot));
  if (boot->rank() == boot->size() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    raise(SIGKILL);
  }
  Status status = meet_all(*boot);
  require(status.code() == SGLCOLL_ERR_PEER_FAILED, "an allgather outlived a rank");
  require(status.text().find(fmt::format("rank {}", boot->size() - 1)) != std::string::npos,
          status.text());
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view scenario = argc > 1 ? argv[1] : "";
  if (scenario == "meet") return meet(), 0;
  if (scenario == "meet-again") return meet(), meet(), 0;
  if (scenario == "unequal") return unequal(), 0;
  if (scenario == "killed" || scenario == "failed" || scenario == "left")
    return lose_last(scenario), 0;
  if (scenario == "killed-in-allgather") return lose_last_in_allgather(), 0;
  fmt::print(stderr, "rank_program: no scenario '{}'\n", scenario);
  return 2;
}
