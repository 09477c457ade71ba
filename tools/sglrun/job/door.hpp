// Where the daemons of other hosts come in.
#pragma once

#include "base/status.hpp"
#include "sglrun/event_loop.hpp"
#include "sglrun/wire/connection.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sgl::run {

class Door {
 public:
  // Whoever proves that it is a host's daemon is handed to `came`; of others `refused`
  // is told.
  Door(EventLoop* loop, int64_t timeout_ns, Connection::KeyOf key_of,
       std::function<void(std::unique_ptr<Connection>)> came,
       std::function<void(const std::string& who, const std::string& why)> refused);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // Listens at any port, or at a free one from first_port to last_port.
  Status open(int first_port, int last_port);
  int port() const { return port_; }
  // After each round of the loop.
  void poll(int64_t now_ns);

 private:
  struct Visitor {
    std::unique_ptr<Connection> connection;
    std::string lost;  // why; empty: not lost
  };
  void on_knock();

  EventLoop* loop_;
  int64_t timeout_ns_;
  Connection::KeyOf key_of_;
  std::function<void(std::unique_ptr<Connection>)> came_;
  std::function<void(const std::string&, const std::string&)> refused_;
  int fd_ = -1;
  int port_ = 0;
  std::vector<std::unique_ptr<Visitor>> visitors_;
};

}  // namespace sgl::run
