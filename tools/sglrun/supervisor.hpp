// Two processes, so that whichever of them is killed the other one ends the job
// and leaves nothing behind.
//
// The supervisor is the process that the user started: it passes signals to the
// worker over a socket and waits. The worker, its child, runs the job. When the
// worker dies, the ranks die with it (their parent-death signal) and the
// supervisor inherits and kills what they left; when the supervisor dies, the
// worker's socket ends and it kills the job.
#pragma once

#include <functional>
#include <string>

#include <signal.h>

namespace sgl::run {

// What the worker has from its supervisor.
struct Worker {
  int control_fd;          // one byte a signal to pass on; ends when the supervisor is gone
  sigset_t original_mask;  // to give to the ranks
  std::string scratch_dir;
};

// Runs `work` in a child and returns its exit status. All signals that the
// supervisor passes on are blocked in the child. The scratch directory exists
// while the job runs and is removed at the end, whoever dies.
int supervise(const std::function<int(const Worker&)>& work);

}  // namespace sgl::run
