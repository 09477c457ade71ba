// The outputs of all ranks on their way to sglrun's own, or to a file a rank.
#pragma once

#include "base/status.hpp"
#include "sglrun/event_loop.hpp"
#include "sglrun/output.hpp"
#include "sglrun/wire/message.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sgl::run {

class JobOutput {
 public:
  // `send` takes messages to hosts: how much of their output was taken, and that nobody
  // reads a stream any more.
  JobOutput(EventLoop* loop, int hosts, int ranks,
            std::function<void(int host, const Message&)> send);
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  // From now on rank R's output goes to the file PREFIX.R.
  Status open_files(const std::string& prefix);

  void take(int host, const Message& output);
  // A line of sglrun itself, on its standard error.
  void say(const std::string& line);
  bool all_written() const;
  // Output was lost; told once for each file that cannot be written.
  std::function<void(const std::string& text)> on_lost;

 private:
  struct Stream {
    Sink* sink;
    std::vector<int64_t> untaken;  // bytes, by host
    bool broken_told = false;
  };

  void report_errors_of(Sink* sink, const std::string& name);
  void drained(Sink* sink);
  void settle(int stream, int host);
  Sink& err() { return separate_err_ ? *separate_err_ : out_; }

  EventLoop* loop_;
  std::function<void(int, const Message&)> send_;
  Sink out_;
  std::unique_ptr<Sink> separate_err_;  // null: standard error is standard output's file
  Stream streams_[kStreams];
  std::vector<char> writers_;  // an address for each rank's streams
  std::vector<int> file_fds_;
  std::vector<std::unique_ptr<Sink>> files_;  // by rank; none without open_files()
};

}  // namespace sgl::run
