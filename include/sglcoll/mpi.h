/*
 * libsglcoll next to an MPI: communicators, datatypes and operations from those of
 * MPI, so that a code can move one call at a time.
 *
 * Header-only, C99 and C++. Include it where MPI is in use and compile with that MPI's
 * own flags; the library itself depends on no MPI. MPI 3.0 or later, of any vendor;
 * from MPI 4.0 on also types with 64-bit counts.
 *
 *   MPI_Init(&argc, &argv);
 *   sglcoll_comm comm;
 *   sglcoll_comm_from_mpi(MPI_COMM_WORLD, &comm);
 *   sglcoll_type column;
 *   sglcoll_type_from_mpi(mpi_column, &column);
 *   sglcoll_allgather(mine, n, SGLCOLL_DOUBLE, matrix, 1, column, comm);
 *   sglcoll_type_free(&column);
 *   sglcoll_finalize(&comm);
 *   MPI_Finalize();
 *
 * Every function returns a status whose detail sglcoll_last_error() has. Names that
 * end in an underscore are not for use.
 */
#ifndef SGLCOLL_MPI_H
#define SGLCOLL_MPI_H

#include <sglcoll/sglcoll.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- Errors ---------------------------------------------------------------- */

static inline sglcoll_status sglcoll_mpi_failed_(const char* call, int code) {
  char reason[MPI_MAX_ERROR_STRING + 1] = "", text[MPI_MAX_ERROR_STRING + 80];
  int length = 0;
  if (MPI_Error_string(code, reason, &length) != MPI_SUCCESS) reason[0] = '\0';
  snprintf(text, sizeof text, "%s failed with %d: %s", call, code, reason);
  return sglcoll_report_error(SGLCOLL_ERR_SYSTEM, text);
}

static inline sglcoll_status sglcoll_mpi_check_running_(void) {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  if (!started)
    return sglcoll_report_error(SGLCOLL_ERR_BOOT, "MPI is not initialized: call MPI_Init first");
  MPI_Finalized(&ended);
  if (ended)
    return sglcoll_report_error(SGLCOLL_ERR_BOOT, "MPI is finalized: call before MPI_Finalize");
  return SGLCOLL_OK;
}

/* ---- Communicators --------------------------------------------------------- */

static inline int sglcoll_mpi_allgather_(void* context, const void* mine, void* all, size_t bytes) {
  const int count = (int)bytes;
  if (bytes > (size_t)INT_MAX) return MPI_ERR_COUNT;
  return MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, *(MPI_Comm*)context);
}

static inline sglcoll_thread_level sglcoll_mpi_thread_level_(void) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided >= MPI_THREAD_MULTIPLE) return SGLCOLL_THREAD_MULTIPLE;
  if (provided >= MPI_THREAD_SERIALIZED) return SGLCOLL_THREAD_SERIALIZED;
  return provided >= MPI_THREAD_FUNNELED ? SGLCOLL_THREAD_FUNNELED : SGLCOLL_THREAD_SINGLE;
}

/* A communicator of the ranks of `mpi_comm`, in their order and at MPI's thread level:
   a world of its own, which the caller ends by sglcoll_finalize. Collective over
   `mpi_comm`, which is used only inside this call. Each world has its own connections:
   for many groups of one communicator make one world and use sglcoll_comm_split. */
static inline SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_from_mpi(MPI_Comm mpi_comm,
                                                                        sglcoll_comm* comm) {
  MPI_Comm own = MPI_COMM_NULL; /* has neither the attributes nor the error handler */
  sglcoll_exchange exchange;
  sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
  int inter = 0, code;
  sglcoll_status status = sglcoll_mpi_check_running_();
  if (status != SGLCOLL_OK) return status;
  if (mpi_comm == MPI_COMM_NULL)
    return sglcoll_report_error(SGLCOLL_ERR_COMM,
                                "mpi_comm is MPI_COMM_NULL: give one such as MPI_COMM_WORLD");
  MPI_Comm_test_inter(mpi_comm, &inter);
  if (inter)
    return sglcoll_report_error(
        SGLCOLL_ERR_COMM,
        "mpi_comm is an intercommunicator: give an intracommunicator, as of MPI_Intercomm_merge");
  code = MPI_Comm_split(mpi_comm, 0, 0, &own);
  if (code != MPI_SUCCESS) return sglcoll_mpi_failed_("MPI_Comm_split", code);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  MPI_Comm_rank(own, &exchange.rank);
  MPI_Comm_size(own, &exchange.size);
  exchange.allgather = sglcoll_mpi_allgather_;
  exchange.context = &own;
  options.thread_level = sglcoll_mpi_thread_level_();
  options.exchange = &exchange;
  status = sglcoll_init(&options, comm);
  MPI_Comm_free(&own);
  return status;
}

/* ---- Predefined datatypes -------------------------------------------------- */

/* The names of one kind, each of whose sizes the platform and the Fortran compiler
   decide. */
typedef enum sglcoll_mpi_kind_ {
  SGLCOLL_MPI_SIGNED_,
  SGLCOLL_MPI_UNSIGNED_,
  SGLCOLL_MPI_REAL_,
  SGLCOLL_MPI_COMPLEX_
} sglcoll_mpi_kind_;

/* NULL where the library has no type of the kind with that size. A real number of 16
   bytes may be one of several formats, so only the names of C's long double have it. */
static inline sglcoll_type sglcoll_mpi_of_size_(sglcoll_mpi_kind_ kind, int bytes) {
  switch (kind) {
    case SGLCOLL_MPI_SIGNED_:
      return bytes == 1   ? SGLCOLL_INT8
             : bytes == 2 ? SGLCOLL_INT16
             : bytes == 4 ? SGLCOLL_INT32
             : bytes == 8 ? SGLCOLL_INT64
                          : (sglcoll_type)NULL;
    case SGLCOLL_MPI_UNSIGNED_:
      return bytes == 1   ? SGLCOLL_UINT8
             : bytes == 2 ? SGLCOLL_UINT16
             : bytes == 4 ? SGLCOLL_UINT32
             : bytes == 8 ? SGLCOLL_UINT64
                          : (sglcoll_type)NULL;
    case SGLCOLL_MPI_REAL_:
      return bytes == 2   ? SGLCOLL_FLOAT16
             : bytes == 4 ? SGLCOLL_FLOAT
             : bytes == 8 ? SGLCOLL_DOUBLE
                          : (sglcoll_type)NULL;
    case SGLCOLL_MPI_COMPLEX_:
      return bytes == 8    ? SGLCOLL_COMPLEX_FLOAT
             : bytes == 16 ? SGLCOLL_COMPLEX_DOUBLE
                           : (sglcoll_type)NULL;
  }
  return NULL;
}

/* Names whose type does not depend on the platform. */
static inline sglcoll_type sglcoll_mpi_fixed_name_(MPI_Datatype type) {
  const struct {
    MPI_Datatype mpi;
    sglcoll_type ours;
  } names[] = {
      {MPI_CHAR, SGLCOLL_CHAR},
      {MPI_CHARACTER, SGLCOLL_CHAR},
      {MPI_BYTE, SGLCOLL_BYTE},
      {MPI_PACKED, SGLCOLL_BYTE},
      {MPI_C_BOOL, SGLCOLL_BOOL},
      {MPI_CXX_BOOL, SGLCOLL_BOOL},
      {MPI_LONG_DOUBLE, SGLCOLL_LONG_DOUBLE},
      {MPI_C_LONG_DOUBLE_COMPLEX, SGLCOLL_COMPLEX_LONG_DOUBLE},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, SGLCOLL_COMPLEX_LONG_DOUBLE},
      {MPI_SHORT_INT, SGLCOLL_SHORT_INT},
      {MPI_2INT, SGLCOLL_2INT},
      {MPI_LONG_INT, SGLCOLL_LONG_INT},
      {MPI_FLOAT_INT, SGLCOLL_FLOAT_INT},
      {MPI_DOUBLE_INT, SGLCOLL_DOUBLE_INT},
      {MPI_LONG_DOUBLE_INT, SGLCOLL_LONG_DOUBLE_INT},
  };
  size_t i;
  for (i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (type == names[i].mpi) return names[i].ours;
  return NULL;
}

/* Names that the size of the type completes. */
static inline sglcoll_type sglcoll_mpi_sized_name_(MPI_Datatype type, int bytes) {
  const struct {
    MPI_Datatype mpi;
    sglcoll_mpi_kind_ kind;
  } names[] = {
      {MPI_SIGNED_CHAR, SGLCOLL_MPI_SIGNED_},
      {MPI_SHORT, SGLCOLL_MPI_SIGNED_},
      {MPI_INT, SGLCOLL_MPI_SIGNED_},
      {MPI_LONG, SGLCOLL_MPI_SIGNED_},
      {MPI_LONG_LONG, SGLCOLL_MPI_SIGNED_},
      {MPI_INT8_T, SGLCOLL_MPI_SIGNED_},
      {MPI_INT16_T, SGLCOLL_MPI_SIGNED_},
      {MPI_INT32_T, SGLCOLL_MPI_SIGNED_},
      {MPI_INT64_T, SGLCOLL_MPI_SIGNED_},
      {MPI_AINT, SGLCOLL_MPI_SIGNED_},
      {MPI_COUNT, SGLCOLL_MPI_SIGNED_},
      {MPI_OFFSET, SGLCOLL_MPI_SIGNED_},
      {MPI_INTEGER, SGLCOLL_MPI_SIGNED_},
      {MPI_INTEGER1, SGLCOLL_MPI_SIGNED_},
      {MPI_INTEGER2, SGLCOLL_MPI_SIGNED_},
      {MPI_INTEGER4, SGLCOLL_MPI_SIGNED_},
      {MPI_INTEGER8, SGLCOLL_MPI_SIGNED_},
      {MPI_LOGICAL, SGLCOLL_MPI_SIGNED_},
      {MPI_WCHAR, WCHAR_MIN < 0 ? SGLCOLL_MPI_SIGNED_ : SGLCOLL_MPI_UNSIGNED_},
      {MPI_UNSIGNED_CHAR, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UNSIGNED_SHORT, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UNSIGNED, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UNSIGNED_LONG, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UNSIGNED_LONG_LONG, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UINT8_T, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UINT16_T, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UINT32_T, SGLCOLL_MPI_UNSIGNED_},
      {MPI_UINT64_T, SGLCOLL_MPI_UNSIGNED_},
      {MPI_FLOAT, SGLCOLL_MPI_REAL_},
      {MPI_DOUBLE, SGLCOLL_MPI_REAL_},
      {MPI_REAL, SGLCOLL_MPI_REAL_},
      {MPI_DOUBLE_PRECISION, SGLCOLL_MPI_REAL_},
      {MPI_REAL4, SGLCOLL_MPI_REAL_},
      {MPI_REAL8, SGLCOLL_MPI_REAL_},
      {MPI_C_FLOAT_COMPLEX, SGLCOLL_MPI_COMPLEX_},
      {MPI_C_DOUBLE_COMPLEX, SGLCOLL_MPI_COMPLEX_},
      {MPI_CXX_FLOAT_COMPLEX, SGLCOLL_MPI_COMPLEX_},
      {MPI_CXX_DOUBLE_COMPLEX, SGLCOLL_MPI_COMPLEX_},
      {MPI_COMPLEX, SGLCOLL_MPI_COMPLEX_},
      {MPI_DOUBLE_COMPLEX, SGLCOLL_MPI_COMPLEX_},
      {MPI_COMPLEX8, SGLCOLL_MPI_COMPLEX_},
      {MPI_COMPLEX16, SGLCOLL_MPI_COMPLEX_},
#ifdef MPIX_C_FLOAT16
      {MPIX_C_FLOAT16, SGLCOLL_MPI_REAL_},
#endif
  };
  size_t i;
  for (i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (type == names[i].mpi) return sglcoll_mpi_of_size_(names[i].kind, bytes);
  return NULL;
}

/* Fortran's pairs of equal members, which are two elements each. */
static inline sglcoll_type sglcoll_mpi_pair_member_(MPI_Datatype type, int bytes) {
  if (type == MPI_2INTEGER) return sglcoll_mpi_of_size_(SGLCOLL_MPI_SIGNED_, bytes / 2);
  if (type == MPI_2REAL || type == MPI_2DOUBLE_PRECISION)
    return sglcoll_mpi_of_size_(SGLCOLL_MPI_REAL_, bytes / 2);
  return NULL;
}

static inline sglcoll_status sglcoll_mpi_no_counterpart_(MPI_Datatype type, int bytes) {
  char name[MPI_MAX_OBJECT_NAME + 1] = "", text[MPI_MAX_OBJECT_NAME + 120];
  int length = 0;
  MPI_Type_get_name(type, name, &length);
  snprintf(text, sizeof text,
           "the MPI datatype %s of %d bytes has no counterpart: use one of the basic types of "
           "sglcoll.h",
           name[0] ? name : "(no name)", bytes);
  return sglcoll_report_error(SGLCOLL_ERR_UNSUPPORTED, text);
}

/* *made is a predefined type or a new one. */
static inline sglcoll_status sglcoll_mpi_named_(MPI_Datatype type, sglcoll_type* made) {
  int bytes = 0;
  sglcoll_type found = sglcoll_mpi_fixed_name_(type), member;
  MPI_Type_size(type, &bytes);
  if (!found) found = sglcoll_mpi_sized_name_(type, bytes);
  if (found) {
    *made = found;
    return SGLCOLL_OK;
  }
  member = sglcoll_mpi_pair_member_(type, bytes);
  if (member == SGLCOLL_INT) {
    *made = SGLCOLL_2INT;
    return SGLCOLL_OK;
  }
  if (member) return sglcoll_type_contiguous(2, member, made);
  return sglcoll_mpi_no_counterpart_(type, bytes);
}

/* ---- Derived datatypes ------------------------------------------------------ */

/* A type taken apart. `numbers` are the constructor's whole numbers in the order of its
   arguments, whatever kind of integer MPI keeps them in. */
typedef struct sglcoll_mpi_parts_ {
  int combiner;
  int64_t* numbers;
  size_t type_count;
  MPI_Datatype* types;
} sglcoll_mpi_parts_;

static inline sglcoll_status sglcoll_mpi_no_memory_(void) {
  return sglcoll_report_error(SGLCOLL_ERR_NO_MEMORY, "no memory to take an MPI datatype apart");
}

/* Whether a type of this combiner is MPI's own, not to be freed. */
static inline int sglcoll_mpi_is_predefined_(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static inline void sglcoll_mpi_drop_parts_(sglcoll_mpi_parts_* parts) {
  size_t i;
  for (i = 0; i < parts->type_count; ++i) {
    int integers, addresses, types, combiner = MPI_COMBINER_NAMED;
    MPI_Type_get_envelope(parts->types[i], &integers, &addresses, &types, &combiner);
    if (!sglcoll_mpi_is_predefined_(combiner)) MPI_Type_free(&parts->types[i]);
  }
  free(parts->types);
  free(parts->numbers);
}

#if MPI_VERSION >= 4
typedef MPI_Count sglcoll_mpi_length_;
#else
typedef int sglcoll_mpi_length_;
#endif

/* The lists of MPI_Type_get_contents. */
typedef struct sglcoll_mpi_lists_ {
  sglcoll_mpi_length_ integer_count, address_count, large_count, type_count;
  int* integers;
  MPI_Aint* addresses;
  MPI_Count* large;
} sglcoll_mpi_lists_;

static inline int sglcoll_mpi_envelope_(MPI_Datatype type, sglcoll_mpi_lists_* lists,
                                        int* combiner) {
  lists->large_count = 0;
#if MPI_VERSION >= 4
  return MPI_Type_get_envelope_c(type, &lists->integer_count, &lists->address_count,
                                 &lists->large_count, &lists->type_count, combiner);
#else
  return MPI_Type_get_envelope(type, &lists->integer_count, &lists->address_count,
                               &lists->type_count, combiner);
#endif
}

static inline int sglcoll_mpi_contents_(MPI_Datatype type, sglcoll_mpi_lists_* lists,
                                        MPI_Datatype* types) {
#if MPI_VERSION >= 4
  return MPI_Type_get_contents_c(type, lists->integer_count, lists->address_count,
                                 lists->large_count, lists->type_count, lists->integers,
                                 lists->addresses, lists->large, types);
#else
  return MPI_Type_get_contents(type, lists->integer_count, lists->address_count, lists->type_count,
                               lists->integers, lists->addresses, types);
#endif
}

/* Integers, then addresses; but a type of 64-bit counts keeps all of its numbers in the
   large list, except those of an array type, whose place is after `head` integers. */
static inline void sglcoll_mpi_merge_(const sglcoll_mpi_lists_* lists, int combiner,
                                      int64_t* numbers) {
  sglcoll_mpi_length_ head = lists->integer_count, i;
  if (lists->large_count > 0 && combiner == MPI_COMBINER_SUBARRAY) head = 1;
  if (lists->large_count > 0 && combiner == MPI_COMBINER_DARRAY) head = 3;
  for (i = 0; i < head; ++i) *numbers++ = lists->integers[i];
  for (i = 0; i < lists->large_count; ++i) *numbers++ = (int64_t)lists->large[i];
  for (i = head; i < lists->integer_count; ++i) *numbers++ = lists->integers[i];
  for (i = 0; i < lists->address_count; ++i) *numbers++ = (int64_t)lists->addresses[i];
}

/* `combiner` and `lists` are those of the envelope. */
static inline sglcoll_status sglcoll_mpi_take_apart_(MPI_Datatype type, sglcoll_mpi_lists_* lists,
                                                     sglcoll_mpi_parts_* parts) {
  const size_t integers = (size_t)lists->integer_count, addresses = (size_t)lists->address_count;
  const size_t large = (size_t)lists->large_count, types = (size_t)lists->type_count;
  sglcoll_status status = SGLCOLL_OK;
  lists->integers = (int*)malloc((integers + 1) * sizeof(int));
  lists->addresses = (MPI_Aint*)malloc((addresses + 1) * sizeof(MPI_Aint));
  lists->large = (MPI_Count*)malloc((large + 1) * sizeof(MPI_Count));
  parts->type_count = 0;
  parts->types = (MPI_Datatype*)malloc((types + 1) * sizeof(MPI_Datatype));
  parts->numbers = (int64_t*)malloc((integers + addresses + large + 1) * sizeof(int64_t));
  if (!lists->integers || !lists->addresses || !lists->large || !parts->types || !parts->numbers) {
    status = sglcoll_mpi_no_memory_();
  } else {
    const int code = sglcoll_mpi_contents_(type, lists, parts->types);
    if (code != MPI_SUCCESS) {
      status = sglcoll_mpi_failed_("MPI_Type_get_contents", code);
    } else {
      parts->type_count = types;
      sglcoll_mpi_merge_(lists, parts->combiner, parts->numbers);
    }
  }
  free(lists->integers);
  free(lists->addresses);
  free(lists->large);
  if (status != SGLCOLL_OK) sglcoll_mpi_drop_parts_(parts);
  return status;
}

/* Keeps the text of the failure before it. */
static inline void sglcoll_mpi_drop_(sglcoll_type* type) {
  int64_t integers, types;
  sglcoll_combiner combiner;
  if (!*type || sglcoll_type_get_envelope(*type, &integers, &types, &combiner) != SGLCOLL_OK)
    return;
  if (combiner != SGLCOLL_COMBINER_NAMED && sglcoll_type_free(type) != SGLCOLL_OK) return;
  *type = NULL;
}

static inline sglcoll_status sglcoll_mpi_bad_value_(const char* what, int64_t value) {
  char text[160];
  snprintf(text, sizeof text, "%s %lld of an MPI datatype has no counterpart in sglcoll.h", what,
           (long long)value);
  return sglcoll_report_error(SGLCOLL_ERR_UNSUPPORTED, text);
}

static inline sglcoll_status sglcoll_mpi_order_(int64_t mpi_order, sglcoll_order* order) {
  if (mpi_order != MPI_ORDER_C && mpi_order != MPI_ORDER_FORTRAN)
    return sglcoll_mpi_bad_value_("the order", mpi_order);
  *order = mpi_order == MPI_ORDER_C ? SGLCOLL_ORDER_C : SGLCOLL_ORDER_FORTRAN;
  return SGLCOLL_OK;
}

/* numbers: dims, sizes, subsizes, starts, order */
static inline sglcoll_status sglcoll_mpi_subarray_(const int64_t* numbers, sglcoll_type old,
                                                   sglcoll_type* made) {
  const int64_t dims = numbers[0];
  sglcoll_order order = SGLCOLL_ORDER_C;
  sglcoll_status status = sglcoll_mpi_order_(numbers[3 * dims + 1], &order);
  if (status != SGLCOLL_OK) return status;
  return sglcoll_type_subarray((int)dims, numbers + 1, numbers + 1 + dims, numbers + 1 + 2 * dims,
                               order, old, made);
}

/* numbers: size, rank, dims, global sizes, distributions, their arguments, process
   sizes, order. The lists are turned into ours in place. */
static inline sglcoll_status sglcoll_mpi_darray_(int64_t* numbers, sglcoll_type old,
                                                 sglcoll_type* made) {
  const int64_t dims = numbers[2];
  int64_t *sizes = numbers + 3, *distributions = sizes + dims, *arguments = distributions + dims;
  int64_t* grid = arguments + dims;
  int* process_sizes = (int*)malloc((size_t)dims * sizeof(int));
  sglcoll_distribution* kinds =
      (sglcoll_distribution*)malloc((size_t)dims * sizeof(sglcoll_distribution));
  sglcoll_order order = SGLCOLL_ORDER_C;
  sglcoll_status status = sglcoll_mpi_order_(grid[dims], &order);
  int64_t i;
  if (!process_sizes || !kinds) status = sglcoll_mpi_no_memory_();
  for (i = 0; i < dims && status == SGLCOLL_OK; ++i) {
    process_sizes[i] = (int)grid[i];
    if (arguments[i] == MPI_DISTRIBUTE_DFLT_DARG) arguments[i] = SGLCOLL_DISTRIBUTE_DEFAULT_ARG;
    if (distributions[i] == MPI_DISTRIBUTE_BLOCK)
      kinds[i] = SGLCOLL_DISTRIBUTE_BLOCK;
    else if (distributions[i] == MPI_DISTRIBUTE_CYCLIC)
      kinds[i] = SGLCOLL_DISTRIBUTE_CYCLIC;
    else if (distributions[i] == MPI_DISTRIBUTE_NONE)
      kinds[i] = SGLCOLL_DISTRIBUTE_NONE;
    else
      status = sglcoll_mpi_bad_value_("the distribution", distributions[i]);
  }
  if (status == SGLCOLL_OK)
    status = sglcoll_type_darray((int)numbers[0], (int)numbers[1], (int)dims, sizes, kinds,
                                 arguments, process_sizes, order, old, made);
  free(process_sizes);
  free(kinds);
  return status;
}

/* MPI_Type_create_f90_*: only the size tells which type it is. */
static inline sglcoll_status sglcoll_mpi_f90_(MPI_Datatype type, int combiner, sglcoll_type* made) {
  const sglcoll_mpi_kind_ kind = combiner == MPI_COMBINER_F90_REAL      ? SGLCOLL_MPI_REAL_
                                 : combiner == MPI_COMBINER_F90_COMPLEX ? SGLCOLL_MPI_COMPLEX_
                                                                        : SGLCOLL_MPI_SIGNED_;
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  *made = sglcoll_mpi_of_size_(kind, bytes);
  return *made ? SGLCOLL_OK : sglcoll_mpi_no_counterpart_(type, bytes);
}

/* All constructors of one old type. */
static inline sglcoll_status sglcoll_mpi_construct_(sglcoll_mpi_parts_* parts, sglcoll_type old,
                                                    sglcoll_type* made) {
  int64_t* n = parts->numbers;
  switch (parts->combiner) {
    case MPI_COMBINER_DUP:
      return sglcoll_type_dup(old, made);
    case MPI_COMBINER_CONTIGUOUS:
      return sglcoll_type_contiguous(n[0], old, made);
    case MPI_COMBINER_VECTOR:
      return sglcoll_type_vector(n[0], n[1], n[2], old, made);
    case MPI_COMBINER_HVECTOR:
      return sglcoll_type_hvector(n[0], n[1], n[2], old, made);
    case MPI_COMBINER_INDEXED:
      return sglcoll_type_indexed(n[0], n + 1, n + 1 + n[0], old, made);
    case MPI_COMBINER_HINDEXED:
      return sglcoll_type_hindexed(n[0], n + 1, n + 1 + n[0], old, made);
    case MPI_COMBINER_INDEXED_BLOCK:
      return sglcoll_type_indexed_block(n[0], n[1], n + 2, old, made);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return sglcoll_type_hindexed_block(n[0], n[1], n + 2, old, made);
    case MPI_COMBINER_SUBARRAY:
      return sglcoll_mpi_subarray_(n, old, made);
    case MPI_COMBINER_DARRAY:
      return sglcoll_mpi_darray_(n, old, made);
    case MPI_COMBINER_RESIZED:
      return sglcoll_type_resized(old, n[0], n[1], made);
    default:
      return sglcoll_mpi_bad_value_("the combiner", parts->combiner);
  }
}

static inline sglcoll_status sglcoll_mpi_convert_(MPI_Datatype type, sglcoll_type* made);

static inline sglcoll_status sglcoll_mpi_convert_parts_(sglcoll_mpi_parts_* parts,
                                                        sglcoll_type* made) {
  const size_t count = parts->type_count;
  sglcoll_type* old = (sglcoll_type*)calloc(count + 1, sizeof(sglcoll_type));
  sglcoll_status status = old ? SGLCOLL_OK : sglcoll_mpi_no_memory_();
  size_t i;
  for (i = 0; i < count && status == SGLCOLL_OK; ++i)
    status = sglcoll_mpi_convert_(parts->types[i], &old[i]);
  if (status == SGLCOLL_OK && parts->combiner == MPI_COMBINER_STRUCT)
    status = sglcoll_type_struct(parts->numbers[0], parts->numbers + 1,
                                 parts->numbers + 1 + parts->numbers[0], old, made);
  else if (status == SGLCOLL_OK)
    status = sglcoll_mpi_construct_(parts, old[0], made);
  for (i = 0; old && i < count; ++i) sglcoll_mpi_drop_(&old[i]);
  free(old);
  return status;
}

/* MPIs differ in where they round an extent up to an alignment and in what explicit
   bounds of a member mean; the program's buffers are laid out as its MPI has it. */
static inline sglcoll_status sglcoll_mpi_keep_bounds_(MPI_Datatype type, sglcoll_type* made) {
  MPI_Count mpi_lower_bound = 0, mpi_extent = 0;
  int64_t lower_bound, extent;
  sglcoll_type with_ours = *made;
  sglcoll_status status = sglcoll_type_get_extent(with_ours, &lower_bound, &extent);
  MPI_Type_get_extent_x(type, &mpi_lower_bound, &mpi_extent);
  if (status != SGLCOLL_OK || (lower_bound == mpi_lower_bound && extent == mpi_extent))
    return status;
  *made = NULL;
  status = sglcoll_type_resized(with_ours, (int64_t)mpi_lower_bound, (int64_t)mpi_extent, made);
  sglcoll_mpi_drop_(&with_ours);
  return status;
}

/* *made is a predefined type or a new, uncommitted one, or NULL after a failure. */
static inline sglcoll_status sglcoll_mpi_convert_(MPI_Datatype type, sglcoll_type* made) {
  sglcoll_mpi_lists_ lists;
  sglcoll_mpi_parts_ parts;
  sglcoll_status status;
  const int code = sglcoll_mpi_envelope_(type, &lists, &parts.combiner);
  if (code != MPI_SUCCESS) return sglcoll_mpi_failed_("MPI_Type_get_envelope", code);
  if (parts.combiner == MPI_COMBINER_NAMED) return sglcoll_mpi_named_(type, made);
  if (sglcoll_mpi_is_predefined_(parts.combiner))
    return sglcoll_mpi_f90_(type, parts.combiner, made);
  status = sglcoll_mpi_take_apart_(type, &lists, &parts);
  if (status != SGLCOLL_OK) return status;
  status = sglcoll_mpi_convert_parts_(&parts, made);
  sglcoll_mpi_drop_parts_(&parts);
  return status == SGLCOLL_OK ? sglcoll_mpi_keep_bounds_(type, made) : status;
}

/* A committed type with the type map and the bounds of `mpi_type`, which may be freed
   afterwards; the caller frees *type, also for a predefined mpi_type. Cost: the size of
   the type's description, not of its data. Local. A type without a counterpart, such as
   MPI_REAL16, is SGLCOLL_ERR_UNSUPPORTED. */
static inline SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_from_mpi(MPI_Datatype mpi_type,
                                                                        sglcoll_type* type) {
  sglcoll_type found = NULL, made = NULL;
  sglcoll_status status = sglcoll_mpi_check_running_();
  if (status != SGLCOLL_OK) return status;
  if (mpi_type == MPI_DATATYPE_NULL)
    return sglcoll_report_error(SGLCOLL_ERR_TYPE,
                                "mpi_type is MPI_DATATYPE_NULL: give one such as MPI_DOUBLE");
  if (!type) return sglcoll_report_error(SGLCOLL_ERR_ARG, "type is NULL: give where to store it");
  status = sglcoll_mpi_convert_(mpi_type, &found);
  if (status != SGLCOLL_OK) return status;
  status = sglcoll_type_dup(found, &made);
  sglcoll_mpi_drop_(&found);
  if (status != SGLCOLL_OK) return status;
  status = sglcoll_type_commit(&made);
  if (status == SGLCOLL_OK)
    *type = made;
  else
    sglcoll_mpi_drop_(&made);
  return status;
}

/* ---- Operations -------------------------------------------------------------- */

/* The library's own operation of the same meaning, which is never freed. For an
   operation of MPI_Op_create see sglcoll_op_from_mpi_user. */
static inline SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_op_from_mpi(MPI_Op mpi_op,
                                                                      sglcoll_op* op) {
  const struct {
    MPI_Op mpi;
    sglcoll_op ours;
  } names[] = {
      {MPI_SUM, SGLCOLL_SUM},   {MPI_PROD, SGLCOLL_PROD},     {MPI_MIN, SGLCOLL_MIN},
      {MPI_MAX, SGLCOLL_MAX},   {MPI_LAND, SGLCOLL_LAND},     {MPI_LOR, SGLCOLL_LOR},
      {MPI_LXOR, SGLCOLL_LXOR}, {MPI_BAND, SGLCOLL_BAND},     {MPI_BOR, SGLCOLL_BOR},
      {MPI_BXOR, SGLCOLL_BXOR}, {MPI_MINLOC, SGLCOLL_MINLOC}, {MPI_MAXLOC, SGLCOLL_MAXLOC},
  };
  size_t i;
  if (!op) return sglcoll_report_error(SGLCOLL_ERR_ARG, "op is NULL: give where to store it");
  for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (mpi_op != names[i].mpi) continue;
    *op = names[i].ours;
    return SGLCOLL_OK;
  }
  return sglcoll_report_error(SGLCOLL_ERR_UNSUPPORTED,
                              "mpi_op is no predefined reduction such as MPI_SUM: for one of "
                              "MPI_Op_create use sglcoll_op_from_mpi_user");
}

/* An MPI operation and the one MPI datatype on which it will be used. */
typedef struct sglcoll_mpi_op {
  MPI_Op op;
  MPI_Datatype type;
} sglcoll_mpi_op;

static inline void sglcoll_mpi_apply_(const void* in, void* inout, int64_t count, sglcoll_type type,
                                      void* context) {
  const sglcoll_mpi_op* source = (const sglcoll_mpi_op*)context;
  MPI_Aint lower_bound = 0, extent = 0;
  const char* from = (const char*)in;
  char* to = (char*)inout;
  (void)type;
  MPI_Type_get_extent(source->type, &lower_bound, &extent);
  while (count > 0) {
    const int part = count < INT_MAX ? (int)count : INT_MAX;
    MPI_Reduce_local(from, to, part, source->type, source->op);
    from += (MPI_Aint)part * extent;
    to += (MPI_Aint)part * extent;
    count -= part;
  }
}

/* An operation that calls MPI_Reduce_local; for collectives on the sglcoll_type made
   from source->type, and on no other. *source, its operation and its datatype must stay
   until *op, which the caller frees, is no longer in use. */
static inline SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_op_from_mpi_user(sglcoll_mpi_op* source,
                                                                           sglcoll_op* op) {
  int commutative = 0, code;
  sglcoll_status status = sglcoll_mpi_check_running_();
  if (status != SGLCOLL_OK) return status;
  if (!source) return sglcoll_report_error(SGLCOLL_ERR_ARG, "source is NULL");
  if (source->op == MPI_OP_NULL)
    return sglcoll_report_error(SGLCOLL_ERR_OP,
                                "source->op is MPI_OP_NULL: give one of MPI_Op_create");
  if (source->type == MPI_DATATYPE_NULL)
    return sglcoll_report_error(SGLCOLL_ERR_TYPE,
                                "source->type is MPI_DATATYPE_NULL: give one such as MPI_DOUBLE");
  code = MPI_Op_commutative(source->op, &commutative);
  if (code != MPI_SUCCESS) return sglcoll_mpi_failed_("MPI_Op_commutative", code);
  return sglcoll_op_create(sglcoll_mpi_apply_, source, commutative ? 1 : 0, op);
}

#endif /* SGLCOLL_MPI_H */
