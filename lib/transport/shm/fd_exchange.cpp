#include "transport/shm/fd_exchange.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sgl {
namespace {

constexpr size_t kMaxDescriptors = 3;

struct Hello {
  uint64_t secret;  // of the rank that is spoken to
  int32_t rank;     // of the rank that speaks
  int32_t descriptors;
};

struct Address {
  sockaddr_un name = {};
  socklen_t length = 0;
};

Address abstract_address(uint64_t socket_name) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::string text = fmt::format("sglcoll-{:016x}", socket_name);
  memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

Status give(const OwnedFd& connection, const Hello& hello, std::span<const int> descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  iovec body = {const_cast<Hello*>(&hello), sizeof hello};
  msghdr message = {};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  if (sendmsg(connection.get(), &message, MSG_NOSIGNAL) != sizeof hello)
    return error(SGLCOLL_ERR_BOOT, "descriptors could not be sent: {}", strerror(errno));
  return {};
}

// Fills the parcel's descriptors; those of a message that is refused are closed.
Status take(const OwnedFd& connection, Hello* hello, FdParcel* parcel) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  iovec body = {hello, sizeof *hello};
  msghdr message = {};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = recvmsg(connection.get(), &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  int descriptors[kMaxDescriptors] = {-1, -1, -1};
  size_t count = 0;
  cmsghdr* part = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
    count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(descriptors, CMSG_DATA(part), count * sizeof(int));
  }
  parcel->segment = OwnedFd(descriptors[0]);
  parcel->bell = OwnedFd(descriptors[1]);
  parcel->arena = OwnedFd(descriptors[2]);
  if (got < 0)
    return error(SGLCOLL_ERR_BOOT, "no descriptors came: {}",
                 errno == EAGAIN ? "time-out" : strerror(errno));
  if (got != sizeof *hello || (message.msg_flags & MSG_CTRUNC) || count < 2 ||
      count != static_cast<size_t>(hello->descriptors))
    return error(SGLCOLL_ERR_BOOT,
                 "the greeting came with {} of {} bytes and {} descriptors: the peer died or the "
                 "limit of open files (ulimit -n) was reached",
                 got, sizeof *hello, count);
  return {};
}

Status identify(const OwnedFd& connection, pid_t* pid) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "SO_PEERCRED failed: {}", strerror(errno));
  if (peer.uid != geteuid())
    return error(SGLCOLL_ERR_BOOT, "process {} of user {} connected; only user {} may", peer.pid,
                 peer.uid, geteuid());
  *pid = peer.pid;
  timeval patience = {kFdExchangeSeconds, 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return {};
}

Status connect_to(const FdAddress& target, FdParcel* parcel) {
  Address address = abstract_address(target.socket_name);
  parcel->connection = OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!parcel->connection.valid())
    return error(SGLCOLL_ERR_SYSTEM, "no socket could be made: {}", strerror(errno));
  if (connect(parcel->connection.get(), reinterpret_cast<sockaddr*>(&address.name),
              address.length) != 0)
    return error(SGLCOLL_ERR_BOOT,
                 "rank {} is said to be on this node but its socket does not answer: {} (has it "
                 "died, or is it in another network namespace?)",
                 target.rank, strerror(errno));
  return identify(parcel->connection, &parcel->pid);
}

// Takes one visitor in and stores its parcel at the place of its rank. A visitor that
// cannot prove to be an expected rank is turned away, which is no failure.
Status admit(const OwnedFd& listener, std::span<const FdAddress> addresses, size_t self,
             std::vector<FdParcel>* parcels, size_t* who) {
  *who = self;
  pollfd ready = {listener.get(), POLLIN, 0};
  if (poll(&ready, 1, kFdExchangeSeconds * 1000) <= 0)
    return error(SGLCOLL_ERR_BOOT, "a rank of this node did not connect within {} s",
                 kFdExchangeSeconds);
  FdParcel parcel;
  parcel.connection = OwnedFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!parcel.connection.valid())
    return error(SGLCOLL_ERR_SYSTEM, "accept failed: {}", strerror(errno));
  Hello hello = {};
  if (!identify(parcel.connection, &parcel.pid).ok()) return {};
  Status taken = take(parcel.connection, &hello, &parcel);
  if (hello.secret != addresses[self].secret) return {};
  SGL_TRY(std::move(taken));
  for (size_t i = self + 1; i < addresses.size(); ++i) {
    if (addresses[i].rank != hello.rank || (*parcels)[i].connection.valid()) continue;
    (*parcels)[i] = std::move(parcel);
    *who = i;
    return {};
  }
  return error(SGLCOLL_ERR_BOOT, "rank {} connected, which was not expected", hello.rank);
}

}  // namespace

Result<OwnedFd> listen_for_peers(uint64_t socket_name, int node_size) {
  Address address = abstract_address(socket_name);
  OwnedFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.valid() ||
      bind(listener.get(), reinterpret_cast<sockaddr*>(&address.name), address.length) != 0 ||
      listen(listener.get(), node_size) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "no abstract unix socket could be made: {}", strerror(errno));
  return listener;
}

// Ranks connect to those before them and greet at once, which needs no accept, then
// admit those after them. So rank 0 admits first and nobody waits in a circle.
Status exchange_descriptors(const OwnedFd& listener, std::span<const FdAddress> addresses,
                            size_t self, const FdGift& gift, std::vector<FdParcel>* parcels) {
  const int mine[] = {gift.segment, gift.bell, gift.arena};
  std::span<const int> descriptors(mine, gift.arena < 0 ? 2 : 3);
  auto greet = [&](size_t i) {
    Hello hello = {addresses[i].secret, addresses[self].rank,
                   static_cast<int32_t>(descriptors.size())};
    return give((*parcels)[i].connection, hello, descriptors);
  };
  parcels->clear();
  parcels->resize(addresses.size());
  for (size_t i = 0; i < self; ++i) {
    SGL_TRY(connect_to(addresses[i], &(*parcels)[i]));
    SGL_TRY(greet(i));
  }
  for (size_t admitted = self + 1; admitted < addresses.size();) {
    size_t who = self;
    SGL_TRY(admit(listener, addresses, self, parcels, &who));
    if (who == self) continue;
    SGL_TRY(greet(who));
    ++admitted;
  }
  for (size_t i = 0; i < self; ++i) {
    Hello hello = {};
    SGL_TRY(take((*parcels)[i].connection, &hello, &(*parcels)[i]));
    if (hello.secret != addresses[self].secret || hello.rank != addresses[i].rank)
      return error(SGLCOLL_ERR_BOOT, "something else answers at the socket of rank {}",
                   addresses[i].rank);
  }
  return {};
}

}  // namespace sgl
