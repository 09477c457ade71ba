// Every collective once, with its computed right result.
#pragma once

#include "api/typed_buffer.hpp"

namespace sgl::test {

// In which form this thread's checks call from now on; blocking at first.
enum class Form { blocking, nonblocking, persistent };
void use_form(Form form);

// One collective's check on the calling rank, with `count` elements of the type a
// block. Each returns the status of the call (a forced algorithm may not fit) and
// checks the result when it is SGLCOLL_OK.
using CollectiveCheck = sglcoll_status (*)(sglcoll_comm comm, const TypeCase& type, int64_t count);

sglcoll_status check_allgather(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_allgatherv(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_reduce_scatter_block(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_reduce_scatter(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_allreduce(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_reduce(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_bcast(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_gather(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_gatherv(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_scatter(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_scatterv(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_alltoall(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_alltoallv(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_alltoallw(sglcoll_comm comm, const TypeCase& type, int64_t count);
sglcoll_status check_barrier(sglcoll_comm comm, const TypeCase& type, int64_t count);

// `operations` allgathers of strided elements at once, each with its own buffers.
void check_many_allgathers(sglcoll_comm comm, int operations, int64_t count);

struct NamedCheck {
  const char* collective;
  CollectiveCheck check;
};
inline constexpr NamedCheck kChecks[] = {
    {"allgather", check_allgather},
    {"allgatherv", check_allgatherv},
    {"reduce_scatter_block", check_reduce_scatter_block},
    {"reduce_scatter", check_reduce_scatter},
    {"allreduce", check_allreduce},
    {"reduce", check_reduce},
    {"bcast", check_bcast},
    {"gather", check_gather},
    {"gatherv", check_gatherv},
    {"scatter", check_scatter},
    {"scatterv", check_scatterv},
    {"alltoall", check_alltoall},
    {"alltoallv", check_alltoallv},
    {"alltoallw", check_alltoallw},
    {"barrier", check_barrier},
};

}  // namespace sgl::test
