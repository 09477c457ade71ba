#include "sglrun/host/host_engine.hpp"

#include "base/clock.hpp"
#include "sglrun/descendants.hpp"
#include "sglrun/environment.hpp"
#include "sglrun/host/children.hpp"
#include "sglrun/host/placement.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace sgl::run {
namespace {

// Of a stream of all ranks of a host: so much may be sent before sglrun takes it.
constexpr int64_t kWindowBytes = int64_t{1} << 20;
// How long a question about a rank that has ended may still find an answer.
constexpr int64_t kLateAnswerNs = 1'000'000'000;
constexpr int kUsageError = 2;

Message message_of(MessageKind kind, int rank = -1, int64_t number = 0, std::string text = {}) {
  Message message;
  message.kind = kind;
  message.rank = rank;
  message.number = number;
  message.text = std::move(text);
  return message;
}

}  // namespace

HostEngine::HostEngine(EventLoop* loop, const Worker& worker, Emit emit)
    : loop_(loop), worker_(worker), emit_(std::move(emit)) {
  raise_descriptor_limit();
}

HostEngine::~HostEngine() = default;

void HostEngine::take(const Message& message) {
  switch (message.kind) {
    case MessageKind::setup:
      return set_up(message.text);
    case MessageKind::start:
      return start_ranks();
    case MessageKind::signal:
      return signal_ranks(static_cast<int>(message.number));
    case MessageKind::input:
      if (input_) input_->write(message.text);
      return;
    case MessageKind::taken:
      return taken(message.stream, message.number);
    case MessageKind::broken:
      return reader_left(message.stream);
    case MessageKind::modex_wanted:
      return ask(message);
    case MessageKind::fence_done:
    case MessageKind::modex_given:
    case MessageKind::event:
    case MessageKind::death:
      if (server_) server_->take(message);
      return;
    case MessageKind::finish:
      // What ranks left running would keep their outputs open.
      kill_all_descendants();
      finishing_ = true;
      return;
    default:
      return;
  }
}

void HostEngine::fail(int exit_status, const std::string& why) {
  emit_(message_of(MessageKind::failed, -1, exit_status, why));
}

// ---- Starting -------------------------------------------------------------------------

void HostEngine::set_up(const std::string& text) {
  Result<Setup> setup = decode_setup(text);
  if (!setup.ok()) return fail(1, setup.status().text());
  setup_ = setup.take();
  std::vector<int> own = setup_.ranks_on(setup_.host);
  Result<std::vector<std::vector<int>>> placed =
      place(static_cast<int>(own.size()), setup_.map_by, setup_.bind_to);
  if (!placed.ok()) return fail(kUsageError, placed.status().text());
  Message message = message_of(MessageKind::placed);
  for (size_t i = 0; i < own.size(); ++i) {
    std::vector<int>& processors = placed.value()[i];
    message.numbers.push_back(static_cast<int>(processors.size()));
    message.numbers.insert(message.numbers.end(), processors.begin(), processors.end());
    ranks_.emplace_back();
    ranks_.back().rank = own[i];
    ranks_.back().processors = std::move(processors);
  }
  program_ = find_program_file(
      setup_.command.front(),
      value_in(setup_.environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
  Result<std::unique_ptr<PmixServer>> server = PmixServer::start(worker_.scratch_dir, setup_);
  if (!server.ok()) return fail(1, server.status().text());
  server_ = server.take();
  loop_->add(server_->message_fd(), EPOLLIN, [this](uint32_t) { take_pmix_messages(); });
  if (setup_.input_by_messages && !own.empty() && own.front() == 0)
    input_ = std::make_unique<InputPipe>(
        loop_, [this](int64_t bytes) { emit_(message_of(MessageKind::input_taken, 0, bytes)); });
  emit_(std::move(message));
}

void HostEngine::start_ranks() {
  for (Rank& rank : ranks_)
    if (!start_one(&rank)) return;
}

void HostEngine::not_started(int rank, int exit_status, const std::string& why) {
  emit_(message_of(MessageKind::not_started, rank, exit_status, why));
}

bool HostEngine::start_one(Rank* rank) {
  int outputs[kStreams];
  Result<std::vector<std::string>> pmix = server_->environment(rank->rank);
  if (!pmix.ok()) return not_started(rank->rank, 1, pmix.status().text()), false;
  if (!open_outputs(rank, outputs)) return false;
  RankStart start;
  start.environment = merge(setup_.environment, pmix.value());
  start.program = program_;
  start.arguments = setup_.command;
  start.working_directory = setup_.working_directory;
  start.processors = rank->processors;
  start.signal_mask = worker_.original_mask;
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int own_input = input_ ? input_->rank_fd() : input_fd_;
  start.input_fd = rank->rank == 0 && own_input >= 0 ? own_input : null_fd;
  start.output_fd = outputs[kOutStream];
  start.error_fd = outputs[kErrStream];
  StartFailure failure;
  rank->process = start_rank(start, &failure);
  close(null_fd);
  close(outputs[kOutStream]);
  if (outputs[kErrStream] != outputs[kOutStream]) close(outputs[kErrStream]);
  if (rank->rank == 0 && input_) input_->rank_started();
  if (rank->process < 0) return not_started(rank->rank, failure.exit_status, failure.text), false;
  rank->alive = true;
  emit_(message_of(MessageKind::started, rank->rank, rank->process));
  return true;
}

// Makes the pipes that the rank writes to: outputs[] are its ends, the same twice for
// one stream.
bool HostEngine::open_outputs(Rank* rank, int outputs[2]) {
  const char* names[] = {"out", "err"};
  int streams = setup_.one_stream ? 1 : kStreams;
  for (int stream = 0; stream < streams; ++stream) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      not_started(rank->rank, 1,
                  fmt::format("cannot make the pipes of rank {}: {} (ulimit -n?)", rank->rank,
                              strerror(errno)));
      return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 18);  // fewer switches; the usual size does too
    outputs[stream] = ends[1];
    auto output = std::make_unique<Output>(this, rank->rank, stream);
    std::string tag =
        setup_.tag_output ? fmt::format("[{}:{}] ", rank->rank, names[stream]) : std::string();
    output->reader = std::make_unique<RankStream>(loop_, ends[0], tag, output.get());
    rank->outputs[stream] = std::move(output);
  }
  if (streams == 1) outputs[kErrStream] = outputs[kOutStream];
  return true;
}

// ---- While it runs ----------------------------------------------------------------------

void HostEngine::signal_ranks(int signal) {
  for (Rank& rank : ranks_)
    if (rank.alive) kill(-rank.process, signal);
}

bool HostEngine::child_ended(pid_t process, int wait_status) {
  auto rank = std::ranges::find_if(
      ranks_, [process](const Rank& each) { return each.alive && each.process == process; });
  if (rank == ranks_.end()) return false;
  rank->alive = false;
  rank->ended = true;
  take_pmix_messages();  // what it said before
  for (auto& [id, asked] : asked_)
    if (asked.rank == rank->rank) asked.give_up_at_ns = now_ns() + kLateAnswerNs;
  if (rank->rank == 0 && input_) input_->rank_ended();
  Message message = message_of(MessageKind::ended, rank->rank, wait_status);
  message.id = server_->has_left(rank->rank);
  emit_(std::move(message));
  return true;
}

void HostEngine::poll() {
  give_up_questions();
  if (!finishing_ || done_ || !outputs_closed()) return;
  done_ = true;
  emit_(message_of(MessageKind::done));
}

// ---- PMIx -----------------------------------------------------------------------------------

void HostEngine::take_pmix_messages() {
  for (Message& message : server_->take_messages()) {
    if (message.kind == MessageKind::modex_answer && asked_.erase(message.id) == 0) continue;
    emit_(std::move(message));
  }
}

void HostEngine::ask(const Message& question) {
  auto rank = std::ranges::find(ranks_, question.rank, &Rank::rank);
  bool may_answer = rank != ranks_.end() && !rank->ended;
  asked_[question.id] = {question.rank, may_answer ? 0 : now_ns() + kLateAnswerNs};
  if (server_) server_->take(question);
}

void HostEngine::give_up_questions() {
  int64_t now = now_ns();
  std::erase_if(asked_, [&](const auto& entry) {
    if (entry.second.give_up_at_ns == 0 || now < entry.second.give_up_at_ns) return false;
    Message answer = message_of(MessageKind::modex_answer, entry.second.rank, PMIX_ERR_NOT_FOUND);
    answer.id = entry.first;
    emit_(std::move(answer));
    return true;
  });
}

// ---- Outputs ----------------------------------------------------------------------------------

void HostEngine::Output::write(std::string_view lines) {
  Message message = message_of(MessageKind::output, rank_, 0, std::string(lines));
  message.stream = stream_;
  engine_->windows_[stream_].under_way += static_cast<int64_t>(lines.size());
  engine_->emit_(std::move(message));
}

bool HostEngine::Output::full() const {
  return engine_->windows_[stream_].under_way >= kWindowBytes;
}

bool HostEngine::Output::broken() const {
  return engine_->windows_[stream_].broken;
}

void HostEngine::taken(int stream, int64_t bytes) {
  Window& window = windows_[stream];
  bool was_full = window.under_way >= kWindowBytes;
  window.under_way -= bytes;
  if (!was_full || window.under_way >= kWindowBytes) return;
  for (Rank& rank : ranks_)
    if (rank.outputs[stream]) rank.outputs[stream]->reader->resume();
}

void HostEngine::reader_left(int stream) {
  windows_[stream].broken = true;
  for (Rank& rank : ranks_)
    if (rank.outputs[stream]) rank.outputs[stream]->reader->close_pipe();
}

bool HostEngine::outputs_closed() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) {
    return std::ranges::all_of(
        rank.outputs, [](const auto& output) { return !output || output->reader->closed(); });
  });
}

}  // namespace sgl::run
