// A connection between sglrun and the daemon of one of its hosts.
//
// Both ends prove that they know the host's key before anything else is said, each
// by an HMAC over numbers that the other one drew. From then on every frame is
// sealed under keys that only this connection has.
#pragma once

#include "sglrun/event_loop.hpp"
#include "sglrun/wire/message.hpp"
#include "sglrun/wire/secret.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sgl::run {

class Connection {
 public:
  // The key of a host, nothing for a host that is not of the job or has come already.
  using KeyOf = std::function<std::optional<Key>(int host)>;

  // sglrun's end; `fd` is a connected socket, which the object owns. Whoever does not
  // say anything for `timeout_ns` is lost.
  Connection(EventLoop* loop, int fd, int64_t timeout_ns, KeyOf key_of);
  // The daemon's end.
  Connection(EventLoop* loop, int fd, int64_t timeout_ns, int host, const Key& key);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Called from the event loop and tick(); none may destroy the object. `lost` comes
  // at most once, with the reason, and nothing after it.
  std::function<void()> on_open;
  std::function<void(Message)> on_message;
  std::function<void(const std::string& why)> on_lost;

  void send(const Message& message);  // ignored before on_open and after on_lost
  // Says that this end lives and sees whether the other one does; call it at least
  // every period_ns().
  void tick(int64_t now_ns);
  int64_t period_ns() const { return timeout_ns_ / 5; }

  bool is_open() const { return state_ == State::open; }
  bool is_lost() const { return state_ == State::lost; }
  bool said_hello() const { return !hello_.empty(); }
  bool all_sent() const { return out_.size() == out_start_; }
  int host() const { return host_; }  // of sglrun's end: once it is open
  const std::string& peer() const { return peer_; }

 private:
  enum class State { await_hello, await_challenge, await_proof, open, lost };

  void begin();
  void on_ready(uint32_t events);
  void read_some();
  void take_input();
  bool take_handshake();
  bool take_hello();
  bool take_challenge();
  bool take_proof();
  bool take_frame();
  void become_open();
  void put(std::string_view bytes);
  void flush();
  void lose(const std::string& why);

  EventLoop* loop_;
  int fd_;
  int64_t timeout_ns_;
  State state_;
  KeyOf key_of_;
  int host_ = -1;
  Key key_;
  std::string hello_, nonce_;  // what both ends' proofs are over
  std::unique_ptr<Cipher> sealer_, opener_;
  std::string peer_;
  std::string in_, out_, plain_;
  size_t in_start_ = 0, out_start_ = 0;
  bool watching_output_ = false;
  int64_t last_heard_ns_, last_sent_ns_;
};

}  // namespace sgl::run
