// Makes the kernel's check of who may read whose memory fail between the ranks of a test, as
// Yama's ptrace_scope does: the system call is there, but each process is closed to the others.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl::test {

// From now on this process may not read the memory of others that did the same. False when the
// system does not let it.
inline bool guard_memory() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  data[0].effective &= ~(1U << CAP_SYS_PTRACE);
  data[0].permitted &= ~(1U << CAP_SYS_PTRACE);
  return syscall(SYS_capset, &header, data) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

}  // namespace sgl::test
