// sglrun: starts the ranks of a job on this and other machines and serves them PMIx.
#include "sglrun/host/daemon.hpp"
#include "sglrun/job/job.hpp"
#include "sglrun/options.hpp"
#include "sglrun/supervisor.hpp"

#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

namespace {

// Later descriptors must not take the place of a standard one that was closed.
void open_standard_descriptors() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd < 3);
  if (fd >= 3) close(fd);
}

// What a daemon was started by (a shell's background, say) may ignore them; its ranks must
// not, since those signals come from the user.
void restore_signals() {
  for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) signal(number, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace sgl::run;
  open_standard_descriptors();
  if (argc == 2 && std::string_view(argv[1]) == kDaemonOption) {
    restore_signals();
    return supervise(run_daemon);
  }
  CommandLine line = read_command_line(argc, argv);
  if (!line.run) {
    fmt::print(line.exit_status == 0 ? stdout : stderr, "{}", line.text);
    return line.exit_status;
  }
  return supervise([&line](const Worker& worker) { return Job(line.options, worker).run(); });
}
