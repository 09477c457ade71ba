#include "info/cross_memory_probe.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::info {
namespace {

constexpr uint64_t kWord = 0x53474c434f4c4c21;

// Reads `word` of the process and gives the errno; the word has the same address there.
int read_word_of(pid_t pid, const uint64_t* word) {
  uint64_t copy = 0;
  iovec local = {&copy, sizeof copy};
  iovec remote = {const_cast<uint64_t*>(word), sizeof copy};
  if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != sizeof copy) return errno ? errno : EIO;
  return copy == kWord ? 0 : EIO;
}

}  // namespace

// The target changes its word only after the fork, so a reader that saw its own copy would
// be found out, and says so through the pipe.
int probe_sibling_read() {
  uint64_t word = 0;
  volatile uint64_t* shared_address = &word;
  int ready[2];
  if (pipe(ready) != 0) return errno;
  const pid_t target = fork();
  if (target == 0) {
    *shared_address = kWord;
    if (write(ready[1], "r", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  int result = target < 0 || read(ready[0], &byte, 1) != 1 ? EIO : 0;
  close(ready[0]);
  close(ready[1]);
  if (result == 0) {
    const pid_t reader = fork();
    if (reader == 0) _exit(read_word_of(target, &word));
    int status = 0;
    result = EIO;
    if (reader > 0 && waitpid(reader, &status, 0) == reader && WIFEXITED(status))
      result = WEXITSTATUS(status);
  }
  if (target > 0) {
    kill(target, SIGKILL);
    waitpid(target, nullptr, 0);
  }
  return result;
}

}  // namespace sgl::info
