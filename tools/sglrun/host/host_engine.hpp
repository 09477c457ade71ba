// A host's part of a job: its ranks, their outputs and their PMIx server. Driven by
// messages, in sglrun itself for its own machine, in a daemon for another one.
#pragma once

#include "sglrun/event_loop.hpp"
#include "sglrun/host/input_pipe.hpp"
#include "sglrun/host/pmix_server.hpp"
#include "sglrun/output.hpp"
#include "sglrun/supervisor.hpp"
#include "sglrun/wire/message.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sgl::run {

class HostEngine {
 public:
  using Emit = std::function<void(Message)>;

  // `emit` gets the messages for sglrun; it must not call back.
  HostEngine(EventLoop* loop, const Worker& worker, Emit emit);
  ~HostEngine();

  // What rank 0, if it is here, reads; otherwise its input comes by messages. Stays the
  // caller's.
  void set_input(int fd) { input_fd_ = fd; }

  void take(const Message& message);
  // Whether that child was a rank, which has then ended.
  bool child_ended(pid_t process, int wait_status);
  // After each round of the loop; at the latest after next_timeout_ms() (-1: no need).
  void poll();
  int next_timeout_ms() const { return asked_.empty() ? -1 : 100; }
  // At once, without a message.
  void kill_ranks() { signal_ranks(SIGKILL); }

 private:
  // One output of one rank on its way into messages.
  class Output final : public LineTarget {
   public:
    Output(HostEngine* engine, int rank, int stream)
        : engine_(engine), rank_(rank), stream_(stream) {}
    void write(std::string_view lines) override;
    bool full() const override;
    bool broken() const override;

    std::unique_ptr<RankStream> reader;

   private:
    HostEngine* engine_;
    int rank_, stream_;
  };
  struct Rank {
    int rank = -1;
    pid_t process = 0;
    bool alive = false, ended = false;
    std::vector<int> processors;
    std::unique_ptr<Output> outputs[kStreams];
  };
  struct Window {
    int64_t under_way = 0;  // bytes that sglrun has not taken
    bool broken = false;
  };
  // A question of another host about one of the ranks here.
  struct Asked {
    int rank;
    int64_t give_up_at_ns = 0;  // 0: the rank has not ended, so there may be an answer
  };

  void set_up(const std::string& text);
  void start_ranks();
  bool start_one(Rank* rank);
  bool open_outputs(Rank* rank, int outputs[2]);
  void not_started(int rank, int exit_status, const std::string& why);
  void signal_ranks(int signal);
  void take_pmix_messages();
  void ask(const Message& question);
  void give_up_questions();
  void taken(int stream, int64_t bytes);
  void reader_left(int stream);
  bool outputs_closed() const;
  void fail(int exit_status, const std::string& why);

  EventLoop* loop_;
  const Worker& worker_;
  Emit emit_;
  Setup setup_;
  std::string program_;
  std::unique_ptr<PmixServer> server_;
  std::vector<Rank> ranks_;  // of this host
  Window windows_[kStreams];
  int input_fd_ = -1;
  std::unique_ptr<InputPipe> input_;
  std::map<uint64_t, Asked> asked_;
  bool finishing_ = false, done_ = false;
};

}  // namespace sgl::run
