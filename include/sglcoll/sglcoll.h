/*
 * libsglcoll: collective communication on derived datatypes by scatter-gather lists.
 *
 * The C interface. C99, no other header of a library. The C++ interface over it
 * is sglcoll/sglcoll.hpp.
 *
 * Conventions
 *   - Every function returns a sglcoll_status; outputs come last and are written
 *     only on SGLCOLL_OK. sglcoll_last_error() has the detail of the calling
 *     thread's last failure: the argument, its value and what would be right.
 *   - Counts are in elements of the type given with them, displacements of the
 *     v forms in extents of that type, strides and displacements whose name ends
 *     in _bytes in bytes. All are 64-bit.
 *   - Handles are pointers to opaque structs and belong to the caller until the
 *     matching free, which sets them to NULL. Freeing a handle that an operation
 *     in flight still uses is legal: the object goes when the last user does.
 *   - Thread safety: under SGLCOLL_THREAD_MULTIPLE every function may be called
 *     from any thread at any time, except that one communicator's collectives
 *     must be started in one order on all ranks. Under the lower levels, one
 *     thread at a time. Datatype functions are safe from any thread at any level.
 *   - No function aborts the process or throws.
 */
#ifndef SGLCOLL_H
#define SGLCOLL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SGLCOLL_API __attribute__((visibility("default")))
#define SGLCOLL_CHECK_RESULT __attribute__((warn_unused_result))
#else
#define SGLCOLL_API
#define SGLCOLL_CHECK_RESULT
#endif

/* In C++ an enum whose underlying type is not fixed may hold no value beyond those of its
   names, so a wrong value could not even be looked at to refuse it. */
#ifdef __cplusplus
#define SGLCOLL_INT_ENUM : int
#else
#define SGLCOLL_INT_ENUM
#endif

#define SGLCOLL_VERSION_MAJOR 0
#define SGLCOLL_VERSION_MINOR 1
#define SGLCOLL_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------- */

typedef enum sglcoll_status SGLCOLL_INT_ENUM {
  SGLCOLL_OK = 0,
  SGLCOLL_ERR_ARG = 1,          /* an argument is not valid */
  SGLCOLL_ERR_TYPE = 2,         /* a datatype is null, freed, uncommitted or does not fit */
  SGLCOLL_ERR_OP = 3,           /* a reduction operation does not fit the datatype */
  SGLCOLL_ERR_COMM = 4,         /* a communicator is null or freed */
  SGLCOLL_ERR_REQUEST = 5,      /* a request is null, or not in a state for this call */
  SGLCOLL_ERR_COUNT = 6,        /* a count is negative, or a size overflows 64 bits */
  SGLCOLL_ERR_BUFFER = 7,       /* a buffer is null, or overlaps one that it must not */
  SGLCOLL_ERR_MISMATCH = 8,     /* ranks disagree on the arguments of a collective */
  SGLCOLL_ERR_NO_MEMORY = 9,    /* memory could not be had */
  SGLCOLL_ERR_UNSUPPORTED = 10, /* asked for something that this build or machine has not */
  SGLCOLL_ERR_PEER_FAILED = 11, /* a peer's process died or its connection broke */
  SGLCOLL_ERR_TIMEOUT = 12,     /* no progress within SGLCOLL_TIMEOUT_S */
  SGLCOLL_ERR_BOOT = 13,        /* the ranks could not find each other */
  SGLCOLL_ERR_SYSTEM = 14,      /* a system call failed */
  SGLCOLL_ERR_FORKED = 15,      /* the process forked after init: use is in the parent only */
  SGLCOLL_ERR_INTERNAL = 16     /* a defect of the library */
} sglcoll_status;

/* A short, constant text for a code; never NULL. */
SGLCOLL_API const char* sglcoll_strerror(sglcoll_status status);
/* The detailed text of the calling thread's last failed call, "" before any.
   Valid until the thread's next failing call. */
SGLCOLL_API const char* sglcoll_last_error(void);
/* For interfaces over the library, such as sglcoll/mpi.h: reports a failure of their own
   as the library reports its own, that is, `text` becomes sglcoll_last_error(). Returns
   `status`. */
SGLCOLL_API sglcoll_status sglcoll_report_error(sglcoll_status status, const char* text);
/* The version of the library that is loaded, e.g. 0, 1, 0. Any output may be NULL. */
SGLCOLL_API void sglcoll_version(int* major, int* minor, int* patch);

/* ---- Handles and constants ---------------------------------------------- */

typedef struct sglcoll_comm_s* sglcoll_comm;
typedef struct sglcoll_type_s* sglcoll_type;
typedef struct sglcoll_op_s* sglcoll_op;
typedef struct sglcoll_request_s* sglcoll_request;

SGLCOLL_API extern char sglcoll_in_place_marker;
/* In place of a buffer: the data is already where the other buffer says (as MPI_IN_PLACE). */
#define SGLCOLL_IN_PLACE ((void*)&sglcoll_in_place_marker)
/* As the colour of sglcoll_comm_split: this rank gets no communicator. */
#define SGLCOLL_UNDEFINED (-32766)

/* ---- Predefined datatypes ------------------------------------------------ */

/* Address constants, so they may stand in static initialisers. The pair types at the
   end (value, int index) are for SGLCOLL_MINLOC and SGLCOLL_MAXLOC. */
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_int8;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_int16;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_int32;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_int64;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_uint8;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_uint16;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_uint32;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_uint64;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_float16;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_bfloat16;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_float;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_double;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_long_double;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_complex_float;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_complex_double;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_complex_long_double;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_bool;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_byte;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_short_int;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_int_int;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_long_int;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_float_int;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_double_int;
SGLCOLL_API extern struct sglcoll_type_s sglcoll_type_long_double_int;

#define SGLCOLL_INT8 (&sglcoll_type_int8)
#define SGLCOLL_INT16 (&sglcoll_type_int16)
#define SGLCOLL_INT32 (&sglcoll_type_int32)
#define SGLCOLL_INT64 (&sglcoll_type_int64)
#define SGLCOLL_UINT8 (&sglcoll_type_uint8)
#define SGLCOLL_UINT16 (&sglcoll_type_uint16)
#define SGLCOLL_UINT32 (&sglcoll_type_uint32)
#define SGLCOLL_UINT64 (&sglcoll_type_uint64)
#define SGLCOLL_FLOAT16 (&sglcoll_type_float16)
#define SGLCOLL_BFLOAT16 (&sglcoll_type_bfloat16)
#define SGLCOLL_FLOAT (&sglcoll_type_float)
#define SGLCOLL_DOUBLE (&sglcoll_type_double)
#define SGLCOLL_LONG_DOUBLE (&sglcoll_type_long_double)
#define SGLCOLL_COMPLEX_FLOAT (&sglcoll_type_complex_float)
#define SGLCOLL_COMPLEX_DOUBLE (&sglcoll_type_complex_double)
#define SGLCOLL_COMPLEX_LONG_DOUBLE (&sglcoll_type_complex_long_double)
#define SGLCOLL_BOOL (&sglcoll_type_bool)
#define SGLCOLL_BYTE (&sglcoll_type_byte)
#define SGLCOLL_SHORT_INT (&sglcoll_type_short_int)
#define SGLCOLL_2INT (&sglcoll_type_int_int)
#define SGLCOLL_LONG_INT (&sglcoll_type_long_int)
#define SGLCOLL_FLOAT_INT (&sglcoll_type_float_int)
#define SGLCOLL_DOUBLE_INT (&sglcoll_type_double_int)
#define SGLCOLL_LONG_DOUBLE_INT (&sglcoll_type_long_double_int)

/* C's own names, by their size on this platform. */
#if CHAR_MIN < 0
#define SGLCOLL_CHAR SGLCOLL_INT8
#else
#define SGLCOLL_CHAR SGLCOLL_UINT8
#endif
#define SGLCOLL_SIGNED_CHAR SGLCOLL_INT8
#define SGLCOLL_UNSIGNED_CHAR SGLCOLL_UINT8
#define SGLCOLL_SHORT SGLCOLL_INT16
#define SGLCOLL_UNSIGNED_SHORT SGLCOLL_UINT16
#define SGLCOLL_INT SGLCOLL_INT32
#define SGLCOLL_UNSIGNED SGLCOLL_UINT32
#if LONG_MAX == INT64_MAX
#define SGLCOLL_LONG SGLCOLL_INT64
#define SGLCOLL_UNSIGNED_LONG SGLCOLL_UINT64
#else
#define SGLCOLL_LONG SGLCOLL_INT32
#define SGLCOLL_UNSIGNED_LONG SGLCOLL_UINT32
#endif
#define SGLCOLL_LONG_LONG SGLCOLL_INT64
#define SGLCOLL_UNSIGNED_LONG_LONG SGLCOLL_UINT64

/* ---- Derived datatypes ----------------------------------------------------

   The constructors of MPI 4.1, chapter 5, with the same meaning. The new type
   must be committed before it is used in communication or packing; committing
   builds its normal form. Old types may be freed at once. */

typedef enum sglcoll_order SGLCOLL_INT_ENUM {
  SGLCOLL_ORDER_C = 0,
  SGLCOLL_ORDER_FORTRAN = 1
} sglcoll_order;
typedef enum sglcoll_distribution SGLCOLL_INT_ENUM {
  SGLCOLL_DISTRIBUTE_NONE = 0,
  SGLCOLL_DISTRIBUTE_BLOCK = 1,
  SGLCOLL_DISTRIBUTE_CYCLIC = 2
} sglcoll_distribution;
#define SGLCOLL_DISTRIBUTE_DEFAULT_ARG (-49767)

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_contiguous(int64_t count,
                                                                        sglcoll_type old_type,
                                                                        sglcoll_type* new_type);
/* stride in extents of old_type */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_vector(int64_t count,
                                                                    int64_t block_length,
                                                                    int64_t stride,
                                                                    sglcoll_type old_type,
                                                                    sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_hvector(int64_t count,
                                                                     int64_t block_length,
                                                                     int64_t stride_bytes,
                                                                     sglcoll_type old_type,
                                                                     sglcoll_type* new_type);
/* displacements in extents of old_type; arrays of `count` */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_indexed(int64_t count,
                                                                     const int64_t block_lengths[],
                                                                     const int64_t displacements[],
                                                                     sglcoll_type old_type,
                                                                     sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_hindexed(
    int64_t count, const int64_t block_lengths[], const int64_t displacements_bytes[],
    sglcoll_type old_type, sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_type_indexed_block(int64_t count, int64_t block_length, const int64_t displacements[],
                           sglcoll_type old_type, sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_hindexed_block(
    int64_t count, int64_t block_length, const int64_t displacements_bytes[], sglcoll_type old_type,
    sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_struct(
    int64_t count, const int64_t block_lengths[], const int64_t displacements_bytes[],
    const sglcoll_type types[], sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_subarray(
    int dims, const int64_t sizes[], const int64_t subsizes[], const int64_t starts[],
    sglcoll_order order, sglcoll_type old_type, sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_darray(
    int size, int rank, int dims, const int64_t global_sizes[],
    const sglcoll_distribution distributions[], const int64_t distribution_args[],
    const int process_sizes[], sglcoll_order order, sglcoll_type old_type, sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_resized(sglcoll_type old_type,
                                                                     int64_t lower_bound,
                                                                     int64_t extent,
                                                                     sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_dup(sglcoll_type old_type,
                                                                 sglcoll_type* new_type);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_commit(sglcoll_type* type);
/* Predefined types cannot be freed. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_free(sglcoll_type* type);

/* Bytes of data in one element, without gaps. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_size(sglcoll_type type,
                                                                  int64_t* bytes);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_get_extent(sglcoll_type type,
                                                                        int64_t* lower_bound,
                                                                        int64_t* extent);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_type_get_true_extent(sglcoll_type type, int64_t* true_lower_bound, int64_t* true_extent);

typedef enum sglcoll_combiner SGLCOLL_INT_ENUM {
  SGLCOLL_COMBINER_NAMED = 0, /* a predefined type */
  SGLCOLL_COMBINER_DUP,
  SGLCOLL_COMBINER_CONTIGUOUS,
  SGLCOLL_COMBINER_VECTOR,
  SGLCOLL_COMBINER_HVECTOR,
  SGLCOLL_COMBINER_INDEXED,
  SGLCOLL_COMBINER_HINDEXED,
  SGLCOLL_COMBINER_INDEXED_BLOCK,
  SGLCOLL_COMBINER_HINDEXED_BLOCK,
  SGLCOLL_COMBINER_STRUCT,
  SGLCOLL_COMBINER_SUBARRAY,
  SGLCOLL_COMBINER_DARRAY,
  SGLCOLL_COMBINER_RESIZED
} sglcoll_combiner;

/* How the type was made: the lengths of the two lists that get_contents fills. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_get_envelope(
    sglcoll_type type, int64_t* integer_count, int64_t* type_count, sglcoll_combiner* combiner);
/* The constructor's arguments: all whole numbers in the order of the constructor's
   parameters (arrays one after the other), then the types. The caller frees the types
   that are not predefined. The integer form of every argument is the constructor's. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_get_contents(sglcoll_type type,
                                                                          int64_t max_integers,
                                                                          int64_t max_types,
                                                                          int64_t integers[],
                                                                          sglcoll_type types[]);
/* Text of the constructor tree and, once committed, of the normal form. Writes at most
   text_bytes with a final NUL; *needed_bytes (may be NULL) counts the NUL. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_type_describe(sglcoll_type type, char* text,
                                                                      size_t text_bytes,
                                                                      size_t* needed_bytes);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_pack_size(int64_t count, sglcoll_type type,
                                                                  int64_t* bytes);
/* Appends the data of `count` elements at packed + *position and moves *position on.
   The packed form is the bytes in type-map order, nothing else. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_pack(const void* buffer, int64_t count,
                                                             sglcoll_type type, void* packed,
                                                             int64_t packed_bytes,
                                                             int64_t* position);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_unpack(const void* packed,
                                                               int64_t packed_bytes,
                                                               int64_t* position, void* buffer,
                                                               int64_t count, sglcoll_type type);

/* ---- Reduction operations ------------------------------------------------- */

SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_sum;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_prod;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_min;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_max;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_land;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_lor;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_lxor;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_band;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_bor;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_bxor;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_minloc;
SGLCOLL_API extern struct sglcoll_op_s sglcoll_op_maxloc;

#define SGLCOLL_SUM (&sglcoll_op_sum)
#define SGLCOLL_PROD (&sglcoll_op_prod)
#define SGLCOLL_MIN (&sglcoll_op_min)
#define SGLCOLL_MAX (&sglcoll_op_max)
#define SGLCOLL_LAND (&sglcoll_op_land)
#define SGLCOLL_LOR (&sglcoll_op_lor)
#define SGLCOLL_LXOR (&sglcoll_op_lxor)
#define SGLCOLL_BAND (&sglcoll_op_band)
#define SGLCOLL_BOR (&sglcoll_op_bor)
#define SGLCOLL_BXOR (&sglcoll_op_bxor)
#define SGLCOLL_MINLOC (&sglcoll_op_minloc)
#define SGLCOLL_MAXLOC (&sglcoll_op_maxloc)

/* Predefined operations work on predefined types and on derived types of one
   predefined type, element by element over the type map.

   A user's operation: inout[i] = in[i] op inout[i] for `count` elements of `type`,
   which is the type given to the collective; both pointers are laid out as a user
   buffer of that type is. It must be associative. It may call the datatype functions
   only, other calls are refused, and must not throw. `context` is the one given at
   creation. */
typedef void (*sglcoll_op_function)(const void* in, void* inout, int64_t count, sglcoll_type type,
                                    void* context);
/* commutative: 0 keeps rank order, else 1. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_op_create(sglcoll_op_function function,
                                                                  void* context, int commutative,
                                                                  sglcoll_op* op);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_op_free(sglcoll_op* op);

/* ---- Start and end ---------------------------------------------------------- */

typedef enum sglcoll_thread_level SGLCOLL_INT_ENUM {
  SGLCOLL_THREAD_SINGLE = 0,     /* one thread in the process */
  SGLCOLL_THREAD_FUNNELED = 1,   /* only the thread that called init calls */
  SGLCOLL_THREAD_SERIALIZED = 2, /* any thread, one at a time */
  SGLCOLL_THREAD_MULTIPLE = 3    /* any thread, any time */
} sglcoll_thread_level;

/* An embedding program's own way for ranks to meet, in place of PMIx.
   allgather: every rank gives `bytes` bytes at `mine` and gets size * bytes bytes at
   `all`, in rank order; returns 0 on success. It is called only inside sglcoll_init,
   by the calling thread, and need not outlive it. */
typedef struct sglcoll_exchange {
  int rank;
  int size;
  int (*allgather)(void* context, const void* mine, void* all, size_t bytes);
  void* context;
} sglcoll_exchange;

typedef struct sglcoll_options {
  size_t struct_bytes; /* sizeof(sglcoll_options), for growth */
  sglcoll_thread_level thread_level;
  const sglcoll_exchange* exchange; /* NULL: PMIx, or one rank when started alone */
} sglcoll_options;
#define SGLCOLL_OPTIONS_DEFAULT \
  { sizeof(sglcoll_options), SGLCOLL_THREAD_SINGLE, NULL }

/* Collective over all ranks. options may be NULL. A process may hold several worlds,
   each from its own exchange. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_init(const sglcoll_options* options,
                                                             sglcoll_comm* world);
/* Collective. Every operation must be complete; those whose requests were freed while
   active are waited for here. Communicators, requests and memory made from the world end
   with it. When a rank is dead the others do not wait for each other, and the call still
   succeeds. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_finalize(sglcoll_comm* world);

/* ---- Communicators ---------------------------------------------------------- */

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_rank(sglcoll_comm comm, int* rank);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_size(sglcoll_comm comm, int* size);
/* Collective. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_dup(sglcoll_comm comm,
                                                                 sglcoll_comm* new_comm);
/* Collective. As MPI_Comm_split; *new_comm is NULL with color SGLCOLL_UNDEFINED. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_split(sglcoll_comm comm, int color,
                                                                   int key, sglcoll_comm* new_comm);
/* Collective. The ranks that share memory. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_split_node(sglcoll_comm comm, int key,
                                                                        sglcoll_comm* new_comm);
/* A communicator of the calling rank alone; local. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_self(sglcoll_comm comm,
                                                                  sglcoll_comm* self);
/* Collective. Not for the world: see sglcoll_finalize. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_comm_free(sglcoll_comm* comm);

/* ---- Memory ------------------------------------------------------------------ */

/* Memory that peers on the node read and write directly, 64-byte aligned, zeroed; the
   fastest for large messages. Local. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_mem_alloc(sglcoll_comm comm, size_t bytes,
                                                                  void** memory);
/* No operation in flight may use it. NULL is allowed. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_mem_free(sglcoll_comm comm, void* memory);

/* Registers memory for RDMA until sglcoll_mem_deregister, which takes the same address. Not
   needed: memory is registered when it is used, and stays so while SGLCOLL_REGISTRATION_CACHE
   allows. It saves the first use that time, and it fails here, not there, when the system
   allows no more locked memory. Local. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_mem_register(sglcoll_comm comm,
                                                                     void* memory, size_t bytes);
/* Before the memory is freed; no operation in flight may use it. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_mem_deregister(sglcoll_comm comm,
                                                                       void* memory);

/* Sums since init of what this rank did; see docs/performance.md for their meaning. */
typedef struct sglcoll_counters {
  uint64_t operations;     /* collectives started */
  uint64_t plans_built;    /* plan cache misses */
  uint64_t bytes_sent;     /* payload that left for peers */
  uint64_t bytes_received; /* payload that came from peers */
  uint64_t bytes_packed;   /* payload copied by the CPU into or out of a staging slot */
  uint64_t bytes_direct;   /* payload moved straight between user buffers */
  uint64_t messages;       /* control and eager messages sent */
  uint64_t batches;        /* SGL batches posted */
  uint64_t work_requests;  /* work requests (or cross-memory calls) in them */
  uint64_t segments;       /* SGEs in them */
  /* Of RDMA devices: */
  uint64_t device_requests;    /* work requests of every kind, messages and receives too */
  uint64_t device_segments;    /* SGEs in them */
  uint64_t doorbells;          /* calls that posted them */
  uint64_t signalled;          /* of them ask for a completion */
  uint64_t inlined;            /* of them carry their bytes in the request */
  uint64_t receiver_not_ready; /* messages on this port that met no posted receive; 0 is right */
  uint64_t registrations;      /* memory regions registered */
  uint64_t registration_hits;  /* uses that found their memory registered */
  uint64_t pinned_bytes;       /* registered now */
  /* Of the device requests above those that depend on timing, each a doorbell of its own: */
  uint64_t credits_sent;     /* messages that only say that there is room again */
  uint64_t credits_received; /* a receive posted again for each */
  uint64_t probes;           /* writes of no bytes to peers that have been silent */
} sglcoll_counters;
/* Local. Of the communicator's world. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_counters_get(sglcoll_comm comm,
                                                                     sglcoll_counters* counters);

/* ---- Requests ------------------------------------------------------------------

   Nonblocking calls return a request that is complete once wait or test says so,
   which also frees it and sets it to NULL; until then the buffers belong to the
   library. A persistent request from *_init is started any number of times and
   freed by sglcoll_request_free. Any call of the library advances every operation.
   A NULL request is complete, and so is a persistent one that is not active. The status
   of wait is the operation's; when test, testall or waitany return the failure of an
   operation, they have written their output as well. */

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_start(sglcoll_request request);
/* All or, when one of them cannot be started, none. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_startall(int count,
                                                                 sglcoll_request requests[]);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_wait(sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_test(sglcoll_request* request,
                                                             int* complete);
/* The first failure in list order, after all are complete. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_waitall(int count,
                                                                sglcoll_request requests[]);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_testall(int count,
                                                                sglcoll_request requests[],
                                                                int* complete);
/* *index is -1 when every request is NULL or inactive. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_waitany(int count,
                                                                sglcoll_request requests[],
                                                                int* index);
/* An active nonblocking operation goes on to its end on its own; an active persistent
   one is refused. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_request_free(sglcoll_request* request);
/* What the request's plan does and is predicted to cost on this rank, as sglcoll-plan
   prints it: steps, peers, work requests, bytes moved and copied, time by part, and why
   the other algorithms were not chosen. Peers are taken to pass what this rank passes.
   For a call that has not been made, ask a persistent request of the same arguments.
   Writes at most text_bytes with the final 0; *needed_bytes (may be NULL) gets the bytes
   that the whole text needs; text may be NULL when text_bytes is 0. Local; sends nothing. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_explain_request(sglcoll_request request,
                                                                        char* text,
                                                                        size_t text_bytes,
                                                                        size_t* needed_bytes);

/* ---- Collectives -----------------------------------------------------------------

   As in MPI 4.1, chapter 6, in three forms of one implementation: blocking,
   nonblocking (sglcoll_i...) and persistent (sglcoll_..._init; collective, starts
   nothing). Sender's and receiver's types may differ where their signatures match.
   Arrays of the v and w forms are read before the call returns. */

/* recv_buffer: size blocks of recv_count, in rank order. IN_PLACE as send_buffer. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_allgather(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                  void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_iallgather(
    const void* send_buffer, int64_t send_count, sglcoll_type send_type, void* recv_buffer,
    int64_t recv_count, sglcoll_type recv_type, sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_allgather_init(
    const void* send_buffer, int64_t send_count, sglcoll_type send_type, void* recv_buffer,
    int64_t recv_count, sglcoll_type recv_type, sglcoll_comm comm, sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_allgatherv(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                   void* recv_buffer, const int64_t recv_counts[], const int64_t displacements[],
                   sglcoll_type recv_type, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_iallgatherv(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                    void* recv_buffer, const int64_t recv_counts[], const int64_t displacements[],
                    sglcoll_type recv_type, sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_allgatherv_init(
    const void* send_buffer, int64_t send_count, sglcoll_type send_type, void* recv_buffer,
    const int64_t recv_counts[], const int64_t displacements[], sglcoll_type recv_type,
    sglcoll_comm comm, sglcoll_request* request);

/* send_buffer: size blocks of recv_count. IN_PLACE as send_buffer: input in recv_buffer. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_reduce_scatter_block(const void* send_buffer, void* recv_buffer, int64_t recv_count,
                             sglcoll_type type, sglcoll_op op, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_ireduce_scatter_block(
    const void* send_buffer, void* recv_buffer, int64_t recv_count, sglcoll_type type,
    sglcoll_op op, sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_reduce_scatter_block_init(
    const void* send_buffer, void* recv_buffer, int64_t recv_count, sglcoll_type type,
    sglcoll_op op, sglcoll_comm comm, sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_reduce_scatter(const void* send_buffer, void* recv_buffer, const int64_t recv_counts[],
                       sglcoll_type type, sglcoll_op op, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_ireduce_scatter(
    const void* send_buffer, void* recv_buffer, const int64_t recv_counts[], sglcoll_type type,
    sglcoll_op op, sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_reduce_scatter_init(
    const void* send_buffer, void* recv_buffer, const int64_t recv_counts[], sglcoll_type type,
    sglcoll_op op, sglcoll_comm comm, sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_allreduce(const void* send_buffer,
                                                                  void* recv_buffer, int64_t count,
                                                                  sglcoll_type type, sglcoll_op op,
                                                                  sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_iallreduce(const void* send_buffer,
                                                                   void* recv_buffer, int64_t count,
                                                                   sglcoll_type type, sglcoll_op op,
                                                                   sglcoll_comm comm,
                                                                   sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_allreduce_init(const void* send_buffer, void* recv_buffer, int64_t count, sglcoll_type type,
                       sglcoll_op op, sglcoll_comm comm, sglcoll_request* request);

/* recv_buffer matters on root only. IN_PLACE as send_buffer on root. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_reduce(const void* send_buffer,
                                                               void* recv_buffer, int64_t count,
                                                               sglcoll_type type, sglcoll_op op,
                                                               int root, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_ireduce(const void* send_buffer,
                                                                void* recv_buffer, int64_t count,
                                                                sglcoll_type type, sglcoll_op op,
                                                                int root, sglcoll_comm comm,
                                                                sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_reduce_init(const void* send_buffer, void* recv_buffer, int64_t count, sglcoll_type type,
                    sglcoll_op op, int root, sglcoll_comm comm, sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_bcast(void* buffer, int64_t count,
                                                              sglcoll_type type, int root,
                                                              sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_ibcast(void* buffer, int64_t count,
                                                               sglcoll_type type, int root,
                                                               sglcoll_comm comm,
                                                               sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_bcast_init(void* buffer, int64_t count,
                                                                   sglcoll_type type, int root,
                                                                   sglcoll_comm comm,
                                                                   sglcoll_request* request);

/* recv_* matter on root only. IN_PLACE as send_buffer on root. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_gather(
    const void* send_buffer, int64_t send_count, sglcoll_type send_type, void* recv_buffer,
    int64_t recv_count, sglcoll_type recv_type, int root, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_igather(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,
                sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_gather_init(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                    void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,
                    sglcoll_comm comm, sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_gatherv(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                void* recv_buffer, const int64_t recv_counts[], const int64_t displacements[],
                sglcoll_type recv_type, int root, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_igatherv(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                 void* recv_buffer, const int64_t recv_counts[], const int64_t displacements[],
                 sglcoll_type recv_type, int root, sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_gatherv_init(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                     void* recv_buffer, const int64_t recv_counts[], const int64_t displacements[],
                     sglcoll_type recv_type, int root, sglcoll_comm comm, sglcoll_request* request);

/* send_* matter on root only. IN_PLACE as recv_buffer on root. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_scatter(
    const void* send_buffer, int64_t send_count, sglcoll_type send_type, void* recv_buffer,
    int64_t recv_count, sglcoll_type recv_type, int root, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_iscatter(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                 void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,
                 sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_scatter_init(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                     void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,
                     sglcoll_comm comm, sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_scatterv(const void* send_buffer, const int64_t send_counts[],
                 const int64_t displacements[], sglcoll_type send_type, void* recv_buffer,
                 int64_t recv_count, sglcoll_type recv_type, int root, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_iscatterv(
    const void* send_buffer, const int64_t send_counts[], const int64_t displacements[],
    sglcoll_type send_type, void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,
    sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_scatterv_init(
    const void* send_buffer, const int64_t send_counts[], const int64_t displacements[],
    sglcoll_type send_type, void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,
    sglcoll_comm comm, sglcoll_request* request);

/* Both buffers: size blocks in rank order, of send_count and recv_count. IN_PLACE as
   send_buffer on every rank: what goes to a rank is where what comes from it will be. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_alltoall(const void* send_buffer, int64_t send_count, sglcoll_type send_type,
                 void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_ialltoall(
    const void* send_buffer, int64_t send_count, sglcoll_type send_type, void* recv_buffer,
    int64_t recv_count, sglcoll_type recv_type, sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_alltoall_init(
    const void* send_buffer, int64_t send_count, sglcoll_type send_type, void* recv_buffer,
    int64_t recv_count, sglcoll_type recv_type, sglcoll_comm comm, sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_alltoallv(
    const void* send_buffer, const int64_t send_counts[], const int64_t send_displacements[],
    sglcoll_type send_type, void* recv_buffer, const int64_t recv_counts[],
    const int64_t recv_displacements[], sglcoll_type recv_type, sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status
sglcoll_ialltoallv(const void* send_buffer, const int64_t send_counts[],
                   const int64_t send_displacements[], sglcoll_type send_type, void* recv_buffer,
                   const int64_t recv_counts[], const int64_t recv_displacements[],
                   sglcoll_type recv_type, sglcoll_comm comm, sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_alltoallv_init(
    const void* send_buffer, const int64_t send_counts[], const int64_t send_displacements[],
    sglcoll_type send_type, void* recv_buffer, const int64_t recv_counts[],
    const int64_t recv_displacements[], sglcoll_type recv_type, sglcoll_comm comm,
    sglcoll_request* request);

/* A type for each rank, which is not looked at where the count is 0. */
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_alltoallw(
    const void* send_buffer, const int64_t send_counts[], const int64_t send_displacements_bytes[],
    const sglcoll_type send_types[], void* recv_buffer, const int64_t recv_counts[],
    const int64_t recv_displacements_bytes[], const sglcoll_type recv_types[], sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_ialltoallw(
    const void* send_buffer, const int64_t send_counts[], const int64_t send_displacements_bytes[],
    const sglcoll_type send_types[], void* recv_buffer, const int64_t recv_counts[],
    const int64_t recv_displacements_bytes[], const sglcoll_type recv_types[], sglcoll_comm comm,
    sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_alltoallw_init(
    const void* send_buffer, const int64_t send_counts[], const int64_t send_displacements_bytes[],
    const sglcoll_type send_types[], void* recv_buffer, const int64_t recv_counts[],
    const int64_t recv_displacements_bytes[], const sglcoll_type recv_types[], sglcoll_comm comm,
    sglcoll_request* request);

SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_barrier(sglcoll_comm comm);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_ibarrier(sglcoll_comm comm,
                                                                 sglcoll_request* request);
SGLCOLL_API SGLCOLL_CHECK_RESULT sglcoll_status sglcoll_barrier_init(sglcoll_comm comm,
                                                                     sglcoll_request* request);

#ifdef __cplusplus
}
#endif

#endif /* SGLCOLL_H */
