#include "sglrun/wire/sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sgl::run {
namespace {

// IPv6 takes IPv4 too; a kernel without IPv6 gets IPv4 alone.
Result<int> listen_at(int port) {
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool six = fd >= 0;
  if (!six) fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int off = 0;
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<uint16_t>(port));
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(static_cast<uint16_t>(port));
  if (six) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  int bound = six ? bind(fd, reinterpret_cast<sockaddr*>(&any6), sizeof any6)
                  : bind(fd, reinterpret_cast<sockaddr*>(&any4), sizeof any4);
  if (fd >= 0 && bound == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  Status failure = error(SGLCOLL_ERR_SYSTEM, "cannot listen for the hosts' daemons at port {}: {}",
                         port, strerror(errno));
  if (fd >= 0) close(fd);
  return failure;
}

std::string text_of(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST] = {};
  if (getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  std::string text = host;
  if (text.starts_with("::ffff:")) text.erase(0, 7);  // IPv4 on an IPv6 socket
  return text;
}

}  // namespace

Result<int> listen_anywhere(int first_port, int last_port, int* port) {
  Result<int> fd = listen_at(first_port);
  for (int next = first_port + 1; !fd.ok() && next <= last_port; ++next) fd = listen_at(next);
  if (!fd.ok()) return fd;
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  getsockname(fd.value(), reinterpret_cast<sockaddr*>(&own), &length);
  *port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&own)->sin_port);
  return fd;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> far, loopback;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return {"127.0.0.1", "::1"};
  for (ifaddrs* each = interfaces; each; each = each->ifa_next) {
    if (!each->ifa_addr || !(each->ifa_flags & IFF_UP)) continue;
    bool four = each->ifa_addr->sa_family == AF_INET, six = each->ifa_addr->sa_family == AF_INET6;
    if (!four && !six) continue;
    std::string text = text_of(each->ifa_addr, four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (text.empty() || text.find('%') != std::string::npos) continue;  // of one link only
    (each->ifa_flags & IFF_LOOPBACK ? loopback : far).push_back(text);
  }
  freeifaddrs(interfaces);
  far.insert(far.end(), loopback.begin(), loopback.end());
  return far;
}

Result<int> begin_connect(const std::string& address, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return error(SGLCOLL_ERR_ARG, "'{}' is no address", address);
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int outcome = fd < 0 ? -1 : connect(fd, found->ai_addr, found->ai_addrlen);
  int failure = errno;
  freeaddrinfo(found);
  if (outcome == 0 || (fd >= 0 && failure == EINPROGRESS)) return fd;
  if (fd >= 0) close(fd);
  return error(SGLCOLL_ERR_SYSTEM, "{}", strerror(failure));
}

Status connected(int fd) {
  int failure = 0;
  socklen_t length = sizeof failure;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length);
  return failure == 0 ? Status() : error(SGLCOLL_ERR_SYSTEM, "{}", strerror(failure));
}

void set_time_limits(int fd, int64_t timeout_ns) {
  int on = 1;
  int limit_ms = static_cast<int>(std::max<int64_t>(timeout_ns / 1'000'000, 1));
  int third_s = std::max(limit_ms / 3000, 1);
  // Some of them fail on sockets that are not TCP's, which need none.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &third_s, sizeof third_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &third_s, sizeof third_s);
}

std::string peer_name(int fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return "unknown";
  if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) return "a local socket";
  int port = ntohs(peer.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&peer)->sin6_port
                                              : reinterpret_cast<sockaddr_in*>(&peer)->sin_port);
  return fmt::format("{} port {}", text_of(reinterpret_cast<sockaddr*>(&peer), length), port);
}

}  // namespace sgl::run
