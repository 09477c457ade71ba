// The collectives of the C interface: each argument list once, in three forms.
#include "api/requests.hpp"
#include "comm/arguments.hpp"

#include <algorithm>
#include <array>

namespace sgl {
namespace {

Result<BufferArgument> buffer_argument(const char* name, const char* count_name,
                                       const char* type_name, const void* address, int64_t count,
                                       sglcoll_type type) {
  BufferArgument argument{
      name, count_name, const_cast<void*>(address), address == SGLCOLL_IN_PLACE, count, nullptr};
  if (argument.in_place) return argument;
  SGL_ASSIGN(found, use_committed_type(type_name, type));
  argument.type = std::move(found);
  return argument;
}

// Without the types.
BlocksArgument bare_blocks(const char* name, const char* counts_name,
                           const char* displacements_name, const void* address,
                           const int64_t* counts, const int64_t* displacements) {
  return {name,
          counts_name,
          const_cast<void*>(address),
          address == SGLCOLL_IN_PLACE,
          counts,
          displacements,
          nullptr,
          displacements_name,
          {}};
}

Result<BlocksArgument> blocks_argument(const char* name, const char* counts_name,
                                       const char* displacements_name, const char* type_name,
                                       const void* address, const int64_t* counts,
                                       const int64_t* displacements, sglcoll_type type) {
  BlocksArgument argument =
      bare_blocks(name, counts_name, displacements_name, address, counts, displacements);
  if (argument.in_place) return argument;
  SGL_ASSIGN(found, use_committed_type(type_name, type));
  argument.type = std::move(found);
  return argument;
}

// Of alltoallw: a type for each rank, which is not looked at where its count is 0.
Result<BlocksArgument> typed_blocks(const CallSite& site, const char* name, const char* counts_name,
                                    const char* displacements_name, const char* types_name,
                                    const void* address, const int64_t* counts,
                                    const int64_t* displacements, const sglcoll_type* types) {
  BlocksArgument argument =
      bare_blocks(name, counts_name, displacements_name, address, counts, displacements);
  if (argument.in_place || !counts) return argument;
  if (!types)
    return error(SGLCOLL_ERR_ARG, "{} is NULL: it has one type a rank, of {}", types_name, name);
  argument.types.resize(static_cast<size_t>(site.size));
  TypePtr last;  // of equal handles one after the other one is looked up
  for (int i = 0; i < site.size; ++i) {
    if (counts[i] == 0) continue;
    if (!last || types[i] != types[i - 1]) {
      Result<TypePtr> found = use_committed_type(types_name, types[i]);
      if (!found.ok())  // only a refusal needs the name of the element
        found = use_committed_type(fmt::format("{}[{}]", types_name, i).c_str(), types[i]);
      if (!found.ok()) return std::move(found.status());
      last = found.take();
    }
    argument.types[static_cast<size_t>(i)] = last;
  }
  return argument;
}

Result<OpArgument> op_argument(sglcoll_op op, sglcoll_type type) {
  SGL_ASSIGN(found, use_op(op));
  return OpArgument{found, type};
}

// An argument that only the root gives: elsewhere it is not looked at.
template <class Argument, class Make>
Result<Argument> at_root_only(const CallSite& site, int root, const char* name, Make make) {
  if (site.rank == root) return make();
  Argument nothing{};
  nothing.name = name;
  return nothing;
}

// What a call is remembered by. Made where it stays and member by member: a copy by vectors waits
// for the single stores before it, and zeroing it as a whole takes as long as a short call.
struct Remembered {
  CallKey key;
  CallBuffers buffers;
  CallArrays arrays;
  bool arrays_at_root = false;  // elsewhere they are not looked at

  Remembered(Collective collective, const void* send, int64_t send_count, sglcoll_type send_type,
             const void* recv, int64_t recv_count, sglcoll_type recv_type, sglcoll_op op = nullptr,
             int root = 0)
      : key{collective,
            send == SGLCOLL_IN_PLACE,
            recv == SGLCOLL_IN_PLACE,
            root,
            send_count,
            recv_count,
            send_type,
            recv_type,
            op,
            handle_generation()},
        buffers{const_cast<void*>(send), const_cast<void*>(recv)} {}
};

// What an argument list has of arrays.
struct GivenArrays {
  const void* counts = nullptr;
  const void* displacements = nullptr;
  const void* types = nullptr;
};

// With arrays that all ranks give; those of a side that is in place are not looked at.
Remembered&& with_arrays(Remembered&& call, const GivenArrays& send, const GivenArrays& recv) {
  auto& arrays = call.arrays.arrays;
  if (!call.key.send_in_place) {
    arrays[0] = send.counts;
    arrays[1] = send.displacements;
    arrays[2] = send.types;
  }
  arrays[3] = recv.counts;
  arrays[4] = recv.displacements;
  arrays[5] = recv.types;
  return std::move(call);
}

Remembered&& with_root_arrays(Remembered&& call, const int64_t* counts,
                              const int64_t* displacements) {
  call.arrays.arrays[0] = counts;
  call.arrays.arrays[1] = displacements;
  call.arrays_at_root = true;
  return std::move(call);
}

// Checks the communicator, makes the call and runs it.
template <class Make>
Code run(sglcoll_comm comm, Form form, sglcoll_request* request, sglcoll_type user_type,
         Remembered&& call, Make make) {
  return guarded([&]() -> Status {
    SGL_TRY(check_comm(comm));
    const CommunicatorPtr& communicator = comm->communicator;
    if (form != Form::blocking) SGL_TRY(check_output("request", request));
    auto held = communicator->world()->lock();
    if (call.arrays_at_root && communicator->rank() != call.key.root)
      call.arrays.arrays[0] = call.arrays.arrays[1] = nullptr;
    call.arrays.ranks = static_cast<size_t>(communicator->size());
    std::unique_ptr<Operation> operation =
        communicator->recall(call.key, call.arrays, call.buffers);
    if (!operation) {
      SGL_ASSIGN(made, make(CallSite{communicator->rank(), communicator->size(),
                                     communicator->world()->settings().check}));
      SGL_ASSIGN(prepared, communicator->prepare(std::move(made), held));
      operation = std::move(prepared);
      communicator->remember(call.key, call.arrays, call.buffers, *operation);
    }
    return run_collective(communicator, std::move(operation), user_type, form, request, held);
  });
}

}  // namespace
}  // namespace sgl

using namespace sgl;  // NOLINT(google-build-using-namespace): this file is the C face of the
                      // namespace

#define SGL_LIST(...) __VA_ARGS__
// The three functions of a collective. `parameters` ends with a comma inside its
// parentheses; `call` is what it is remembered by; the body makes the CollectiveCall
// at `site`.
#define SGL_COLLECTIVE(name, parameters, user_type, call, ...)                       \
  sglcoll_status sglcoll_##name(SGL_LIST parameters sglcoll_comm comm) {             \
    return run(comm, Form::blocking, nullptr, user_type, call,                       \
               [&](const CallSite& site) -> Result<CollectiveCall> { __VA_ARGS__ }); \
  }                                                                                  \
  sglcoll_status sglcoll_i##name(SGL_LIST parameters sglcoll_comm comm,              \
                                 sglcoll_request* request) {                         \
    return run(comm, Form::nonblocking, request, user_type, call,                    \
               [&](const CallSite& site) -> Result<CollectiveCall> { __VA_ARGS__ }); \
  }                                                                                  \
  sglcoll_status sglcoll_##name##_init(SGL_LIST parameters sglcoll_comm comm,        \
                                       sglcoll_request* request) {                   \
    return run(comm, Form::persistent, request, user_type, call,                     \
               [&](const CallSite& site) -> Result<CollectiveCall> { __VA_ARGS__ }); \
  }

extern "C" {

// clang-format off
SGL_COLLECTIVE(allgather,
  (const void* send_buffer, int64_t send_count, sglcoll_type send_type,
   void* recv_buffer, int64_t recv_count, sglcoll_type recv_type,), nullptr,
  Remembered(Collective::allgather, send_buffer, send_count, send_type, recv_buffer, recv_count, recv_type), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "send_count", "send_type", send_buffer, send_count, send_type));
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "recv_count", "recv_type", recv_buffer, recv_count, recv_type));
  return allgather_call(site, send, recv);
})

SGL_COLLECTIVE(allgatherv,
  (const void* send_buffer, int64_t send_count, sglcoll_type send_type,
   void* recv_buffer, const int64_t recv_counts[], const int64_t displacements[], sglcoll_type recv_type,), nullptr,
  with_arrays(Remembered(Collective::allgatherv, send_buffer, send_count, send_type, recv_buffer, 0, recv_type), {}, {recv_counts, displacements}), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "send_count", "send_type", send_buffer, send_count, send_type));
  SGL_ASSIGN(recv, blocks_argument("recv_buffer", "recv_counts", "displacements", "recv_type", recv_buffer, recv_counts, displacements, recv_type));
  return allgatherv_call(site, send, recv);
})

SGL_COLLECTIVE(reduce_scatter_block,
  (const void* send_buffer, void* recv_buffer, int64_t recv_count, sglcoll_type type, sglcoll_op op,), type,
  Remembered(Collective::reduce_scatter_block, send_buffer, recv_count, type, recv_buffer, recv_count, type, op), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "recv_count", "type", send_buffer, recv_count, type));
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "recv_count", "type", recv_buffer, recv_count, type));
  SGL_ASSIGN(operation, op_argument(op, type));
  return reduce_scatter_block_call(site, send, recv, operation);
})

SGL_COLLECTIVE(reduce_scatter,
  (const void* send_buffer, void* recv_buffer, const int64_t recv_counts[], sglcoll_type type, sglcoll_op op,), type,
  with_arrays(Remembered(Collective::reduce_scatter, send_buffer, 0, type, recv_buffer, 0, type, op), {}, {recv_counts}), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "recv_counts", "type", send_buffer, 0, type));
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "recv_counts", "type", recv_buffer, 0, type));
  SGL_ASSIGN(operation, op_argument(op, type));
  return reduce_scatter_call(site, send, recv, recv_counts, operation);
})

SGL_COLLECTIVE(allreduce,
  (const void* send_buffer, void* recv_buffer, int64_t count, sglcoll_type type, sglcoll_op op,), type,
  Remembered(Collective::allreduce, send_buffer, count, type, recv_buffer, count, type, op), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "count", "type", send_buffer, count, type));
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "count", "type", recv_buffer, count, type));
  SGL_ASSIGN(operation, op_argument(op, type));
  return allreduce_call(site, send, recv, operation);
})

SGL_COLLECTIVE(reduce,
  (const void* send_buffer, void* recv_buffer, int64_t count, sglcoll_type type, sglcoll_op op, int root,), type,
  Remembered(Collective::reduce, send_buffer, count, type, recv_buffer, count, type, op, root), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "count", "type", send_buffer, count, type));
  SGL_ASSIGN(operation, op_argument(op, type));
  // The type counts on every rank, the receive buffer on the root.
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "count", "type", site.rank == root ? recv_buffer : nullptr, count, type));
  return reduce_call(site, send, recv, operation, root);
})

SGL_COLLECTIVE(bcast, (void* buffer, int64_t count, sglcoll_type type, int root,), nullptr,
  Remembered(Collective::bcast, nullptr, 0, nullptr, buffer, count, type, nullptr, root), {
  SGL_ASSIGN(data, buffer_argument("buffer", "count", "type", buffer, count, type));
  return bcast_call(site, data, root);
})

SGL_COLLECTIVE(gather,
  (const void* send_buffer, int64_t send_count, sglcoll_type send_type,
   void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,), nullptr,
  Remembered(Collective::gather, send_buffer, send_count, send_type, recv_buffer, recv_count, recv_type, nullptr, root), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "send_count", "send_type", send_buffer, send_count, send_type));
  SGL_ASSIGN(recv, at_root_only<BufferArgument>(site, root, "recv_buffer", [&] {
    return buffer_argument("recv_buffer", "recv_count", "recv_type", recv_buffer, recv_count, recv_type);
  }));
  return gather_call(site, send, recv, root);
})

SGL_COLLECTIVE(gatherv,
  (const void* send_buffer, int64_t send_count, sglcoll_type send_type,
   void* recv_buffer, const int64_t recv_counts[], const int64_t displacements[], sglcoll_type recv_type, int root,),
  nullptr,
  with_root_arrays(Remembered(Collective::gatherv, send_buffer, send_count, send_type, recv_buffer, 0, recv_type, nullptr, root), recv_counts, displacements), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "send_count", "send_type", send_buffer, send_count, send_type));
  SGL_ASSIGN(recv, at_root_only<BlocksArgument>(site, root, "recv_buffer", [&] {
    return blocks_argument("recv_buffer", "recv_counts", "displacements", "recv_type", recv_buffer, recv_counts, displacements, recv_type);
  }));
  return gatherv_call(site, send, recv, root);
})

SGL_COLLECTIVE(scatter,
  (const void* send_buffer, int64_t send_count, sglcoll_type send_type,
   void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,), nullptr,
  Remembered(Collective::scatter, send_buffer, send_count, send_type, recv_buffer, recv_count, recv_type, nullptr, root), {
  SGL_ASSIGN(send, at_root_only<BufferArgument>(site, root, "send_buffer", [&] {
    return buffer_argument("send_buffer", "send_count", "send_type", send_buffer, send_count, send_type);
  }));
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "recv_count", "recv_type", recv_buffer, recv_count, recv_type));
  return scatter_call(site, send, recv, root);
})

SGL_COLLECTIVE(scatterv,
  (const void* send_buffer, const int64_t send_counts[], const int64_t displacements[], sglcoll_type send_type,
   void* recv_buffer, int64_t recv_count, sglcoll_type recv_type, int root,), nullptr,
  with_root_arrays(Remembered(Collective::scatterv, send_buffer, 0, send_type, recv_buffer, recv_count, recv_type, nullptr, root), send_counts, displacements), {
  SGL_ASSIGN(send, at_root_only<BlocksArgument>(site, root, "send_buffer", [&] {
    return blocks_argument("send_buffer", "send_counts", "displacements", "send_type", send_buffer, send_counts, displacements, send_type);
  }));
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "recv_count", "recv_type", recv_buffer, recv_count, recv_type));
  return scatterv_call(site, send, recv, root);
})

SGL_COLLECTIVE(alltoall,
  (const void* send_buffer, int64_t send_count, sglcoll_type send_type,
   void* recv_buffer, int64_t recv_count, sglcoll_type recv_type,), nullptr,
  Remembered(Collective::alltoall, send_buffer, send_count, send_type, recv_buffer, recv_count, recv_type), {
  SGL_ASSIGN(send, buffer_argument("send_buffer", "send_count", "send_type", send_buffer, send_count, send_type));
  SGL_ASSIGN(recv, buffer_argument("recv_buffer", "recv_count", "recv_type", recv_buffer, recv_count, recv_type));
  return alltoall_call(site, send, recv);
})

SGL_COLLECTIVE(alltoallv,
  (const void* send_buffer, const int64_t send_counts[], const int64_t send_displacements[], sglcoll_type send_type,
   void* recv_buffer, const int64_t recv_counts[], const int64_t recv_displacements[], sglcoll_type recv_type,), nullptr,
  with_arrays(Remembered(Collective::alltoallv, send_buffer, 0, send_type, recv_buffer, 0, recv_type), {send_counts, send_displacements}, {recv_counts, recv_displacements}), {
  SGL_ASSIGN(send, blocks_argument("send_buffer", "send_counts", "send_displacements", "send_type", send_buffer, send_counts, send_displacements, send_type));
  SGL_ASSIGN(recv, blocks_argument("recv_buffer", "recv_counts", "recv_displacements", "recv_type", recv_buffer, recv_counts, recv_displacements, recv_type));
  return alltoallv_call(site, Collective::alltoallv, send, recv);
})

SGL_COLLECTIVE(alltoallw,
  (const void* send_buffer, const int64_t send_counts[], const int64_t send_displacements_bytes[], const sglcoll_type send_types[],
   void* recv_buffer, const int64_t recv_counts[], const int64_t recv_displacements_bytes[], const sglcoll_type recv_types[],),
  nullptr, with_arrays(Remembered(Collective::alltoallw, send_buffer, 0, nullptr, recv_buffer, 0, nullptr), {send_counts, send_displacements_bytes, send_types}, {recv_counts, recv_displacements_bytes, recv_types}), {
  SGL_ASSIGN(send, typed_blocks(site, "send_buffer", "send_counts", "send_displacements_bytes", "send_types", send_buffer, send_counts, send_displacements_bytes, send_types));
  SGL_ASSIGN(recv, typed_blocks(site, "recv_buffer", "recv_counts", "recv_displacements_bytes", "recv_types", recv_buffer, recv_counts, recv_displacements_bytes, recv_types));
  return alltoallv_call(site, Collective::alltoallw, send, recv);
})

SGL_COLLECTIVE(barrier, (), nullptr,
  Remembered(Collective::barrier, nullptr, 0, nullptr, nullptr, 0, nullptr), { return barrier_call(site); })
// clang-format on

}  // extern "C"
