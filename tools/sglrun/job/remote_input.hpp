// Standard input on its way to a rank 0 on another host.
#pragma once

#include "sglrun/event_loop.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace sgl::run {

class RemoteInput {
 public:
  // `send` gets what was read, at last the empty text for the end.
  RemoteInput(EventLoop* loop, std::function<void(std::string)> send);
  ~RemoteInput();
  RemoteInput(const RemoteInput&) = delete;
  RemoteInput& operator=(const RemoteInput&) = delete;

  // The rank runs: begin to read.
  void start();
  // The rank took so many bytes; -1: it reads no more.
  void taken(int64_t bytes);

 private:
  void read_some();
  void watch();
  void stop();

  EventLoop* loop_;
  std::function<void(std::string)> send_;
  bool watching_ = false, ended_ = false;
  int64_t under_way_ = 0;
};

}  // namespace sgl::run
