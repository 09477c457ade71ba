// Start and end, communicators, memory, counters and operations of the C interface.
#include "api/requests.hpp"

namespace sgl {
namespace {

sglcoll_comm make_handle(CommunicatorPtr communicator, bool is_world) {
  return comm_pool().make(kLiveComm, {0, std::move(communicator), is_world});
}

Status check_options(const sglcoll_options& options) {
  if (options.struct_bytes != sizeof(sglcoll_options))
    return error(SGLCOLL_ERR_ARG,
                 "options->struct_bytes is {}: it must be sizeof(sglcoll_options), {}",
                 options.struct_bytes, sizeof(sglcoll_options));
  if (options.thread_level < SGLCOLL_THREAD_SINGLE ||
      options.thread_level > SGLCOLL_THREAD_MULTIPLE)
    return error(
        SGLCOLL_ERR_ARG,
        "options->thread_level is {}: it must be one of SGLCOLL_THREAD_SINGLE to _MULTIPLE",
        static_cast<int>(options.thread_level));
  const sglcoll_exchange* exchange = options.exchange;
  if (!exchange) return {};
  if (exchange->size < 1)
    return error(SGLCOLL_ERR_ARG, "exchange->size is {}: it must be 1 or more", exchange->size);
  if (exchange->rank < 0 || exchange->rank >= exchange->size)
    return error(SGLCOLL_ERR_ARG, "exchange->rank is {}: it must be 0 to {}", exchange->rank,
                 exchange->size - 1);
  if (!exchange->allgather)
    return error(SGLCOLL_ERR_ARG, "exchange->allgather is NULL: it must be a function");
  return {};
}

}  // namespace
}  // namespace sgl

using namespace sgl;  // NOLINT(google-build-using-namespace): this file is the C face of the
                      // namespace

#define SGL_PREDEFINED_OP(name, kind_name) \
  sglcoll_op_s sglcoll_op_##name{kLiveOp, Op{OpKind::kind_name, true, nullptr, nullptr}, true};

extern "C" {

char sglcoll_in_place_marker = 0;

SGL_PREDEFINED_OP(sum, sum)
SGL_PREDEFINED_OP(prod, prod)
SGL_PREDEFINED_OP(min, min)
SGL_PREDEFINED_OP(max, max)
SGL_PREDEFINED_OP(land, land)
SGL_PREDEFINED_OP(lor, lor)
SGL_PREDEFINED_OP(lxor, lxor)
SGL_PREDEFINED_OP(band, band)
SGL_PREDEFINED_OP(bor, bor)
SGL_PREDEFINED_OP(bxor, bxor)
SGL_PREDEFINED_OP(minloc, minloc)
SGL_PREDEFINED_OP(maxloc, maxloc)

sglcoll_status sglcoll_op_create(sglcoll_op_function function, void* context, int commutative,
                                 sglcoll_op* op) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("op", op));
    if (!function)
      return error(SGLCOLL_ERR_ARG, "function is NULL: it must be a sglcoll_op_function");
    *op = op_pool().make(kLiveOp, {0, {OpKind::user, commutative != 0, function, context}, false});
    return {};
  });
}

sglcoll_status sglcoll_op_free(sglcoll_op* op) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("op", op));
    if (Result<Op> found = use_op(*op); !found.ok()) return std::move(found.status());
    if ((*op)->predefined)
      return error(SGLCOLL_ERR_OP, "*op is predefined: only user operations can be freed");
    op_pool().drop(*op);
    *op = nullptr;
    return {};
  });
}

sglcoll_status sglcoll_init(const sglcoll_options* options, sglcoll_comm* world) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("world", world));
    sglcoll_options chosen = SGLCOLL_OPTIONS_DEFAULT;
    if (options) {
      SGL_TRY(check_options(*options));
      chosen = *options;
    }
    SGL_ASSIGN(made, World::create(chosen.thread_level, chosen.exchange));
    std::shared_ptr<World> shared = std::move(made);
    std::vector<int> ranks(static_cast<size_t>(shared->size()));
    for (int i = 0; i < shared->size(); ++i) ranks[static_cast<size_t>(i)] = i;
    int rank = shared->rank();
    *world = make_handle(
        std::make_shared<Communicator>(std::move(shared), 0, rank, std::move(ranks)), true);
    return {};
  });
}

sglcoll_status sglcoll_finalize(sglcoll_comm* world) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("world", world));
    SGL_ASSIGN(communicator, use_comm(*world));
    if (!(*world)->is_world)
      return error(SGLCOLL_ERR_COMM, "*world is not the communicator that sglcoll_init made");
    std::shared_ptr<World> shared = communicator->world();
    {
      auto held = shared->lock();
      finish_freed_requests(*shared, held);
      if (int active = shared->engine().active_operations())
        return error(SGLCOLL_ERR_REQUEST,
                     "{} operations are not complete: wait for them before sglcoll_finalize",
                     active);
      communicator->meet(held);
    }
    communicator.reset();
    auto belongs = [&](const auto& handle) { return handle.communicator->world() == shared; };
    end_requests_of(*shared);
    comm_pool().drop_if(belongs);
    *world = nullptr;
    return shared->finalize();
  });
}

sglcoll_status sglcoll_comm_rank(sglcoll_comm comm, int* rank) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("rank", rank));
    SGL_ASSIGN(communicator, use_comm(comm));
    *rank = communicator->rank();
    return {};
  });
}

sglcoll_status sglcoll_comm_size(sglcoll_comm comm, int* size) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("size", size));
    SGL_ASSIGN(communicator, use_comm(comm));
    *size = communicator->size();
    return {};
  });
}

sglcoll_status sglcoll_comm_split(sglcoll_comm comm, int color, int key, sglcoll_comm* new_comm) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("new_comm", new_comm));
    SGL_ASSIGN(communicator, use_comm(comm));
    if (color < 0 && color != SGLCOLL_UNDEFINED)
      return error(SGLCOLL_ERR_ARG, "color is {}: it must be 0 or more, or SGLCOLL_UNDEFINED",
                   color);
    auto held = communicator->world()->lock();
    SGL_ASSIGN(made, communicator->split(color, key, held));
    *new_comm = made ? make_handle(std::move(made), false) : nullptr;
    return {};
  });
}

sglcoll_status sglcoll_comm_dup(sglcoll_comm comm, sglcoll_comm* new_comm) {
  return sglcoll_comm_split(comm, 0, 0, new_comm);
}

sglcoll_status sglcoll_comm_split_node(sglcoll_comm comm, int key, sglcoll_comm* new_comm) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("new_comm", new_comm));
    SGL_ASSIGN(communicator, use_comm(comm));
    auto held = communicator->world()->lock();
    // The lowest world rank of the node names it.
    SGL_ASSIGN(made, communicator->split(communicator->world()->node_ranks().front(), key, held));
    *new_comm = make_handle(std::move(made), false);
    return {};
  });
}

sglcoll_status sglcoll_comm_self(sglcoll_comm comm, sglcoll_comm* self) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("self", self));
    SGL_ASSIGN(communicator, use_comm(comm));
    auto held = communicator->world()->lock();
    SGL_ASSIGN(made, communicator->self());
    *self = make_handle(std::move(made), false);
    return {};
  });
}

sglcoll_status sglcoll_comm_free(sglcoll_comm* comm) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("comm", comm));
    SGL_ASSIGN(communicator, use_comm(*comm));
    if ((*comm)->is_world)
      return error(SGLCOLL_ERR_COMM, "*comm is the world: it ends with sglcoll_finalize");
    auto held = communicator->world()->lock();
    comm_pool().drop(*comm);
    *comm = nullptr;
    return {};
  });
}

sglcoll_status sglcoll_mem_alloc(sglcoll_comm comm, size_t bytes, void** memory) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("memory", memory));
    SGL_ASSIGN(communicator, use_comm(comm));
    auto held = communicator->world()->lock();
    SGL_ASSIGN(allocated, communicator->world()->allocate(bytes));
    *memory = allocated;
    return {};
  });
}

sglcoll_status sglcoll_mem_free(sglcoll_comm comm, void* memory) {
  return guarded([&]() -> Status {
    SGL_ASSIGN(communicator, use_comm(comm));
    if (!memory) return {};
    auto held = communicator->world()->lock();
    return communicator->world()->deallocate(memory);
  });
}

sglcoll_status sglcoll_mem_register(sglcoll_comm comm, void* memory, size_t bytes) {
  return guarded([&]() -> Status {
    SGL_ASSIGN(communicator, use_comm(comm));
    auto held = communicator->world()->lock();
    return communicator->world()->register_memory(memory, bytes);
  });
}

sglcoll_status sglcoll_mem_deregister(sglcoll_comm comm, void* memory) {
  return guarded([&]() -> Status {
    SGL_ASSIGN(communicator, use_comm(comm));
    auto held = communicator->world()->lock();
    return communicator->world()->deregister_memory(memory);
  });
}

sglcoll_status sglcoll_counters_get(sglcoll_comm comm, sglcoll_counters* counters) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("counters", counters));
    SGL_ASSIGN(communicator, use_comm(comm));
    auto held = communicator->world()->lock();
    *counters = communicator->world()->counters();
    return {};
  });
}

}  // extern "C"
