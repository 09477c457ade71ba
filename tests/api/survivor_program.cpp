// Under sglrun --on-failure=continue: rank 2 kills itself, the others print what they hear
// of it and end well.
#include <sglcoll/sglcoll.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

int main() {
  constexpr int kVictim = 2, kCount = 50000;
  sglcoll_comm world = nullptr;
  int rank = -1;
  if (sglcoll_init(nullptr, &world) != SGLCOLL_OK ||
      sglcoll_comm_rank(world, &rank) != SGLCOLL_OK) {
    std::fprintf(stderr, "start: %s\n", sglcoll_last_error());
    return 2;
  }
  std::vector<int> mine(kCount, 1), sum(kCount);
  sglcoll_status status = SGLCOLL_OK;
  for (int run = 0; status == SGLCOLL_OK; ++run) {
    if (rank == kVictim && run == 5) std::raise(SIGKILL);
    status = sglcoll_allreduce(mine.data(), sum.data(), kCount, SGLCOLL_INT, SGLCOLL_SUM, world);
  }
  const bool named = std::strstr(sglcoll_last_error(), "rank 2") != nullptr;
  std::printf("rank %d: %s, %s\n", rank, sglcoll_strerror(status),
              named ? "rank 2 is named" : sglcoll_last_error());
  return sglcoll_finalize(&world) == SGLCOLL_OK ? 0 : 3;
}
