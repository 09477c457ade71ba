// sglrun on another host of a job: reaches the sglrun that started it and does this
// host's part of the job.
#pragma once

#include "base/status.hpp"
#include "sglrun/supervisor.hpp"
#include "sglrun/wire/secret.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sgl::run {

inline constexpr const char* kDaemonOption = "--daemon";

// What a daemon reads from its standard input, where nobody else sees it.
struct DaemonStart {
  std::string version;  // of sglrun; encode() writes this build's
  int host = 0;
  Key key;
  double timeout_s = 0;
  int port = 0;
  std::string boot_id;                 // of sglrun's machine; encode() writes it
  std::vector<std::string> addresses;  // of sglrun's machine; encode() writes them
};

// A few lines of text.
std::string encode(const DaemonStart& start);
Result<DaemonStart> decode_daemon_start(std::string_view text);

// Runs the daemon in a worker (see supervisor.hpp); returns its exit status. What it
// writes to standard error reaches the user.
int run_daemon(const Worker& worker);

}  // namespace sgl::run
