#include "comm/arguments.hpp"

#include "base/checked.hpp"
#include "comm/argument_check.hpp"

#include <vector>

namespace sgl {
namespace {

// A type of absolute addresses goes with a null buffer: the base becomes the lowest of
// them, so that equal lists at different addresses have equal layouts.
Binding bind(void* address, Layout layout) {
  if (address || layout.empty()) return {static_cast<std::byte*>(address), std::move(layout), {}};
  int64_t lowest = layout.true_lb();
  auto* base = reinterpret_cast<std::byte*>(lowest);  // NOLINT(performance-no-int-to-ptr)
  return {base, layout.shifted(-lowest), {}};
}

Binding bind_array(const BufferArgument& buffer, int64_t elements) {
  return bind(buffer.address, buffer.type->array_layout(elements));
}

Layout block_layout(const BlocksArgument& blocks, int block) {
  return blocks.type_of(block)
      ->array_layout(blocks.counts[block])
      .shifted(blocks.displacements[block] * blocks.unit_of(block));
}

Binding bind_blocks(const BlocksArgument& blocks, int size) {
  std::vector<Layout> parts;
  parts.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i)
    if (blocks.counts[i] > 0) parts.push_back(block_layout(blocks, i));  // else it may lie anywhere
  return bind(blocks.address, Layout::seq(parts));
}

// With the layout of each block by itself.
Binding bind_each_block(const BlocksArgument& blocks, int size) {
  Binding bound = bind_blocks(blocks, size);
  if (bound.layout.contiguous() || bound.layout.empty()) return bound;
  const int64_t moved = reinterpret_cast<intptr_t>(blocks.address) -
                        reinterpret_cast<intptr_t>(bound.base);  // where addresses are absolute
  bound.blocks.resize(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i)
    if (blocks.counts[i] > 0)
      bound.blocks[static_cast<size_t>(i)] = block_layout(blocks, i).shifted(moved);
  return bound;
}

std::vector<int64_t> block_bytes(const BlocksArgument& blocks, int size) {
  std::vector<int64_t> bytes(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i)
    if (blocks.counts[i] > 0)
      bytes[static_cast<size_t>(i)] = blocks.counts[i] * blocks.type_of(i)->size;
  return bytes;
}

Signature block_signature(const BlocksArgument& blocks, int block) {
  const int64_t count = blocks.counts[block];
  return count > 0 ? repeat(blocks.type_of(block)->signature, count) : Signature{};
}

std::vector<Signature> block_signatures(const BlocksArgument& blocks, int size) {
  std::vector<Signature> signatures;
  signatures.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) signatures.push_back(block_signature(blocks, i));
  return signatures;
}

std::vector<int64_t> block_bytes(const int64_t* counts, int size, const Type& type) {
  std::vector<int64_t> bytes(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) bytes[static_cast<size_t>(i)] = counts[i] * type.size;
  return bytes;
}

Problem problem_at(const CallSite& site, Collective collective, Blocks blocks, int root = 0) {
  Problem problem;
  problem.collective = collective;
  problem.rank = site.rank;
  problem.size = site.size;
  problem.root = root;
  problem.blocks = std::move(blocks);
  return problem;
}

void set_reduction(const OpArgument& op, const TypePtr& type, CollectiveCall* call) {
  Reduction& reduction = call->reduction;
  reduction.kind = op.op.kind;
  reduction.basic = type->uniform_basic;
  reduction.element_bytes = type->uniform_basic ? basic_info(*type->uniform_basic).size : 1;
  call->problem.commutative = op.op.commutative;
  if (op.op.kind == OpKind::user) {
    reduction.function = op.op.function;
    reduction.context = op.op.context;
    reduction.type_handle = op.type_handle;
    reduction.element_bytes = std::max<int64_t>(type->size, 1);
    reduction.element_extent = type->extent;
    reduction.element_layout = type->layout;
  }
  call->problem.grain = reduction.element_bytes;
}

// The blocks of all ranks, of buffer.count elements each, have less than 2^63 bytes.
Status check_block_of_each(const BufferArgument& buffer, int size) {
  SGL_TRY(check_buffer(buffer, buffer.count));
  int64_t elements = 0, bytes = 0;
  if (checked_mul(buffer.count, size, &elements) &&
      checked_mul(elements, buffer.type->size, &bytes))
    return {};
  return error(SGLCOLL_ERR_COUNT, "{} is {}: times {} ranks it overflows 64 bits",
               buffer.count_name, buffer.count, size);
}

// The elements of a buffer of all blocks, when that fits.
Status check_all_blocks(const BufferArgument& buffer, int size, int64_t* elements) {
  SGL_TRY(check_block_of_each(buffer, size));
  *elements = buffer.count * size;
  return check_buffer(buffer, *elements);
}

// What a rank sends to itself is all that it sees of both ends.
Status check_own_blocks(const BlocksArgument& send, const BlocksArgument& recv, int rank) {
  if (block_signature(send, rank) == block_signature(recv, rank)) return {};
  const TypePtr byte = basic_type(Basic::byte);
  const TypePtr& sent = send.counts[rank] > 0 ? send.type_of(rank) : byte;
  const TypePtr& taken = recv.counts[rank] > 0 ? recv.type_of(rank) : byte;
  const std::string name = fmt::format("the own block of {}", send.name);
  return check_signatures({name.c_str(), send.counts_name, nullptr, false, 0, sent},
                          send.counts[rank], recv.name, taken, recv.counts[rank]);
}

// At the root one buffer has a block of each rank, `whole`; the other, `own`, has this rank's
// alone and may be in place there.
Result<CollectiveCall> gather_or_scatter(const CallSite& site, Collective collective,
                                         const BufferArgument& send, const BufferArgument& recv,
                                         int root) {
  CollectiveCall call;
  const bool gathers = collective == Collective::gather, at_root = site.rank == root;
  const BufferArgument& whole = gathers ? recv : send;
  const BufferArgument& own = gathers ? send : recv;
  SGL_TRY(check_root(root, site.size));
  if (at_root) {
    int64_t all = 0;
    SGL_TRY(check_not_in_place(whole.name, whole.in_place));
    SGL_TRY(check_all_blocks(whole, site.size, &all));
    (gathers ? call.recv : call.send) = bind_array(whole, all);
  } else {
    SGL_TRY(check_not_in_place(own.name, own.in_place));
  }
  if (!own.in_place) {
    SGL_TRY(check_block_of_each(own, site.size));
    if (at_root) SGL_TRY(check_signatures(send, send.count, recv.name, recv.type, recv.count));
    (gathers ? call.send : call.recv) = bind_array(own, own.count);
    if (at_root) SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  }
  const BufferArgument& block = at_root ? whole : own;
  call.problem = problem_at(site, collective,
                            Blocks::uniform(site.size, block.count * block.type->size), root);
  call.problem.in_place = own.in_place;
  call.signature = repeat(block.type->signature, block.count);
  return call;
}

Result<CollectiveCall> gatherv_or_scatterv(const CallSite& site, Collective collective,
                                           const BlocksArgument& whole, const BufferArgument& own,
                                           int root) {
  CollectiveCall call;
  const bool gathers = collective == Collective::gatherv, at_root = site.rank == root;
  std::vector<int64_t> bytes(
      static_cast<size_t>(site.size));  // only the root knows those of others
  SGL_TRY(check_root(root, site.size));
  if (at_root) {
    SGL_TRY(check_not_in_place(whole.name, whole.in_place));
    SGL_TRY(check_blocks(whole, site.size));
    (gathers ? call.recv : call.send) = bind_blocks(whole, site.size);
    bytes = block_bytes(whole, site.size);
  } else {
    SGL_TRY(check_not_in_place(own.name, own.in_place));
  }
  if (!own.in_place) {
    SGL_TRY(check_buffer(own, own.count));
    (gathers ? call.send : call.recv) = bind_array(own, own.count);
    if (at_root) {
      const BufferArgument part{whole.name, whole.counts_name,       nullptr,
                                false,      whole.counts[site.rank], whole.type};
      const BufferArgument &send = gathers ? own : part, &recv = gathers ? part : own;
      SGL_TRY(check_signatures(send, send.count, recv.name, recv.type, recv.count));
      SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
    }
    bytes[static_cast<size_t>(site.rank)] = own.count * own.type->size;
  }
  call.problem = problem_at(site, collective, Blocks::per_rank(std::move(bytes)), root);
  call.problem.in_place = own.in_place;
  return call;
}

}  // namespace

Result<CollectiveCall> allgather_call(const CallSite& site, const BufferArgument& send,
                                      const BufferArgument& recv) {
  CollectiveCall call;
  int64_t all = 0;
  SGL_TRY(check_not_in_place(recv.name, recv.in_place));
  SGL_TRY(check_all_blocks(recv, site.size, &all));
  call.problem = problem_at(site, Collective::allgather,
                            Blocks::uniform(site.size, recv.count * recv.type->size));
  call.recv = bind_array(recv, all);
  call.signature = repeat(recv.type->signature, recv.count);
  call.problem.in_place = send.in_place;
  if (send.in_place) return call;
  SGL_TRY(check_buffer(send, send.count));
  SGL_TRY(check_signatures(send, send.count, recv.name, recv.type, recv.count));
  call.send = bind_array(send, send.count);
  SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  return call;
}

Result<CollectiveCall> allgatherv_call(const CallSite& site, const BufferArgument& send,
                                       const BlocksArgument& recv) {
  CollectiveCall call;
  SGL_TRY(check_not_in_place(recv.name, recv.in_place));
  SGL_TRY(check_blocks(recv, site.size));
  call.problem =
      problem_at(site, Collective::allgatherv, Blocks::per_rank(block_bytes(recv, site.size)));
  call.recv = bind_blocks(recv, site.size);
  call.signature = repeat(recv.type->signature,
                          call.problem.blocks.total() / std::max<int64_t>(recv.type->size, 1));
  call.problem.in_place = send.in_place;
  if (send.in_place) return call;
  SGL_TRY(check_buffer(send, send.count));
  SGL_TRY(check_signatures(send, send.count, recv.name, recv.type, recv.counts[site.rank]));
  call.send = bind_array(send, send.count);
  SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  return call;
}

Result<CollectiveCall> reduce_scatter_block_call(const CallSite& site, const BufferArgument& send,
                                                 const BufferArgument& recv, const OpArgument& op) {
  CollectiveCall call;
  int64_t all = 0;
  SGL_TRY(check_not_in_place(recv.name, recv.in_place));
  SGL_TRY(check_reduction(op, recv.type));
  SGL_TRY(check_all_blocks(recv, site.size, &all));
  call.problem = problem_at(site, Collective::reduce_scatter_block,
                            Blocks::uniform(site.size, recv.count * recv.type->size));
  set_reduction(op, recv.type, &call);
  call.signature = repeat(recv.type->signature, recv.count);
  call.problem.in_place = send.in_place;
  call.recv = bind_array(recv, send.in_place ? all : recv.count);
  if (send.in_place) return call;
  SGL_TRY(check_buffer(send, all));
  call.send = bind_array(send, all);
  SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  return call;
}

Result<CollectiveCall> reduce_scatter_call(const CallSite& site, const BufferArgument& send,
                                           const BufferArgument& recv, const int64_t* counts,
                                           const OpArgument& op) {
  CollectiveCall call;
  if (!counts) return error(SGLCOLL_ERR_ARG, "recv_counts is NULL: it has one count a rank");
  int64_t all = 0;
  for (int i = 0; i < site.size; ++i) {
    if (counts[i] < 0)
      return error(SGLCOLL_ERR_COUNT, "recv_counts[{}] is {}: it must be 0 or more", i, counts[i]);
    if (__builtin_add_overflow(all, counts[i], &all))
      return error(SGLCOLL_ERR_COUNT,
                   "the sum of recv_counts overflows 64 bits at recv_counts[{}] = {}", i,
                   counts[i]);
  }
  SGL_TRY(check_not_in_place(recv.name, recv.in_place));
  SGL_TRY(check_reduction(op, recv.type));
  int64_t received = send.in_place ? all : counts[site.rank];
  SGL_TRY(check_buffer(recv, received));
  BufferArgument whole = send.in_place ? recv : send;
  SGL_TRY(check_buffer(whole, all));
  call.problem = problem_at(site, Collective::reduce_scatter,
                            Blocks::per_rank(block_bytes(counts, site.size, *recv.type)));
  set_reduction(op, recv.type, &call);
  call.signature = repeat(recv.type->signature, all);
  call.problem.in_place = send.in_place;
  call.recv = bind_array(recv, received);
  if (send.in_place) return call;
  call.send = bind_array(send, all);
  SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  return call;
}

Result<CollectiveCall> allreduce_call(const CallSite& site, const BufferArgument& send,
                                      const BufferArgument& recv, const OpArgument& op) {
  CollectiveCall call;
  SGL_TRY(check_not_in_place(recv.name, recv.in_place));
  SGL_TRY(check_reduction(op, recv.type));
  SGL_TRY(check_buffer(recv, recv.count));
  call.problem =
      problem_at(site, Collective::allreduce, Blocks::uniform(1, recv.count * recv.type->size));
  set_reduction(op, recv.type, &call);
  call.signature = repeat(recv.type->signature, recv.count);
  call.problem.in_place = send.in_place;
  call.recv = bind_array(recv, recv.count);
  if (send.in_place) return call;
  SGL_TRY(check_buffer(send, send.count));
  call.send = bind_array(send, send.count);
  SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  return call;
}

Result<CollectiveCall> reduce_call(const CallSite& site, const BufferArgument& send,
                                   const BufferArgument& recv, const OpArgument& op, int root) {
  CollectiveCall call;
  SGL_TRY(check_root(root, site.size));
  bool at_root = site.rank == root;
  SGL_TRY(at_root ? check_not_in_place(recv.name, recv.in_place)
                  : check_not_in_place(send.name, send.in_place));
  SGL_TRY(check_reduction(op, recv.type));
  SGL_TRY(check_buffer(send.in_place ? recv : send, recv.count));
  call.problem =
      problem_at(site, Collective::reduce, Blocks::uniform(1, recv.count * recv.type->size), root);
  set_reduction(op, recv.type, &call);
  call.signature = repeat(recv.type->signature, recv.count);
  call.problem.in_place = send.in_place;
  if (!send.in_place) call.send = bind_array(send, send.count);
  if (!at_root) return call;
  SGL_TRY(check_buffer(recv, recv.count));
  call.recv = bind_array(recv, recv.count);
  if (!send.in_place) SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  return call;
}

Result<CollectiveCall> bcast_call(const CallSite& site, const BufferArgument& buffer, int root) {
  CollectiveCall call;
  SGL_TRY(check_root(root, site.size));
  SGL_TRY(check_not_in_place(buffer.name, buffer.in_place));
  SGL_TRY(check_buffer(buffer, buffer.count));
  call.problem = problem_at(site, Collective::bcast,
                            Blocks::uniform(1, buffer.count * buffer.type->size), root);
  call.signature = repeat(buffer.type->signature, buffer.count);
  call.recv = bind_array(buffer, buffer.count);
  return call;
}

Result<CollectiveCall> gather_call(const CallSite& site, const BufferArgument& send,
                                   const BufferArgument& recv, int root) {
  return gather_or_scatter(site, Collective::gather, send, recv, root);
}

Result<CollectiveCall> gatherv_call(const CallSite& site, const BufferArgument& send,
                                    const BlocksArgument& recv, int root) {
  return gatherv_or_scatterv(site, Collective::gatherv, recv, send, root);
}

Result<CollectiveCall> scatter_call(const CallSite& site, const BufferArgument& send,
                                    const BufferArgument& recv, int root) {
  return gather_or_scatter(site, Collective::scatter, send, recv, root);
}

Result<CollectiveCall> scatterv_call(const CallSite& site, const BlocksArgument& send,
                                     const BufferArgument& recv, int root) {
  return gatherv_or_scatterv(site, Collective::scatterv, send, recv, root);
}

Result<CollectiveCall> alltoall_call(const CallSite& site, const BufferArgument& send,
                                     const BufferArgument& recv) {
  CollectiveCall call;
  int64_t all = 0;
  SGL_TRY(check_not_in_place(recv.name, recv.in_place));
  SGL_TRY(check_all_blocks(recv, site.size, &all));
  call.problem = problem_at(site, Collective::alltoall,
                            Blocks::uniform(site.size, recv.count * recv.type->size));
  call.recv = bind_array(recv, all);
  call.signature = repeat(recv.type->signature, recv.count);
  call.problem.in_place = send.in_place;
  if (send.in_place) return call;
  SGL_TRY(check_all_blocks(send, site.size, &all));
  SGL_TRY(check_signatures(send, send.count, recv.name, recv.type, recv.count));
  call.send = bind_array(send, all);
  SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  return call;
}

Result<CollectiveCall> alltoallv_call(const CallSite& site, Collective collective,
                                      const BlocksArgument& send, const BlocksArgument& recv) {
  CollectiveCall call;
  SGL_TRY(check_not_in_place(recv.name, recv.in_place));
  SGL_TRY(check_blocks(recv, site.size));
  call.problem = problem_at(site, collective, Blocks::per_rank(block_bytes(recv, site.size)));
  call.recv = bind_each_block(recv, site.size);
  call.problem.in_place = send.in_place;
  if (site.check) call.taken = block_signatures(recv, site.size);
  if (send.in_place) {
    call.sent = call.taken;
    return call;
  }
  SGL_TRY(check_blocks(send, site.size));
  SGL_TRY(check_own_blocks(send, recv, site.rank));
  call.problem.send_blocks = Blocks::per_rank(block_bytes(send, site.size));
  call.send = bind_each_block(send, site.size);
  SGL_TRY(check_no_overlap(send.name, call.send, recv.name, call.recv));
  if (site.check) call.sent = block_signatures(send, site.size);
  return call;
}

Result<CollectiveCall> barrier_call(const CallSite& site) {
  CollectiveCall call;
  call.problem = problem_at(site, Collective::barrier, Blocks::uniform(1, 0));
  return call;
}

}  // namespace sgl
