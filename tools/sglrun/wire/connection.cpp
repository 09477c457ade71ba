#include "sglrun/wire/connection.hpp"

#include "base/clock.hpp"
#include "sglrun/wire/bytes.hpp"
#include "sglrun/wire/sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sgl::run {
namespace {

// Changes with the meaning of anything below or in message.hpp.
constexpr std::string_view kMagic = "sglrun-1";
constexpr size_t kHelloBytes = 8 + 4 + kKeyBytes;
constexpr size_t kChallengeBytes = 2 * kKeyBytes;
constexpr size_t kLengthBytes = 4;
constexpr size_t kReadBytes = size_t{256} << 10;
// Longer frames are a mistake or an attack.
constexpr uint32_t kLongestFrame = uint32_t{1} << 30;

}  // namespace

Connection::Connection(EventLoop* loop, int fd, int64_t timeout_ns, KeyOf key_of)
    : loop_(loop),
      fd_(fd),
      timeout_ns_(timeout_ns),
      state_(State::await_hello),
      key_of_(std::move(key_of)) {
  begin();
}

Connection::Connection(EventLoop* loop, int fd, int64_t timeout_ns, int host, const Key& key)
    : loop_(loop),
      fd_(fd),
      timeout_ns_(timeout_ns),
      state_(State::await_challenge),
      host_(host),
      key_(key) {
  begin();
  Result<Key> nonce = Key::random();
  if (!nonce.ok()) return;  // the time-out ends it
  ByteWriter hello;
  hello.u32(static_cast<uint32_t>(host));
  hello_ = std::string(kMagic) + hello.take() + std::string(nonce.value().view());
  put(hello_);
}

void Connection::begin() {
  last_heard_ns_ = last_sent_ns_ = now_ns();
  peer_ = peer_name(fd_);
  set_time_limits(fd_, timeout_ns_);
  loop_->add(fd_, EPOLLIN, [this](uint32_t events) { on_ready(events); });
}

Connection::~Connection() {
  if (fd_ < 0) return;
  loop_->remove(fd_);
  close(fd_);
}

void Connection::lose(const std::string& why) {
  if (is_lost()) return;
  state_ = State::lost;
  loop_->remove(fd_);
  close(fd_);
  fd_ = -1;
  if (on_lost) on_lost(why);
}

void Connection::on_ready(uint32_t events) {
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_some();
  if (!is_lost() && (events & EPOLLOUT)) flush();
}

void Connection::read_some() {
  if (in_start_ > 0) {
    in_.erase(0, in_start_);
    in_start_ = 0;
  }
  size_t before = in_.size();
  in_.resize(before + kReadBytes);
  ssize_t got = recv(fd_, in_.data() + before, kReadBytes, MSG_DONTWAIT);
  int failure = errno;
  in_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && (failure == EAGAIN || failure == EINTR)) return;
  if (got < 0) return lose(strerror(failure));
  if (got == 0) return lose("it closed the connection");
  last_heard_ns_ = now_ns();
  take_input();
}

void Connection::take_input() {
  while (!is_lost() && (is_open() ? take_frame() : take_handshake())) {
  }
}

// ---- The two proofs ------------------------------------------------------------------

bool Connection::take_handshake() {
  switch (state_) {
    case State::await_hello:
      return take_hello();
    case State::await_challenge:
      return take_challenge();
    case State::await_proof:
      return take_proof();
    default:
      return false;
  }
}

bool Connection::take_hello() {
  if (in_.size() < kHelloBytes) return false;
  hello_ = in_.substr(0, kHelloBytes);
  in_start_ = kHelloBytes;
  ByteReader number(std::string_view(hello_).substr(kMagic.size()));
  host_ = static_cast<int>(number.u32());
  std::optional<Key> key;
  if (hello_.starts_with(kMagic)) key = key_of_(host_);
  Result<Key> nonce = Key::random();
  if (!key || !nonce.ok()) return lose("it is no daemon of this job"), false;
  key_ = *key;
  nonce_ = nonce.value().view();
  put(nonce_ + std::string(hmac(key_, {"sglrun", hello_, nonce_}).view()));
  state_ = State::await_proof;
  return true;
}

bool Connection::take_challenge() {
  if (in_.size() - in_start_ < kChallengeBytes) return false;
  nonce_ = in_.substr(in_start_, kKeyBytes);
  std::string proof = in_.substr(in_start_ + kKeyBytes, kKeyBytes);
  in_start_ += kChallengeBytes;
  if (!hmac(key_, {"sglrun", hello_, nonce_}).equals(proof))
    return lose("it does not know the secret of this job"), false;
  put(hmac(key_, {"daemon", hello_, nonce_}).view());
  become_open();
  return true;
}

bool Connection::take_proof() {
  if (in_.size() - in_start_ < kKeyBytes) return false;
  std::string proof = in_.substr(in_start_, kKeyBytes);
  in_start_ += kKeyBytes;
  if (!hmac(key_, {"daemon", hello_, nonce_}).equals(proof))
    return lose("it does not know the secret of this job"), false;
  // It may have come twice meanwhile.
  if (!key_of_(host_)) return lose("its host has a daemon already"), false;
  become_open();
  return true;
}

void Connection::become_open() {
  bool mother = static_cast<bool>(key_of_);
  Key to_daemon = hmac(key_, {"key to daemon", hello_, nonce_});
  Key to_mother = hmac(key_, {"key to sglrun", hello_, nonce_});
  sealer_ = std::make_unique<Cipher>(mother ? to_daemon : to_mother, Cipher::Direction::seal);
  opener_ = std::make_unique<Cipher>(mother ? to_mother : to_daemon, Cipher::Direction::open);
  state_ = State::open;
  if (on_open) on_open();
}

// ---- Frames ----------------------------------------------------------------------------

bool Connection::take_frame() {
  std::string_view rest = std::string_view(in_).substr(in_start_);
  if (rest.size() < kLengthBytes) return false;
  std::string_view header = rest.substr(0, kLengthBytes);
  uint32_t length = ByteReader(header).u32();
  if (length > kLongestFrame) return lose("it sent what is no message"), false;
  if (rest.size() - kLengthBytes < length) return false;
  if (!opener_->open(header, rest.substr(kLengthBytes, length), &plain_))
    return lose("a message was changed on its way"), false;
  in_start_ += kLengthBytes + length;
  Result<Message> message = decode(plain_);
  if (!message.ok()) return lose(message.status().text()), false;
  if (message.value().kind != MessageKind::ping && on_message) on_message(message.take());
  return true;
}

void Connection::send(const Message& message) {
  if (!is_open()) return;
  std::string text = encode(message);
  ByteWriter header;
  header.u32(static_cast<uint32_t>(text.size() + Cipher::kTagBytes));
  std::string frame = header.take();
  const std::string length = frame;
  sealer_->seal(length, text, &frame);
  put(frame);
}

void Connection::put(std::string_view bytes) {
  bool was_empty = all_sent();
  if (was_empty) {
    out_.clear();
    out_start_ = 0;
  }
  out_ += bytes;
  last_sent_ns_ = now_ns();
  if (was_empty) flush();
}

void Connection::flush() {
  while (!all_sent()) {
    ssize_t sent = ::send(fd_, out_.data() + out_start_, out_.size() - out_start_,
                          MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) break;  // an error shows when reading
    out_start_ += static_cast<size_t>(sent);
  }
  if (watching_output_ == !all_sent()) return;
  watching_output_ = !all_sent();
  loop_->remove(fd_);
  loop_->add(fd_, watching_output_ ? EPOLLIN | EPOLLOUT : EPOLLIN,
             [this](uint32_t events) { on_ready(events); });
}

void Connection::tick(int64_t now_ns) {
  if (is_lost()) return;
  if (now_ns - last_heard_ns_ > timeout_ns_)
    return lose(fmt::format("no sign of life for {:g} s", static_cast<double>(timeout_ns_) / 1e9));
  if (is_open() && now_ns - last_sent_ns_ >= period_ns()) send({});
}

}  // namespace sgl::run
