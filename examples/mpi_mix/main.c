/* An MPI program whose collectives move to libsglcoll one call at a time: each is made
 * both ways on the program's own MPI datatypes and operations, and the results compared.
 *
 *   mpirun -n 4 mpi_mix
 */
#include <sglcoll/mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 200, kTileRows = 5, kTileColumns = 7, kArray = 16 * 12 * 3 };

static int rank, ranks, wrong;

static void check(sglcoll_status status, const char* call) {
  if (status == SGLCOLL_OK) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, call, sglcoll_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* zeroed(size_t bytes) {
  void* memory = calloc(bytes, 1);
  if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

/* Whether the two ways gave the same bytes on every rank. */
static void compare(const char* what, const void* by_mpi, const void* by_sglcoll, size_t bytes) {
  int same = memcmp(by_mpi, by_sglcoll, bytes) == 0, all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) printf("  %-52s %s\n", what, all ? "the same" : "DIFFERENT");
  wrong += !all;
}

/* Every rank owns one column of a row-major matrix; all get the whole. */
static void gather_columns(sglcoll_comm comm) {
  const size_t bytes = (size_t)kRows * (size_t)ranks * sizeof(double);
  double *by_mpi = zeroed(bytes), *by_sglcoll = zeroed(bytes), mine[kRows];
  MPI_Datatype vector, column;
  sglcoll_type our_column = NULL;
  int i;
  for (i = 0; i < kRows; ++i) mine[i] = rank * 1000 + i;
  MPI_Type_vector(kRows, 1, ranks, MPI_DOUBLE, &vector);
  MPI_Type_create_resized(vector, 0, sizeof(double), &column);
  MPI_Type_commit(&column);
  MPI_Allgather(mine, kRows, MPI_DOUBLE, by_mpi, 1, column, MPI_COMM_WORLD);

  check(sglcoll_type_from_mpi(column, &our_column), "sglcoll_type_from_mpi");
  check(sglcoll_allgather(mine, kRows, SGLCOLL_DOUBLE, by_sglcoll, 1, our_column, comm),
        "sglcoll_allgather");
  compare("allgather of matrix columns", by_mpi, by_sglcoll, bytes);

  check(sglcoll_type_free(&our_column), "sglcoll_type_free");
  MPI_Type_free(&column);
  MPI_Type_free(&vector);
  free(by_mpi);
  free(by_sglcoll);
}

/* Rank 0 hands a tile of a Fortran-ordered array to everyone. */
static void broadcast_tile(sglcoll_comm comm) {
  const int sizes[3] = {16, 12, 3}, parts[3] = {kTileRows, kTileColumns, 3}, starts[3] = {4, 2, 0};
  const size_t bytes = kArray * sizeof(float);
  float *by_mpi = zeroed(bytes), *by_sglcoll = zeroed(bytes);
  MPI_Datatype tile;
  sglcoll_type our_tile = NULL;
  int i;
  for (i = 0; i < kArray; ++i) by_mpi[i] = by_sglcoll[i] = (float)(rank ? -1 : i);
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_FLOAT, &tile);
  MPI_Type_commit(&tile);
  MPI_Bcast(by_mpi, 1, tile, 0, MPI_COMM_WORLD);

  check(sglcoll_type_from_mpi(tile, &our_tile), "sglcoll_type_from_mpi");
  check(sglcoll_bcast(by_sglcoll, 1, our_tile, 0, comm), "sglcoll_bcast");
  compare("broadcast of a tile of a Fortran array", by_mpi, by_sglcoll, bytes);

  check(sglcoll_type_free(&our_tile), "sglcoll_type_free");
  MPI_Type_free(&tile);
  free(by_mpi);
  free(by_sglcoll);
}

/* Where the largest value of each position is: a predefined operation and pair type. */
static void find_largest(sglcoll_comm comm) {
  struct {
    double value;
    int where;
  } mine[32], by_mpi[32], by_sglcoll[32];
  sglcoll_op op = NULL;
  sglcoll_type pair = NULL;
  int i;
  memset(mine, 0, sizeof mine);
  memset(by_mpi, 0, sizeof by_mpi);
  memset(by_sglcoll, 0, sizeof by_sglcoll);
  for (i = 0; i < 32; ++i) {
    mine[i].value = (rank * 7 + i * 5) % 11;
    mine[i].where = rank;
  }
  MPI_Allreduce(mine, by_mpi, 32, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);

  check(sglcoll_type_from_mpi(MPI_DOUBLE_INT, &pair), "sglcoll_type_from_mpi");
  check(sglcoll_op_from_mpi(MPI_MAXLOC, &op), "sglcoll_op_from_mpi");
  check(sglcoll_allreduce(mine, by_sglcoll, 32, pair, op, comm), "sglcoll_allreduce");
  compare("allreduce of MPI_DOUBLE_INT by MPI_MAXLOC", by_mpi, by_sglcoll, sizeof by_mpi);
  check(sglcoll_type_free(&pair), "sglcoll_type_free");
}

/* The map x -> a x + b modulo 97. */
typedef struct Map {
  int a, b;
} Map;

/* Composition of maps, which keeps the order of the ranks. */
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  const Map* first = in;
  Map* then = inout;
  int i;
  (void)type;
  for (i = 0; i < *count; ++i) {
    then[i].b = (then[i].a * first[i].b + then[i].b) % 97;
    then[i].a = then[i].a * first[i].a % 97;
  }
}

/* The program's own operation on its own datatype. */
static void compose_maps(sglcoll_comm comm) {
  Map mine[40], by_mpi[40], by_sglcoll[40];
  MPI_Datatype map;
  MPI_Op op;
  sglcoll_mpi_op source;
  sglcoll_type our_map = NULL;
  sglcoll_op our_op = NULL;
  int i;
  memset(by_mpi, 0, sizeof by_mpi);
  memset(by_sglcoll, 0, sizeof by_sglcoll);
  for (i = 0; i < 40; ++i) {
    mine[i].a = (rank * 13 + i * 29 + 1) % 97;
    mine[i].b = (rank * 5 + i * 31 + 2) % 97;
  }
  MPI_Type_contiguous(2, MPI_INT, &map);
  MPI_Type_commit(&map);
  MPI_Op_create(compose, 0, &op);
  MPI_Reduce(mine, by_mpi, 40, map, op, 0, MPI_COMM_WORLD);

  source.op = op;
  source.type = map;
  check(sglcoll_type_from_mpi(map, &our_map), "sglcoll_type_from_mpi");
  check(sglcoll_op_from_mpi_user(&source, &our_op), "sglcoll_op_from_mpi_user");
  check(sglcoll_reduce(mine, by_sglcoll, 40, our_map, our_op, 0, comm), "sglcoll_reduce");
  compare("reduce by an operation of MPI_Op_create", by_mpi, by_sglcoll, sizeof by_mpi);

  check(sglcoll_op_free(&our_op), "sglcoll_op_free");
  check(sglcoll_type_free(&our_map), "sglcoll_type_free");
  MPI_Op_free(&op);
  MPI_Type_free(&map);
}

int main(int argc, char** argv) {
  sglcoll_comm comm = NULL, half = NULL;
  MPI_Comm mpi_half;
  int32_t one = 1, sum = 0;
  int half_ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) printf("mpi_mix: MPI's and libsglcoll's results on %d ranks\n", ranks);

  check(sglcoll_comm_from_mpi(MPI_COMM_WORLD, &comm), "sglcoll_comm_from_mpi");
  gather_columns(comm);
  broadcast_tile(comm);
  find_largest(comm);
  compose_maps(comm);

  /* A communicator of a part of the ranks, beside the first. */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &mpi_half);
  MPI_Comm_size(mpi_half, &half_ranks);
  check(sglcoll_comm_from_mpi(mpi_half, &half), "sglcoll_comm_from_mpi");
  check(sglcoll_allreduce(&one, &sum, 1, SGLCOLL_INT32, SGLCOLL_SUM, half), "sglcoll_allreduce");
  compare("number of ranks in every second rank's communicator", &half_ranks, &sum, sizeof sum);

  check(sglcoll_finalize(&half), "sglcoll_finalize");
  check(sglcoll_finalize(&comm), "sglcoll_finalize");
  MPI_Comm_free(&mpi_half);
  MPI_Finalize();
  return wrong != 0;
}
