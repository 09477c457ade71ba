// The PMIx server of a job on one of its hosts, over libpmix.
#pragma once

#include "base/status.hpp"
#include "sglrun/wire/message.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pmix_common.h>

namespace sgl::run {

// At most one object a process, since libpmix has one server. libpmix answers
// the ranks on a thread of its own; the functions here are for one thread.
class PmixServer {
 public:
  // Starts serving the ranks of the host setup.host, with files in `scratch_dir`.
  static Result<std::unique_ptr<PmixServer>> start(const std::string& scratch_dir,
                                                   const Setup& setup);
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  // The variables ("NAME=VALUE") that `rank` needs to reach the server.
  Result<std::vector<std::string>> environment(int rank);

  // What the ranks want of the other hosts: aborted, fence, modex_request,
  // modex_answer, event. Readable when take_messages() has something.
  int message_fd() const { return message_fd_; }
  std::vector<Message> take_messages();

  // fence_done, modex_wanted, modex_given, event and death, from the other hosts.
  void take(const Message& message);

  // Whether the rank has ended its membership, so that nobody waits for it any more.
  bool has_left(int rank) const { return members_[static_cast<size_t>(rank)] == Membership::left; }

  // For libpmix's callbacks, on its thread.
  void on_member(int rank, bool joined) {
    members_[static_cast<size_t>(rank)] = joined ? Membership::joined : Membership::left;
  }
  void on_message(Message message);
  // The same for a message that will be answered by calling `done`.
  void on_question(Message message, pmix_modex_cbfunc_t done, void* done_data);
  pmix_status_t on_event(pmix_status_t code, const pmix_proc_t& source, pmix_data_range_t range,
                         pmix_info_t* info, size_t info_count);
  bool is_job(const char* name) const { return name == setup_.job; }

 private:
  struct Waiting {
    pmix_modex_cbfunc_t done;
    void* data;
  };

  explicit PmixServer(const Setup& setup);
  Status register_job(const std::string& scratch_dir);
  Status register_ranks();
  pmix_proc_t proc_of(int rank) const;
  void answer(const Message& message);
  void deliver_event(const std::string& packed);
  void tell_death(int rank, bool by_signal);
  void look_up(const Message& question);

  const Setup setup_;
  std::vector<int> own_ranks_;
  int message_fd_;
  bool running_ = false;
  enum class Membership : uint8_t { never, joined, left };
  std::vector<std::atomic<Membership>> members_;  // by rank of the job
  std::mutex mutex_;
  std::vector<Message> messages_;        // guarded by mutex_
  std::map<uint64_t, Waiting> waiting_;  // guarded by mutex_
  uint64_t last_id_ = 0;                 // guarded by mutex_
};

}  // namespace sgl::run
