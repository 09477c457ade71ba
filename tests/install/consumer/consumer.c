/* Sums over the ranks through the C interface; a derived type and a large one, so that
 * kernels of several kinds run. Prints the number of ranks. */
#include <sglcoll/sglcoll.h>

#include <stdio.h>
#include <stdlib.h>

enum { kCount = 30000 };

static void check(sglcoll_status status) {
  if (status == SGLCOLL_OK) return;
  fprintf(stderr, "consumer: %s\n", sglcoll_last_error());
  exit(1);
}

int main(void) {
  static float mine[2 * kCount], sum[2 * kCount];
  sglcoll_comm world;
  sglcoll_type every_second;
  int rank, size, i;
  check(sglcoll_init(NULL, &world));
  check(sglcoll_comm_rank(world, &rank));
  check(sglcoll_comm_size(world, &size));
  check(sglcoll_type_vector(kCount, 1, 2, SGLCOLL_FLOAT, &every_second));
  check(sglcoll_type_commit(&every_second));
  for (i = 0; i < 2 * kCount; ++i) mine[i] = (float)(rank + i % 100);
  check(sglcoll_allreduce(mine, sum, 1, every_second, SGLCOLL_SUM, world));
  for (i = 0; i < 2 * kCount; ++i) {
    const float right = (float)(size * (size - 1) / 2 + size * (i % 100));
    if (sum[i] != (i % 2 ? 0 : right)) {
      fprintf(stderr, "consumer: element %d is %g\n", i, (double)sum[i]);
      return 1;
    }
  }
  check(sglcoll_type_free(&every_second));
  check(sglcoll_finalize(&world));
  if (rank == 0) printf("%d ranks\n", size);
  return 0;
}
