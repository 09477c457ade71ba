// CollectiveCall: a collective's arguments, checked and turned into what the
// executor needs. One function a collective, named as the C function.
//
// The functions check what one rank can see: null buffers, counts, types,
// operations, matching signatures, overlap. Nothing has been sent when they fail.
#pragma once

#include "base/status.hpp"
#include "datatype/type.hpp"
#include "executor/operation.hpp"
#include "schedule/problem.hpp"

#include <cstdint>
#include <vector>

namespace sgl {

struct CollectiveCall {
  Problem problem;
  Binding send, recv;
  Reduction reduction;
  Signature signature;  // of what all ranks must agree on, for SGLCOLL_CHECK
  // alltoallv and alltoallw, for SGLCOLL_CHECK: of the blocks to and from each rank.
  std::vector<Signature> sent, taken;
};

// Where the call is made.
struct CallSite {
  int rank = 0;
  int size = 1;
  bool check = false;  // SGLCOLL_CHECK is on
};

// A buffer argument. `in_place`: SGLCOLL_IN_PLACE was given for it.
struct BufferArgument {
  const char* name;  // of the parameters, for messages
  const char* count_name;
  void* address = nullptr;
  bool in_place = false;
  int64_t count = 0;
  TypePtr type;
};

// A buffer of the v forms: block i is counts[i] elements at displacements[i] extents; with
// `types`, counts[i] elements of types[i] at displacements[i] bytes.
struct BlocksArgument {
  const char* name;
  const char* counts_name;
  void* address = nullptr;
  bool in_place = false;
  const int64_t* counts = nullptr;
  const int64_t* displacements = nullptr;
  TypePtr type;
  const char* displacements_name = "displacements";
  std::vector<TypePtr> types;  // null where the count is 0

  const TypePtr& type_of(int block) const {
    return types.empty() ? type : types[static_cast<size_t>(block)];
  }
  int64_t unit_of(int block) const { return types.empty() ? type_of(block)->extent : 1; }
};

// The operation of a reduction with the handles that a user's function is given.
struct OpArgument {
  Op op;
  sglcoll_type type_handle = nullptr;
};

Result<CollectiveCall> allgather_call(const CallSite& site, const BufferArgument& send,
                                      const BufferArgument& recv);
Result<CollectiveCall> allgatherv_call(const CallSite& site, const BufferArgument& send,
                                       const BlocksArgument& recv);
Result<CollectiveCall> reduce_scatter_block_call(const CallSite& site, const BufferArgument& send,
                                                 const BufferArgument& recv, const OpArgument& op);
// recv.count is ignored: counts (of size ranks) says all.
Result<CollectiveCall> reduce_scatter_call(const CallSite& site, const BufferArgument& send,
                                           const BufferArgument& recv, const int64_t* counts,
                                           const OpArgument& op);
Result<CollectiveCall> allreduce_call(const CallSite& site, const BufferArgument& send,
                                      const BufferArgument& recv, const OpArgument& op);
Result<CollectiveCall> reduce_call(const CallSite& site, const BufferArgument& send,
                                   const BufferArgument& recv, const OpArgument& op, int root);
Result<CollectiveCall> bcast_call(const CallSite& site, const BufferArgument& buffer, int root);
Result<CollectiveCall> gather_call(const CallSite& site, const BufferArgument& send,
                                   const BufferArgument& recv, int root);
Result<CollectiveCall> gatherv_call(const CallSite& site, const BufferArgument& send,
                                    const BlocksArgument& recv, int root);
Result<CollectiveCall> scatter_call(const CallSite& site, const BufferArgument& send,
                                    const BufferArgument& recv, int root);
Result<CollectiveCall> scatterv_call(const CallSite& site, const BlocksArgument& send,
                                     const BufferArgument& recv, int root);
Result<CollectiveCall> alltoall_call(const CallSite& site, const BufferArgument& send,
                                     const BufferArgument& recv);
// Both forms with counts for each rank: which one is collective.
Result<CollectiveCall> alltoallv_call(const CallSite& site, Collective collective,
                                      const BlocksArgument& send, const BlocksArgument& recv);
Result<CollectiveCall> barrier_call(const CallSite& site);

}  // namespace sgl
