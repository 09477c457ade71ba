#include "sglrun/job/door.hpp"

#include "sglrun/wire/sockets.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sgl::run {
namespace {

// Strangers must not use up the descriptors.
constexpr size_t kMostVisitors = 256;

}  // namespace

Door::Door(EventLoop* loop, int64_t timeout_ns, Connection::KeyOf key_of,
           std::function<void(std::unique_ptr<Connection>)> came,
           std::function<void(const std::string&, const std::string&)> refused)
    : loop_(loop),
      timeout_ns_(timeout_ns),
      key_of_(std::move(key_of)),
      came_(std::move(came)),
      refused_(std::move(refused)) {}

Door::~Door() {
  if (fd_ < 0) return;
  loop_->remove(fd_);
  close(fd_);
}

Status Door::open(int first_port, int last_port) {
  Result<int> fd = listen_anywhere(first_port, last_port, &port_);
  if (!fd.ok()) return std::move(fd.status());
  fd_ = fd.value();
  loop_->add(fd_, EPOLLIN, [this](uint32_t) { on_knock(); });
  return {};
}

void Door::on_knock() {
  int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (visitors_.size() >= kMostVisitors) {
    close(fd);
    return;
  }
  auto visitor = std::make_unique<Visitor>();
  visitor->connection = std::make_unique<Connection>(loop_, fd, timeout_ns_, key_of_);
  visitor->connection->on_lost = [self = visitor.get()](const std::string& why) {
    self->lost = why;
  };
  visitors_.push_back(std::move(visitor));
}

void Door::poll(int64_t now_ns) {
  // By index: `came_` runs what may bring the next visitor.
  for (size_t i = 0; i < visitors_.size(); ++i) {
    Visitor& visitor = *visitors_[i];
    visitor.connection->tick(now_ns);
    if (visitor.connection->is_open()) {
      visitor.connection->on_lost = nullptr;
      came_(std::move(visitor.connection));
    } else if (visitor.connection->is_lost()) {
      // Who closes without a word came to the wrong door.
      if (visitor.connection->said_hello()) refused_(visitor.connection->peer(), visitor.lost);
      visitor.connection.reset();
    }
  }
  std::erase_if(visitors_, [](const auto& visitor) { return !visitor->connection; });
}

}  // namespace sgl::run
