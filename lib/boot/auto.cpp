#include "base/log.hpp"
#include "boot/boot.hpp"

#include <cstdlib>

namespace sgl {
namespace {

// A launcher that says in its own variable how many processes it started, but serves no PMIx
// that they could meet by, gets as many jobs of one rank, which is hardly ever what was meant.
void warn_of_lone_ranks() {
  for (const char* name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* started = std::getenv(name);
    if (started && std::atoi(started) > 1)
      log(LogLevel::warn,
          "this process is a job of one rank: its launcher started {} ({}) but serves no PMIx; "
          "start it by sglrun, or by srun --mpi=pmix, or call sglcoll_init with the exchange of "
          "sglcoll/mpi.h",
          started, name);
  }
}

}  // namespace

// The two variables are PMIx's own protocol between launcher and client, not
// settings of this library, so they are not in the table of base/settings.cpp.
Result<std::unique_ptr<Boot>> boot_auto(const sglcoll_exchange* exchange) {
  if (exchange) return boot_exchange(*exchange);
  if (std::getenv("PMIX_NAMESPACE") && std::getenv("PMIX_RANK")) return boot_pmix();
  warn_of_lone_ranks();
  return boot_single();
}

}  // namespace sgl
