#include "explain/calls.hpp"

#include "api/world.hpp"

namespace sgl::test {

sglcoll_type committed_type(const tools::Shape& shape) {
  using Kind = tools::Shape::Kind;
  sglcoll_type made = nullptr, resized = nullptr;
  switch (shape.kind) {
    case Kind::contiguous:
      EXPECT_OK(sglcoll_type_contiguous(shape.block, SGLCOLL_INT32, &made));
      break;
    case Kind::vector:
      EXPECT_OK(sglcoll_type_vector(shape.count, shape.block, shape.stride, SGLCOLL_INT32, &made));
      break;
    case Kind::indexed:
      EXPECT_OK(sglcoll_type_indexed(static_cast<int64_t>(shape.lengths.size()),
                                     shape.lengths.data(), shape.displacements.data(),
                                     SGLCOLL_INT32, &made));
      break;
    case Kind::subarray:
      EXPECT_OK(sglcoll_type_subarray(static_cast<int>(shape.sizes.size()), shape.sizes.data(),
                                      shape.subsizes.data(), shape.starts.data(), SGLCOLL_ORDER_C,
                                      SGLCOLL_INT32, &made));
      break;
  }
  EXPECT_OK(sglcoll_type_resized(made, 0, shape.extent * 4, &resized));
  EXPECT_OK(sglcoll_type_commit(&resized));
  EXPECT_OK(sglcoll_type_free(&made));
  return resized;
}

static std::vector<int64_t> in_bytes(std::vector<int64_t> elements, sglcoll_type type) {
  int64_t lower_bound = 0, extent = 0;
  EXPECT_OK(sglcoll_type_get_extent(type, &lower_bound, &extent));
  for (int64_t& place : elements) place *= extent;
  return elements;
}

CallBuffers::CallBuffers(const tools::Shape& send_shape, const tools::Shape& recv_shape, int size)
    : send(static_cast<size_t>(send_shape.extent * size), 1),
      recv(static_cast<size_t>(recv_shape.extent * size), 0) {}

sglcoll_status call(const std::string& name, CallBuffers& buffers, sglcoll_type send_type,
                    sglcoll_type recv_type, int root, sglcoll_comm comm) {
  const auto size = static_cast<size_t>(size_of(comm));
  std::vector<int64_t> counts(size, 1), starts(size);
  for (size_t i = 0; i < size; ++i) starts[i] = static_cast<int64_t>(i);
  void *send = buffers.send.data(), *recv = buffers.recv.data();
  const sglcoll_op op = SGLCOLL_SUM;
  if (name == "allgather") return sglcoll_allgather(send, 1, send_type, recv, 1, recv_type, comm);
  if (name == "allgatherv")
    return sglcoll_allgatherv(send, 1, send_type, recv, counts.data(), starts.data(), recv_type,
                              comm);
  if (name == "reduce_scatter_block")
    return sglcoll_reduce_scatter_block(send, recv, 1, send_type, op, comm);
  if (name == "reduce_scatter")
    return sglcoll_reduce_scatter(send, recv, counts.data(), send_type, op, comm);
  if (name == "allreduce") return sglcoll_allreduce(send, recv, 1, send_type, op, comm);
  if (name == "reduce") return sglcoll_reduce(send, recv, 1, send_type, op, root, comm);
  if (name == "bcast") return sglcoll_bcast(recv, 1, recv_type, root, comm);
  if (name == "gather") return sglcoll_gather(send, 1, send_type, recv, 1, recv_type, root, comm);
  if (name == "gatherv")
    return sglcoll_gatherv(send, 1, send_type, recv, counts.data(), starts.data(), recv_type, root,
                           comm);
  if (name == "scatter") return sglcoll_scatter(send, 1, send_type, recv, 1, recv_type, root, comm);
  if (name == "scatterv")
    return sglcoll_scatterv(send, counts.data(), starts.data(), send_type, recv, 1, recv_type, root,
                            comm);
  if (name == "alltoall") return sglcoll_alltoall(send, 1, send_type, recv, 1, recv_type, comm);
  if (name == "alltoallv")
    return sglcoll_alltoallv(send, counts.data(), starts.data(), send_type, recv, counts.data(),
                             starts.data(), recv_type, comm);
  if (name == "alltoallw") {
    const std::vector<sglcoll_type> sent(size, send_type), taken(size, recv_type);
    const std::vector<int64_t> from = in_bytes(starts, send_type), to = in_bytes(starts, recv_type);
    return sglcoll_alltoallw(send, counts.data(), from.data(), sent.data(), recv, counts.data(),
                             to.data(), taken.data(), comm);
  }
  if (name == "barrier") return sglcoll_barrier(comm);
  ADD_FAILURE() << "no call for " << name;
  return SGLCOLL_ERR_ARG;
}

}  // namespace sgl::test
