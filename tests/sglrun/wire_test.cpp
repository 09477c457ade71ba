// The wire between sglrun and its daemons: messages, proofs, sealed frames.
#include "base/clock.hpp"
#include "sglrun/event_loop.hpp"
#include "sglrun/host/daemon.hpp"
#include "sglrun/wire/bytes.hpp"
#include "sglrun/wire/connection.hpp"
#include "sglrun/wire/message.hpp"
#include "sglrun/wire/secret.hpp"

#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sgl::run {
namespace {

using HostSetup = Setup;  // inside a test `Setup` is a name of GoogleTest's

Key key_of_digits(char digit) {
  return Key::from_hex(std::string(2 * kKeyBytes, digit)).take();
}

Message full_message() {
  Message message;
  message.kind = MessageKind::fence;
  message.rank = 7;
  message.stream = 1;
  message.number = -(int64_t{1} << 40);
  message.id = uint64_t{1} << 63;
  message.text = std::string("a\0b", 3);
  message.data = std::string(300000, 'x');
  message.numbers = {-1, 0, 1 << 30};
  return message;
}

TEST(Message, ComesBackAsItWas) {
  Message message = full_message();
  Result<Message> back = decode(encode(message));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back.value().kind, message.kind);
  EXPECT_EQ(back.value().rank, message.rank);
  EXPECT_EQ(back.value().stream, message.stream);
  EXPECT_EQ(back.value().number, message.number);
  EXPECT_EQ(back.value().id, message.id);
  EXPECT_EQ(back.value().text, message.text);
  EXPECT_EQ(back.value().data, message.data);
  EXPECT_EQ(back.value().numbers, message.numbers);
}

TEST(Message, EveryCutOrLongerOneIsRefused) {
  Message message = full_message();
  message.data = "data";
  std::string bytes = encode(message);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, length)).ok()) << length;
  EXPECT_FALSE(decode(bytes + "x").ok());
  bytes[0] = static_cast<char>(static_cast<int>(MessageKind::last) + 1);
  EXPECT_FALSE(decode(bytes).ok());
}

TEST(Message, NoiseIsRefusedOrUnderstoodButNeverHarms) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 80, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? random() : 0);
    static_cast<void>(decode(bytes).ok());
    static_cast<void>(decode_setup(bytes).ok());
  }
}

TEST(SetupMessage, ComesBackAndIsChecked) {
  HostSetup setup;
  setup.job = "job";
  setup.host = 1;
  setup.hosts = {"a", "b"};
  setup.host_of_rank = {0, 1, 1};
  setup.map_by = "slot";
  setup.bind_to = "core";
  setup.environment = {"A=1", "B="};
  setup.command = {"prog", "", "x y"};
  setup.working_directory = "/tmp";
  setup.tag_output = true;
  setup.input_by_messages = true;
  Result<HostSetup> back = decode_setup(encode(setup));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back.value().job, setup.job);
  EXPECT_EQ(back.value().host, setup.host);
  EXPECT_EQ(back.value().hosts, setup.hosts);
  EXPECT_EQ(back.value().host_of_rank, setup.host_of_rank);
  EXPECT_EQ(back.value().map_by, setup.map_by);
  EXPECT_EQ(back.value().bind_to, setup.bind_to);
  EXPECT_EQ(back.value().environment, setup.environment);
  EXPECT_EQ(back.value().command, setup.command);
  EXPECT_EQ(back.value().working_directory, setup.working_directory);
  EXPECT_EQ(back.value().ranks_on(1), (std::vector<int>{1, 2}));
  EXPECT_TRUE(back.value().tag_output);
  EXPECT_FALSE(back.value().one_stream);
  EXPECT_TRUE(back.value().input_by_messages);
  setup.host_of_rank = {0, 2};
  EXPECT_FALSE(decode_setup(encode(setup)).ok());
  setup.host_of_rank = {0, 1};
  setup.host = 2;
  EXPECT_FALSE(decode_setup(encode(setup)).ok());
}

TEST(Key, HexAndComparison) {
  Key key = key_of_digits('a');
  EXPECT_EQ(key.hex(), std::string(64, 'a'));
  EXPECT_TRUE(key.equals(key.view()));
  EXPECT_FALSE(key.equals(key_of_digits('b').view()));
  EXPECT_FALSE(key.equals("short"));
  EXPECT_FALSE(Key::from_hex("abc").ok());
  EXPECT_FALSE(Key::from_hex(std::string(64, 'g')).ok());
  EXPECT_NE(Key::random().value().hex(), Key::random().value().hex());
}

// RFC 4231, test case 2, has another key length; so: parts cannot be shifted between
// each other, and key and text both count.
TEST(Key, HmacDependsOnEachPart) {
  Key key = key_of_digits('1');
  std::string first = hmac(key, {"ab", "c"}).hex();
  EXPECT_EQ(first, hmac(key, {"ab", "c"}).hex());
  EXPECT_NE(first, hmac(key, {"a", "bc"}).hex());
  EXPECT_NE(first, hmac(key, {"abc"}).hex());
  EXPECT_NE(first, hmac(key_of_digits('2'), {"ab", "c"}).hex());
}

TEST(Cipher, OpensWhatWasSealedInOrderOnly) {
  Key key = key_of_digits('1');
  Cipher seal(key, Cipher::Direction::seal), open(key, Cipher::Direction::open);
  std::string one, two, text;
  seal.seal("h", "first", &one);
  seal.seal("h", "second", &two);
  EXPECT_EQ(one.size(), 5 + Cipher::kTagBytes);
  EXPECT_EQ(one.find("first"), std::string::npos);
  ASSERT_TRUE(open.open("h", one, &text));
  EXPECT_EQ(text, "first");
  EXPECT_FALSE(Cipher(key, Cipher::Direction::open).open("h", two, &text)) << "one was left out";
  EXPECT_FALSE(open.open("h", one, &text)) << "one was repeated";
  for (size_t i = 0; i < one.size(); ++i) {
    std::string changed = one;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(Cipher(key, Cipher::Direction::open).open("h", changed, &text)) << i;
  }
  EXPECT_FALSE(Cipher(key, Cipher::Direction::open).open("g", one, &text)) << "another header";
  EXPECT_FALSE(Cipher(key, Cipher::Direction::open).open("h", "short", &text));
}

// ---- Connections, over a pair of sockets ---------------------------------------------

constexpr int64_t kTimeoutNs = 400'000'000;

struct End {
  std::unique_ptr<Connection> connection;
  std::vector<Message> received;
  std::string lost;
  bool opened = false;

  void watch() {
    connection->on_open = [this] { opened = true; };
    connection->on_message = [this](Message message) { received.push_back(std::move(message)); };
    connection->on_lost = [this](const std::string& why) { lost = why; };
  }
};

class ConnectionTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0); }

  void make_mother(const Key& key) {
    mother_.connection = std::make_unique<Connection>(&loop_, fds_[0], kTimeoutNs, [key](int host) {
      return host == 3 ? std::optional<Key>(key) : std::nullopt;
    });
    mother_.watch();
  }
  void make_daemon(const Key& key, int host = 3) {
    daemon_.connection = std::make_unique<Connection>(&loop_, fds_[1], kTimeoutNs, host, key);
    daemon_.watch();
  }
  template <class Condition>
  bool run_until(Condition condition, double seconds = 30) {
    int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
    while (!condition() && now_ns() < end) loop_.run_once(10);
    return condition();
  }
  void send_raw(std::string_view bytes) {
    ASSERT_EQ(::send(fds_[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

  EventLoop loop_;
  int fds_[2];
  End mother_, daemon_;
};

TEST_F(ConnectionTest, BothProveThemselvesThenTalk) {
  make_mother(key_of_digits('1'));
  make_daemon(key_of_digits('1'));
  ASSERT_TRUE(run_until([&] { return mother_.opened && daemon_.opened; }));
  EXPECT_EQ(mother_.connection->host(), 3);
  for (int i = 0; i < 50; ++i) {
    Message message = full_message();
    message.rank = i;
    mother_.connection->send(message);
    daemon_.connection->send(message);
  }
  ASSERT_TRUE(
      run_until([&] { return mother_.received.size() == 50 && daemon_.received.size() == 50; }));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(mother_.received[static_cast<size_t>(i)].rank, i);
    EXPECT_EQ(daemon_.received[static_cast<size_t>(i)].data, full_message().data);
  }
  daemon_.connection.reset();
  ASSERT_TRUE(run_until([&] { return !mother_.lost.empty(); }));
  EXPECT_EQ(mother_.lost, "it closed the connection");
}

TEST_F(ConnectionTest, TheDaemonRefusesAMotherWithoutTheSecret) {
  make_mother(key_of_digits('1'));
  make_daemon(key_of_digits('2'));
  ASSERT_TRUE(run_until([&] { return !daemon_.lost.empty() && !mother_.lost.empty(); }));
  EXPECT_EQ(daemon_.lost, "it does not know the secret of this job");
  EXPECT_FALSE(daemon_.opened || mother_.opened);
}

// A daemon that does not check, but does not know the key either.
TEST_F(ConnectionTest, TheMotherRefusesADaemonWithoutTheSecret) {
  make_mother(key_of_digits('1'));
  send_raw(std::string("sglrun-1\3\0\0\0", 12) + std::string(kKeyBytes, 'n'));
  send_raw(std::string(kKeyBytes, 'p'));
  ASSERT_TRUE(run_until([&] { return !mother_.lost.empty(); }));
  EXPECT_EQ(mother_.lost, "it does not know the secret of this job");
  EXPECT_FALSE(mother_.opened);
}

// The mother's own proof does not serve as a daemon's.
TEST_F(ConnectionTest, AReflectedProofIsRefused) {
  make_mother(key_of_digits('1'));
  send_raw(std::string("sglrun-1\3\0\0\0", 12) + std::string(kKeyBytes, 'n'));
  char challenge[2 * kKeyBytes];
  ASSERT_FALSE(run_until([] { return false; }, 0.1));
  ASSERT_EQ(recv(fds_[1], challenge, sizeof challenge, MSG_DONTWAIT), ssize_t{sizeof challenge});
  send_raw({challenge + kKeyBytes, kKeyBytes});
  ASSERT_TRUE(run_until([&] { return !mother_.lost.empty(); }));
  EXPECT_EQ(mother_.lost, "it does not know the secret of this job");
}

TEST_F(ConnectionTest, AHostThatIsNotOfTheJobIsRefused) {
  make_mother(key_of_digits('1'));
  make_daemon(key_of_digits('1'), 4);
  ASSERT_TRUE(run_until([&] { return !mother_.lost.empty(); }));
  EXPECT_EQ(mother_.lost, "it is no daemon of this job");
}

TEST_F(ConnectionTest, NoiseIsRefused) {
  make_mother(key_of_digits('1'));
  send_raw(std::string(200, '?'));
  ASSERT_TRUE(run_until([&] { return !mother_.lost.empty(); }));
  EXPECT_EQ(mother_.lost, "it is no daemon of this job");
}

// Somebody who comes between after both have proved themselves cannot put in a frame.
TEST_F(ConnectionTest, AForgedFrameEndsTheConnection) {
  make_mother(key_of_digits('1'));
  make_daemon(key_of_digits('1'));
  ASSERT_TRUE(run_until([&] { return mother_.opened && daemon_.opened; }));
  ByteWriter forged;
  std::string text = encode(Message{});
  forged.u32(static_cast<uint32_t>(text.size() + Cipher::kTagBytes));
  send_raw(forged.take());
  send_raw(text + std::string(Cipher::kTagBytes, '\0'));
  ASSERT_TRUE(run_until([&] { return !mother_.lost.empty(); }));
  EXPECT_EQ(mother_.lost, "a message was changed on its way");
  EXPECT_TRUE(mother_.received.empty());
}

TEST_F(ConnectionTest, SilenceIsNoticedAndSignsOfLifePreventIt) {
  make_mother(key_of_digits('1'));
  make_daemon(key_of_digits('1'));
  ASSERT_TRUE(run_until([&] { return mother_.opened && daemon_.opened; }));
  int64_t end = now_ns() + 3 * kTimeoutNs;
  while (now_ns() < end) {
    loop_.run_once(10);
    mother_.connection->tick(now_ns());
    daemon_.connection->tick(now_ns());
  }
  EXPECT_EQ(mother_.lost + daemon_.lost, "");
  EXPECT_TRUE(mother_.received.empty() && daemon_.received.empty());
  int64_t silent_since = now_ns();
  while (mother_.lost.empty() && now_ns() - silent_since < 10 * kTimeoutNs) {
    loop_.run_once(10);
    mother_.connection->tick(now_ns());
  }
  EXPECT_EQ(mother_.lost, "no sign of life for 0.4 s");
}

// ---- What a daemon reads ---------------------------------------------------------------

TEST(DaemonStart, ComesBackAndIsChecked) {
  DaemonStart start;
  start.host = 5;
  start.key = key_of_digits('c');
  start.timeout_s = 2.5;
  start.port = 4711;
  std::string text = encode(start);
  Result<DaemonStart> back = decode_daemon_start(text);
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back.value().host, 5);
  EXPECT_TRUE(back.value().key.equals(start.key.view()));
  EXPECT_EQ(back.value().timeout_s, 2.5);
  EXPECT_EQ(back.value().port, 4711);
  EXPECT_FALSE(back.value().addresses.empty());
  for (const char* line : {"sglrun daemon", "key", "timeout", "port", "end"}) {
    std::string without = text;
    size_t at = without.rfind(line);
    without.erase(at, without.find('\n', at) + 1 - at);
    EXPECT_FALSE(decode_daemon_start(without).ok()) << line;
  }
  std::string old = text;
  old.replace(old.find("version ") + 8, 1, "9.");
  Result<DaemonStart> refused = decode_daemon_start(old);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().text().find("one version on all hosts"), std::string::npos);
}

}  // namespace
}  // namespace sgl::run
