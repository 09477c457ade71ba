#include "support/tcp_exchange.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sgl::test {
namespace {

constexpr int kPatienceSeconds = 60;

Status failed(const char* what) {
  return error(SGLCOLL_ERR_BOOT, "{}: {}", what, strerror(errno));
}

sockaddr_in address_of(const std::string& address, int port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = address.empty() ? INADDR_ANY : inet_addr(address.c_str());
  return name;
}

Status write_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t put = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0) return failed("send");
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

Status read_all(int socket, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  if (recv(socket, bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size()))
    return {};
  return failed("recv");
}

}  // namespace

Result<std::unique_ptr<MachineExchange>> MachineExchange::meet(int machine, int machines,
                                                               const std::string& address,
                                                               int port) {
  std::unique_ptr<MachineExchange> exchange(new MachineExchange(machine, machines));
  SGL_TRY(machine == 0 ? exchange->listen_for_all(port) : exchange->connect_to(address, port));
  return exchange;
}

MachineExchange::~MachineExchange() {
  for (int socket : sockets_) close(socket);
}

Status MachineExchange::listen_for_all(int port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  timeval patience{kPatienceSeconds, 0};
  setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in name = address_of("", port);
  Status outcome;
  if (bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      listen(listener, machines_) != 0)
    outcome = failed("listen");
  sockets_.assign(static_cast<size_t>(machines_ - 1), -1);
  for (int i = 1; i < machines_ && outcome.ok(); ++i) {
    const int visitor = accept(listener, nullptr, nullptr);
    int32_t machine = 0;
    if (visitor < 0)
      outcome = failed("a machine did not come");
    else
      outcome = read_all(visitor, std::as_writable_bytes(std::span(&machine, 1)));
    if (outcome.ok()) sockets_.at(static_cast<size_t>(machine - 1)) = visitor;
  }
  close(listener);
  return outcome;
}

Status MachineExchange::connect_to(const std::string& address, int port) {
  sockaddr_in name = address_of(address, port);
  for (int i = 0; i < kPatienceSeconds * 10; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0) {
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      sockets_.push_back(socket);
      const int32_t machine = machine_;
      return write_all(socket, std::as_bytes(std::span(&machine, 1)));
    }
    close(socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return failed("machine 0 does not answer");
}

Status MachineExchange::allgather(std::span<const std::byte> mine, std::vector<std::byte>* all) {
  all->resize(mine.size() * static_cast<size_t>(machines_));
  if (machine_ != 0) {
    SGL_TRY(write_all(sockets_[0], mine));
    return read_all(sockets_[0], *all);
  }
  std::memcpy(all->data(), mine.data(), mine.size());
  for (size_t i = 0; i < sockets_.size(); ++i)
    SGL_TRY(read_all(sockets_[i], std::span(*all).subspan((i + 1) * mine.size(), mine.size())));
  for (int socket : sockets_) SGL_TRY(write_all(socket, *all));
  return {};
}

Allgather over_machines(const Allgather& local, int local_rank, int local_count,
                        MachineExchange* exchange, int machines) {
  return [=](std::span<const std::byte> mine, std::vector<std::byte>* all) -> Status {
    std::vector<std::byte> of_machine, copies;
    SGL_TRY(local(mine, &of_machine));
    all->assign(mine.size() * static_cast<size_t>(local_count * machines), std::byte{0});
    if (local_rank == 0) SGL_TRY(exchange->allgather(of_machine, all));
    SGL_TRY(local(*all, &copies));  // of all contributions that of local rank 0 is used
    std::memcpy(all->data(), copies.data(), all->size());
    return {};
  };
}

}  // namespace sgl::test
