// The processors that this thread may run on.
#pragma once

#include <vector>

#include <sched.h>

namespace sgl {

// By the operating system's numbers, in their order; none when they are not to be had.
inline std::vector<int> allowed_processors() {
  cpu_set_t allowed;
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) processors.push_back(cpu);
  return processors;
}

}  // namespace sgl
