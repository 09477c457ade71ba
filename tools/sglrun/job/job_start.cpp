// The start of a job: its hosts are reached and say where their ranks would run; then
// all start them.
#include "base/clock.hpp"
#include "sglrun/descendants.hpp"
#include "sglrun/environment.hpp"
#include "sglrun/host/daemon.hpp"
#include "sglrun/host/placement.hpp"
#include "sglrun/job/job.hpp"
#include "sglrun/job/placement_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace sgl::run {
namespace {

// Of connections that do not belong to the job; more would be noise.
constexpr int kMostRefusalsTold = 3;

}  // namespace

Job::Job(const Options& options, const Worker& worker)
    : options_(options),
      worker_(worker),
      name_(fmt::format("sglrun-{}-{}", local_host_name(), getpid())),
      host_timeout_ns_(std::llround(options.host_timeout_s * 1e9)),
      hosts_(options.layout.hosts.size()),
      output_(&loop_, static_cast<int>(options.layout.hosts.size()), options.ranks(),
              [this](int host, const Message& message) {
                hosts_[static_cast<size_t>(host)].link->send(message);
              }),
      exchange_(options.layout.host_of_rank, static_cast<int>(options.layout.hosts.size()),
                [this](int host, const Message& message) {
                  hosts_[static_cast<size_t>(host)].link->send(message);
                }),
      ranks_(static_cast<size_t>(options.ranks())),
      left_(options.ranks()) {}

Job::~Job() {
  if (child_fd_ >= 0) close(child_fd_);
}

bool Job::prepare() {
  signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  output_.on_lost = [this](const std::string& text) {
    say_error(text);
    fail(1);
    end_job();
  };
  Status status;
  if (!options_.output_prefix.empty() && !options_.dry_run)
    status = output_.open_files(options_.output_prefix);
  if (!status.ok()) {
    say_error(status.text());
    fail(1);
    left_ = 0;
    return false;
  }
  if (options_.timeout_s > 0) timeout_at_ns_ = now_ns() + std::llround(options_.timeout_s * 1e9);
  for (size_t host = 0; host < hosts_.size(); ++host)
    hosts_[host].name = options_.layout.hosts[host];
  bool all_local =
      std::ranges::all_of(hosts_, [](const Host& host) { return is_this_machine(host.name); });
  if (!all_local && !open_door()) return false;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) make_link(host);
  return true;
}

bool Job::open_door() {
  door_ = std::make_unique<Door>(
      &loop_, host_timeout_ns_, [this](int host) { return key_of(host); },
      [this](std::unique_ptr<Connection> connection) {
        auto& link = *hosts_[static_cast<size_t>(connection->host())].link;
        static_cast<RemoteLink&>(link).attach(std::move(connection));
      },
      [this](const std::string& who, const std::string& why) {
        if (++refusals_ <= kMostRefusalsTold)
          say(fmt::format("refused a connection from {}: {}", who, why));
      });
  Status status = door_->open(options_.first_port, options_.last_port);
  if (status.ok())
    for (Host& host : hosts_) {
      Result<Key> key = Key::random();
      if (!key.ok()) status = std::move(key.status());
      if (key.ok()) host.key = key.value();
    }
  if (status.ok()) return true;
  say_error(status.text());
  fail(1);
  left_ = 0;
  return false;
}

std::optional<Key> Job::key_of(int index) const {
  if (index < 0 || index >= static_cast<int>(hosts_.size())) return std::nullopt;
  const Host& host = hosts_[static_cast<size_t>(index)];
  if (!host.link || host.link->is_local() || host.lost) return std::nullopt;
  if (!static_cast<const RemoteLink&>(*host.link).awaits_daemon()) return std::nullopt;
  return host.key;
}

void Job::make_link(int index) {
  Host& host = hosts_[static_cast<size_t>(index)];
  HostLink::Events events;
  events.ready = [this, index] {
    Message message;
    message.kind = MessageKind::setup;
    message.text = encode(setup_for(index));
    hosts_[static_cast<size_t>(index)].link->send(message);
  };
  events.message = [this, index](const Message& message) { take(index, message); };
  events.lost = [this, index](const std::string& why) { on_host_lost(index, why); };
  bool has_rank0 = host_of(0) == index && !options_.dry_run;
  if (is_this_machine(host.name)) {
    if (has_rank0) input_ = std::make_unique<Input>(&loop_);
    host.link = std::make_unique<LocalLink>(&loop_, worker_, input_ ? input_->rank0_fd() : -1,
                                            std::move(events));
    return;
  }
  if (has_rank0)
    remote_input_ = std::make_unique<RemoteInput>(&loop_, [this, index](std::string bytes) {
      Message message;
      message.kind = MessageKind::input;
      message.text = std::move(bytes);
      hosts_[static_cast<size_t>(index)].link->send(message);
    });
  auto link = std::make_unique<RemoteLink>(&loop_, start_of(index), std::move(events));
  RemoteLink& remote = *link;
  host.link = std::move(link);
  remote.launch();
}

RemoteLink::Start Job::start_of(int index) const {
  const Host& host = hosts_[static_cast<size_t>(index)];
  RemoteLink::Start start;
  start.host = host.name;
  start.command = options_.launch_agent;
  start.command.push_back(host.name);
  start.command.push_back(shell_quoted(options_.remote_program));
  start.command.push_back(kDaemonOption);
  DaemonStart daemon;
  daemon.host = index;
  daemon.key = host.key;
  daemon.timeout_s = options_.host_timeout_s;
  daemon.port = door_->port();
  start.input = encode(daemon);
  start.signal_mask = worker_.original_mask;
  start.timeout_ns = host_timeout_ns_;
  start.advice = fmt::format(
      "check that `{} {} true` works without a question, and that {} can connect to port {} of "
      "this machine",
      fmt::join(options_.launch_agent, " "), host.name, host.name, door_->port());
  return start;
}

Setup Job::setup_for(int index) const {
  const Host& host = hosts_[static_cast<size_t>(index)];
  Setup setup;
  setup.job = name_;
  setup.host = index;
  setup.hosts = options_.layout.hosts;
  setup.host_of_rank = options_.layout.host_of_rank;
  setup.map_by = options_.map_by;
  setup.bind_to = options_.bind_to;
  setup.environment = merge(without_outer_launcher(own_environment()), options_.environment);
  setup.command = options_.command;
  if (setup.command.empty()) setup.command = {"true"};  // a dry run's
  setup.working_directory = options_.working_directory;
  std::error_code none;
  if (setup.working_directory.empty() && !host.link->is_local())
    setup.working_directory = std::filesystem::current_path(none);
  setup.tag_output = options_.tag_output && options_.output_prefix.empty();
  setup.one_stream = !options_.output_prefix.empty();
  setup.input_by_messages = remote_input_ != nullptr;
  return setup;
}

void Job::watch_events() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);  // blocked since before the fork from the supervisor
  child_fd_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  loop_.add(child_fd_, EPOLLIN, [this](uint32_t) { reap(); });
  loop_.add(worker_.control_fd, EPOLLIN, [this](uint32_t) { take_signals(); });
}

void Job::on_placed(int index, const Message& message) {
  Host& host = hosts_[static_cast<size_t>(index)];
  host.placed = true;
  auto number = message.numbers.begin();
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (host_of(static_cast<int>(rank)) != index || number == message.numbers.end()) continue;
    auto count = std::clamp<ptrdiff_t>(*number++, 0, message.numbers.end() - number);
    ranks_[rank].processors.assign(number, number + count);
    number += count;
  }
  bool all = std::ranges::all_of(hosts_, [](const Host& each) { return each.placed; });
  if (all && !killed_) start_ranks();
}

void Job::start_ranks() {
  if (options_.dry_run) {
    std::vector<RankPlace> places;
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      places.push_back({hosts_[static_cast<size_t>(host_of(static_cast<int>(rank)))].name,
                        ranks_[rank].processors});
    std::fputs(report_places(places, options_.json).c_str(), stdout);
    std::fflush(stdout);
    for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) forget_waiting(host);
    return;
  }
  if (options_.report_bindings)
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
      say_error(fmt::format("{}: {}", name_of(rank),
                            describe_binding(ranks_[static_cast<size_t>(rank)].processors)));
  started_ = true;
  Message message;
  message.kind = MessageKind::start;
  send_to_all(message);
}

}  // namespace sgl::run
