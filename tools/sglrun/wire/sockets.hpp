// TCP sockets as sglrun and its daemons use them.
#pragma once

#include "base/status.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sgl::run {

// A socket that listens on all addresses of this machine, at a port that the system
// chose, or at the first free one from `first_port` to `last_port` unless those are 0.
Result<int> listen_anywhere(int first_port, int last_port, int* port);

// The addresses under which other machines may reach this one, then the loopback
// ones, as numbers ("10.0.0.1", "fd00::1").
std::vector<std::string> own_addresses();

// Starts to connect; the socket polls as writable when that has ended, and
// connected() tells how.
Result<int> begin_connect(const std::string& address, int port);
Status connected(int fd);

// A dead peer or network ends the connection after about this long.
void set_time_limits(int fd, int64_t timeout_ns);

// "10.0.0.2 port 4711"
std::string peer_name(int fd);

}  // namespace sgl::run
