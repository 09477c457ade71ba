// The PMIx server of one job on this node, over libpmix.
#pragma once

#include "base/status.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sgl::run {

// A rank that called PMIx_Abort.
struct AbortRequest {
  int rank;
  int status;
  std::string message;
};

// At most one object a process, since libpmix has one server. libpmix answers
// the ranks on a thread of its own; the functions here are for one thread.
class PmixServer {
 public:
  // Starts serving `ranks` ranks, all on this node, with files in `scratch_dir`.
  static Result<std::unique_ptr<PmixServer>> start(const std::string& scratch_dir,
                                                   const std::string& host, int ranks);
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  // The variables ("NAME=VALUE") that `rank` needs to reach the server.
  Result<std::vector<std::string>> environment(int rank);

  // Readable when take_abort_request() has something.
  int abort_fd() const { return abort_fd_; }
  std::optional<AbortRequest> take_abort_request();

  // Whether `rank` joined by PMIx and has not left.
  // Whether the rank has ended its membership, so that nobody waits for it any more.
  bool has_left(int rank) const { return members_[static_cast<size_t>(rank)] == Membership::left; }

  // Tells the other ranks that `rank` has died.
  void notify_death(int rank, bool by_signal);

  // For libpmix's callbacks.
  void on_member(int rank, bool joined) {
    members_[static_cast<size_t>(rank)] = joined ? Membership::joined : Membership::left;
  }
  void on_abort(AbortRequest request);

 private:
  PmixServer(const std::string& host, int ranks);
  Status register_job(const std::string& scratch_dir);
  Status register_ranks();

  std::string job_;  // PMIx's namespace
  std::string host_;
  int ranks_;
  int abort_fd_;
  bool running_ = false;
  enum class Membership : uint8_t { never, joined, left };
  std::vector<std::atomic<Membership>> members_;
  std::mutex mutex_;
  std::vector<AbortRequest> abort_requests_;  // guarded by mutex_
};

}  // namespace sgl::run
