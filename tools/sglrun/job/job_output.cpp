#include "sglrun/job/job_output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sgl::run {
namespace {

bool same_file(int a, int b) {
  struct stat one, other;
  return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

JobOutput::JobOutput(EventLoop* loop, int hosts, int ranks,
                     std::function<void(int, const Message&)> send)
    : loop_(loop),
      send_(std::move(send)),
      out_(loop, 1),
      writers_(static_cast<size_t>(ranks) * kStreams) {
  if (!same_file(1, 2)) separate_err_ = std::make_unique<Sink>(loop, 2);
  streams_[kOutStream].sink = &out_;
  streams_[kErrStream].sink = &err();
  for (Stream& stream : streams_) stream.untaken.resize(static_cast<size_t>(hosts));
  report_errors_of(&out_, "standard output");
  if (separate_err_) report_errors_of(separate_err_.get(), "standard error");
  out_.on_drained = [this] { drained(&out_); };
  if (separate_err_) separate_err_->on_drained = [this] { drained(separate_err_.get()); };
}

JobOutput::~JobOutput() {
  for (int fd : file_fds_) close(fd);
}

Status JobOutput::open_files(const std::string& prefix) {
  for (size_t rank = 0; rank < writers_.size() / kStreams; ++rank) {
    std::string path = fmt::format("{}.{}", prefix, rank);
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
      return error(SGLCOLL_ERR_SYSTEM, "--output-filename: cannot write '{}': {}", path,
                   strerror(errno));
    file_fds_.push_back(fd);
    files_.push_back(std::make_unique<Sink>(loop_, fd));
    report_errors_of(files_.back().get(), path);
  }
  return {};
}

void JobOutput::report_errors_of(Sink* sink, const std::string& name) {
  sink->on_error = [this, name](int why) {
    if (on_lost) on_lost(fmt::format("output is lost: cannot write {}: {}", name, strerror(why)));
  };
}

void JobOutput::take(int host, const Message& output) {
  if (output.rank < 0 || static_cast<size_t>(output.rank) >= writers_.size() / kStreams) return;
  size_t rank = static_cast<size_t>(output.rank);
  Stream& stream = streams_[output.stream];
  stream.untaken[static_cast<size_t>(host)] += static_cast<int64_t>(output.text.size());
  Sink& sink = files_.empty() ? *stream.sink : *files_[rank];
  sink.write(&writers_[rank * kStreams + static_cast<size_t>(output.stream)], output.text);
  settle(output.stream, host);
}

void JobOutput::settle(int index, int host) {
  Stream& stream = streams_[index];
  int64_t& untaken = stream.untaken[static_cast<size_t>(host)];
  Message message;
  message.stream = index;
  if (files_.empty() && stream.sink->broken() && !stream.broken_told) {
    stream.broken_told = true;
    message.kind = MessageKind::broken;
    for (size_t each = 0; each < stream.untaken.size(); ++each)
      send_(static_cast<int>(each), message);
  }
  if (untaken == 0 || (files_.empty() && stream.sink->full() && !stream.sink->broken())) return;
  message.kind = MessageKind::taken;
  message.number = untaken;
  untaken = 0;
  send_(host, message);
}

void JobOutput::drained(Sink* sink) {
  for (int index = 0; index < kStreams; ++index)
    if (streams_[index].sink == sink)
      for (size_t host = 0; host < streams_[index].untaken.size(); ++host)
        settle(index, static_cast<int>(host));
}

void JobOutput::say(const std::string& line) {
  err().write(this, "sglrun: " + line + "\n");
}

bool JobOutput::all_written() const {
  return out_.empty() && (!separate_err_ || separate_err_->empty()) &&
         std::ranges::all_of(files_, [](const auto& file) { return file->empty(); });
}

}  // namespace sgl::run
