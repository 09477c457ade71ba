#include "compare/backend.hpp"

#include <array>
#include <stdexcept>

#include <mpi.h>

namespace sgl::compare {
namespace {

using Kind = Recipe::Kind;

void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(text, static_cast<size_t>(length)));
}

MPI_Datatype basic_type(Basic basic) {
  switch (basic) {
    case Basic::int8:
      return MPI_INT8_T;
    case Basic::int16:
      return MPI_INT16_T;
    case Basic::int32:
      return MPI_INT32_T;
    case Basic::int64:
      return MPI_INT64_T;
    case Basic::uint8:
      return MPI_UINT8_T;
    case Basic::uint16:
      return MPI_UINT16_T;
    case Basic::uint32:
      return MPI_UINT32_T;
    case Basic::uint64:
      return MPI_UINT64_T;
    case Basic::float32:
      return MPI_FLOAT;
    case Basic::float64:
      return MPI_DOUBLE;
    case Basic::complex_float:
      return MPI_C_FLOAT_COMPLEX;
    case Basic::complex_double:
      return MPI_C_DOUBLE_COMPLEX;
    case Basic::byte:
      return MPI_BYTE;
    case Basic::int_int:
      return MPI_2INT;
    case Basic::float_int:
      return MPI_FLOAT_INT;
    default:
      throw std::invalid_argument("a basic type that is not drawn");
  }
}

MPI_Op predefined(Op op) {
  const std::array<MPI_Op, 12> ops = {MPI_SUM,  MPI_PROD, MPI_MIN,    MPI_MAX,
                                      MPI_LAND, MPI_LOR,  MPI_LXOR,   MPI_BAND,
                                      MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  return ops[static_cast<size_t>(op)];
}

std::vector<int> to_int(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}
std::vector<MPI_Aint> to_aint(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

MPI_Datatype make_type(const Recipe& r) {
  if (r.kind == Kind::basic) return basic_type(r.basic);
  std::vector<MPI_Datatype> olds;
  for (const Recipe& old_type : r.old_types) olds.push_back(make_type(old_type));
  MPI_Datatype old_type = olds[0], made = MPI_DATATYPE_NULL;
  auto count = static_cast<int>(r.count), block = static_cast<int>(r.block);
  auto stride = static_cast<int>(r.stride), blocks = static_cast<int>(r.displacements.size());
  std::vector<int> lengths = to_int(r.lengths), places = to_int(r.displacements);
  std::vector<MPI_Aint> bytes = to_aint(r.displacements);
  switch (r.kind) {
    case Kind::contiguous:
      check(MPI_Type_contiguous(count, old_type, &made));
      break;
    case Kind::vector:
      check(MPI_Type_vector(count, block, stride, old_type, &made));
      break;
    case Kind::hvector:
      check(MPI_Type_create_hvector(count, block, r.stride, old_type, &made));
      break;
    case Kind::indexed:
      check(MPI_Type_indexed(blocks, lengths.data(), places.data(), old_type, &made));
      break;
    case Kind::hindexed:
      check(MPI_Type_create_hindexed(blocks, lengths.data(), bytes.data(), old_type, &made));
      break;
    case Kind::indexed_block:
      check(MPI_Type_create_indexed_block(blocks, block, places.data(), old_type, &made));
      break;
    case Kind::structure:
      check(MPI_Type_create_struct(blocks, lengths.data(), bytes.data(), olds.data(), &made));
      break;
    case Kind::subarray:
      check(MPI_Type_create_subarray(static_cast<int>(r.sizes.size()), to_int(r.sizes).data(),
                                     to_int(r.subsizes).data(), to_int(r.starts).data(),
                                     r.order == SGLCOLL_ORDER_C ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                                     old_type, &made));
      break;
    case Kind::resized:
      check(MPI_Type_create_resized(old_type, r.lower_bound, r.extent, &made));
      break;
    default:
      check(MPI_Type_dup(old_type, &made));
  }
  for (size_t i = 0; i < olds.size(); ++i)
    if (r.old_types[i].kind != Kind::basic) check(MPI_Type_free(&olds[i]));
  return made;
}

class MpiBackend final : public Backend {
 public:
  MpiBackend() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiBackend() override { MPI_Finalize(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // MPI has its own operations on basic types only: a derived type gets a user's one.
  std::string run(const Draw& draw, const Call& call) override try {
    MPI_Op op = MPI_OP_NULL;
    running_ = &draw;
    bool derived = draw.recv.recipe.kind != Kind::basic;
    if (derived) check(MPI_Op_create(user_function, draw.op == Op::affine ? 0 : 1, &op));
    MPI_Datatype send_type = committed(draw.send.recipe), recv_type = committed(draw.recv.recipe);
    post(draw, call, send_type, recv_type, derived ? op : predefined(draw.op));
    if (draw.send.recipe.kind != Kind::basic) check(MPI_Type_free(&send_type));
    if (draw.recv.recipe.kind != Kind::basic) check(MPI_Type_free(&recv_type));
    if (derived) check(MPI_Op_free(&op));
    return "";
  } catch (const std::runtime_error& failure) {
    return failure.what();
  }

 private:
  static void user_function(void* in, void* inout, int* count, MPI_Datatype*) {
    apply(running_->op, running_->recv.map, *count, in, inout);
  }
  static MPI_Datatype committed(const Recipe& recipe) {
    MPI_Datatype type = make_type(recipe);
    if (recipe.kind != Kind::basic) check(MPI_Type_commit(&type));
    return type;
  }

  // MPI 3 has no persistent form: it is posted as a nonblocking one.
  template <class Blocking, class Nonblocking, class... Arguments>
  static void post_form(const Draw& draw, Blocking blocking, Nonblocking nonblocking,
                        Arguments... arguments) {
    if (draw.form == Form::blocking) return check(blocking(arguments...));
    MPI_Request request = MPI_REQUEST_NULL;
    check(nonblocking(arguments..., &request));
    check(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }

  void post(const Draw& d, const Call& call, MPI_Datatype st, MPI_Datatype rt, MPI_Op op) const;

  static inline const Draw* running_ = nullptr;
  int rank_ = 0, size_ = 1;
};

void MpiBackend::post(const Draw& d, const Call& call, MPI_Datatype st, MPI_Datatype rt,
                      MPI_Op op) const {
  const void* send = call.send.in_place ? MPI_IN_PLACE : call.send.address;
  void* recv = call.recv.in_place ? MPI_IN_PLACE : call.recv.address;
  MPI_Comm comm = MPI_COMM_WORLD;
  auto sent = static_cast<int>(d.count(d.send, rank_));
  auto received = static_cast<int>(d.count(d.recv, rank_));
  std::vector<int> counts, displacements = to_int(d.displacements);
  for (int block = 0; block < d.size; ++block)
    counts.push_back(static_cast<int>(d.count(d.all_side(), block)));
  const int *all = counts.data(), *places = displacements.data();
  std::vector<int> go, come, from, to;
  if (exchanges(d.collective)) {
    go = to_int(d.peer_counts(d.send, rank_)), from = to_int(d.peer_places(d.send, rank_));
    come = to_int(d.peer_counts(d.recv, rank_)), to = to_int(d.peer_places(d.recv, rank_));
  }
  switch (d.collective) {
    case Collective::allgather:
      return post_form(d, MPI_Allgather, MPI_Iallgather, send, sent, st, recv, received, rt, comm);
    case Collective::allgatherv:
      return post_form(d, MPI_Allgatherv, MPI_Iallgatherv, send, sent, st, recv, all, places, rt,
                       comm);
    case Collective::gather:
      return post_form(d, MPI_Gather, MPI_Igather, send, sent, st, recv, received, rt, d.root,
                       comm);
    case Collective::gatherv:
      return post_form(d, MPI_Gatherv, MPI_Igatherv, send, sent, st, recv, all, places, rt, d.root,
                       comm);
    case Collective::scatter:
      return post_form(d, MPI_Scatter, MPI_Iscatter, send, sent, st, recv, received, rt, d.root,
                       comm);
    case Collective::scatterv:
      return post_form(d, MPI_Scatterv, MPI_Iscatterv, send, all, places, st, recv, received, rt,
                       d.root, comm);
    case Collective::bcast:
      return post_form(d, MPI_Bcast, MPI_Ibcast, recv, all[0], rt, d.root, comm);
    case Collective::alltoall:
      return post_form(d, MPI_Alltoall, MPI_Ialltoall, send, go[0], st, recv, come[0], rt, comm);
    case Collective::alltoallv:
      return post_form(d, MPI_Alltoallv, MPI_Ialltoallv, send, go.data(), from.data(), st, recv,
                       come.data(), to.data(), rt, comm);
    case Collective::alltoallw: {
      const std::vector<MPI_Datatype> sts(go.size(), st), rts(come.size(), rt);
      for (int& place : from) place *= static_cast<int>(d.send.map.extent());
      for (int& place : to) place *= static_cast<int>(d.recv.map.extent());
      return post_form(d, MPI_Alltoallw, MPI_Ialltoallw, send, go.data(), from.data(), sts.data(),
                       recv, come.data(), to.data(), rts.data(), comm);
    }
    case Collective::allreduce:
      return post_form(d, MPI_Allreduce, MPI_Iallreduce, send, recv, all[0], rt, op, comm);
    case Collective::reduce:
      return post_form(d, MPI_Reduce, MPI_Ireduce, send, recv, all[0], rt, op, d.root, comm);
    case Collective::reduce_scatter_block:
      return post_form(d, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, send, recv, all[0],
                       rt, op, comm);
    case Collective::reduce_scatter:
      return post_form(d, MPI_Reduce_scatter, MPI_Ireduce_scatter, send, recv, all, rt, op, comm);
  }
}

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<MpiBackend>();
}

}  // namespace sgl::compare
