#include "compare/backend.hpp"

#include <sglcoll/sglcoll.hpp>

#include <array>
#include <utility>

namespace sgl::compare {
namespace {

using sglcoll::check;
using Kind = Recipe::Kind;

sglcoll_type basic_type(Basic basic) {
  switch (basic) {
    case Basic::int8:
      return SGLCOLL_INT8;
    case Basic::int16:
      return SGLCOLL_INT16;
    case Basic::int32:
      return SGLCOLL_INT32;
    case Basic::int64:
      return SGLCOLL_INT64;
    case Basic::uint8:
      return SGLCOLL_UINT8;
    case Basic::uint16:
      return SGLCOLL_UINT16;
    case Basic::uint32:
      return SGLCOLL_UINT32;
    case Basic::uint64:
      return SGLCOLL_UINT64;
    case Basic::float32:
      return SGLCOLL_FLOAT;
    case Basic::float64:
      return SGLCOLL_DOUBLE;
    case Basic::complex_float:
      return SGLCOLL_COMPLEX_FLOAT;
    case Basic::complex_double:
      return SGLCOLL_COMPLEX_DOUBLE;
    case Basic::byte:
      return SGLCOLL_BYTE;
    case Basic::int_int:
      return SGLCOLL_2INT;
    case Basic::float_int:
      return SGLCOLL_FLOAT_INT;
    default:
      throw std::invalid_argument("a basic type that is not drawn");
  }
}

sglcoll_op predefined(Op op) {
  const std::array<sglcoll_op, 12> ops = {
      SGLCOLL_SUM,  SGLCOLL_PROD, SGLCOLL_MIN, SGLCOLL_MAX,  SGLCOLL_LAND,   SGLCOLL_LOR,
      SGLCOLL_LXOR, SGLCOLL_BAND, SGLCOLL_BOR, SGLCOLL_BXOR, SGLCOLL_MINLOC, SGLCOLL_MAXLOC};
  return ops[static_cast<size_t>(op)];
}

sglcoll_type make_type(const Recipe& r) {
  if (r.kind == Kind::basic) return basic_type(r.basic);
  std::vector<sglcoll_type> olds;
  for (const Recipe& old_type : r.old_types) olds.push_back(make_type(old_type));
  sglcoll_type old_type = olds[0], made = nullptr;
  auto blocks = static_cast<int64_t>(r.displacements.size());
  switch (r.kind) {
    case Kind::contiguous:
      check(sglcoll_type_contiguous(r.count, old_type, &made));
      break;
    case Kind::vector:
      check(sglcoll_type_vector(r.count, r.block, r.stride, old_type, &made));
      break;
    case Kind::hvector:
      check(sglcoll_type_hvector(r.count, r.block, r.stride, old_type, &made));
      break;
    case Kind::indexed:
      check(
          sglcoll_type_indexed(blocks, r.lengths.data(), r.displacements.data(), old_type, &made));
      break;
    case Kind::hindexed:
      check(
          sglcoll_type_hindexed(blocks, r.lengths.data(), r.displacements.data(), old_type, &made));
      break;
    case Kind::indexed_block:
      check(sglcoll_type_indexed_block(blocks, r.block, r.displacements.data(), old_type, &made));
      break;
    case Kind::structure:
      check(sglcoll_type_struct(blocks, r.lengths.data(), r.displacements.data(), olds.data(),
                                &made));
      break;
    case Kind::subarray:
      check(sglcoll_type_subarray(static_cast<int>(r.sizes.size()), r.sizes.data(),
                                  r.subsizes.data(), r.starts.data(), r.order, old_type, &made));
      break;
    case Kind::resized:
      check(sglcoll_type_resized(old_type, r.lower_bound, r.extent, &made));
      break;
    default:
      check(sglcoll_type_dup(old_type, &made));
  }
  for (size_t i = 0; i < olds.size(); ++i)
    if (r.old_types[i].kind != Kind::basic) check(sglcoll_type_free(&olds[i]));
  return made;
}

// A type for as long as a call lasts.
class Type {
 public:
  explicit Type(const Recipe& recipe) : type_(make_type(recipe)) {
    derived_ = recipe.kind != Kind::basic;
    if (derived_) check(sglcoll_type_commit(&type_));
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  ~Type() {
    if (derived_ && sglcoll_type_free(&type_) != SGLCOLL_OK) std::abort();
  }
  sglcoll_type get() const { return type_; }

 private:
  sglcoll_type type_;
  bool derived_;
};

class SglcollBackend final : public Backend {
 public:
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::string run(const Draw& draw, const Call& call) override try {
    sglcoll_op op = nullptr;
    if (draw.op == Op::affine)
      check(sglcoll_op_create(&user_function, const_cast<Draw*>(&draw), 0, &op));
    post(draw, call, op ? op : predefined(draw.op));
    if (op) check(sglcoll_op_free(&op));
    return "";
  } catch (const sglcoll::Error& failure) {
    return failure.what();
  }

 private:
  static void user_function(const void* in, void* inout, int64_t count, sglcoll_type, void* draw) {
    apply(Op::affine, static_cast<const Draw*>(draw)->recv.map, count, in, inout);
  }

  // One of the three forms of a collective, run to its end (the persistent one twice,
  // where its result does not depend on an earlier one).
  template <class Blocking, class Requesting, class... Arguments>
  void post_form(const Draw& draw, Blocking blocking, Requesting nonblocking, Requesting init,
                 Arguments... arguments) {
    if (draw.form == Form::blocking) return check(blocking(arguments...));
    sglcoll_request request = nullptr;
    if (draw.form == Form::nonblocking) {
      check(nonblocking(arguments..., &request));
      return check(sglcoll_wait(&request));
    }
    check(init(arguments..., &request));
    for (int i = 0; i < (draw.in_place ? 1 : 2); ++i) {
      check(sglcoll_start(request));
      check(sglcoll_wait(&request));
    }
    check(sglcoll_request_free(&request));
  }

  void post(const Draw& d, const Call& call, sglcoll_op op);

  sglcoll::World world_;
};

#define FORMS(name) sglcoll_##name, sglcoll_i##name, sglcoll_##name##_init

void SglcollBackend::post(const Draw& d, const Call& call, sglcoll_op op) {
  Type send_type(d.send.recipe), recv_type(d.recv.recipe);
  sglcoll_type st = send_type.get(), rt = recv_type.get();
  const void* send = call.send.in_place ? SGLCOLL_IN_PLACE : call.send.address;
  void* recv = call.recv.in_place ? SGLCOLL_IN_PLACE : call.recv.address;
  sglcoll_comm comm = world_.get();
  int64_t sent = d.count(d.send, rank()), received = d.count(d.recv, rank());
  std::vector<int64_t> counts;
  for (int block = 0; block < d.size; ++block) counts.push_back(d.count(d.all_side(), block));
  const int64_t *all = counts.data(), *places = d.displacements.data();
  std::vector<int64_t> go, come, from, to;
  if (exchanges(d.collective)) {
    go = d.peer_counts(d.send, rank()), from = d.peer_places(d.send, rank());
    come = d.peer_counts(d.recv, rank()), to = d.peer_places(d.recv, rank());
  }
  switch (d.collective) {
    case Collective::allgather:
      return post_form(d, FORMS(allgather), send, sent, st, recv, received, rt, comm);
    case Collective::allgatherv:
      return post_form(d, FORMS(allgatherv), send, sent, st, recv, all, places, rt, comm);
    case Collective::gather:
      return post_form(d, FORMS(gather), send, sent, st, recv, received, rt, d.root, comm);
    case Collective::gatherv:
      return post_form(d, FORMS(gatherv), send, sent, st, recv, all, places, rt, d.root, comm);
    case Collective::scatter:
      return post_form(d, FORMS(scatter), send, sent, st, recv, received, rt, d.root, comm);
    case Collective::scatterv:
      return post_form(d, FORMS(scatterv), send, all, places, st, recv, received, rt, d.root, comm);
    case Collective::bcast:
      return post_form(d, FORMS(bcast), recv, all[0], rt, d.root, comm);
    case Collective::alltoall:
      return post_form(d, FORMS(alltoall), send, go[0], st, recv, come[0], rt, comm);
    case Collective::alltoallv:
      return post_form(d, FORMS(alltoallv), send, go.data(), from.data(), st, recv, come.data(),
                       to.data(), rt, comm);
    case Collective::alltoallw: {
      const std::vector<sglcoll_type> sts(go.size(), st), rts(come.size(), rt);
      for (int64_t& place : from) place *= d.send.map.extent();
      for (int64_t& place : to) place *= d.recv.map.extent();
      return post_form(d, FORMS(alltoallw), send, go.data(), from.data(), sts.data(), recv,
                       come.data(), to.data(), rts.data(), comm);
    }
    case Collective::allreduce:
      return post_form(d, FORMS(allreduce), send, recv, all[0], rt, op, comm);
    case Collective::reduce:
      return post_form(d, FORMS(reduce), send, recv, all[0], rt, op, d.root, comm);
    case Collective::reduce_scatter_block:
      return post_form(d, FORMS(reduce_scatter_block), send, recv, all[0], rt, op, comm);
    case Collective::reduce_scatter:
      return post_form(d, FORMS(reduce_scatter), send, recv, all, rt, op, comm);
  }
}

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<SglcollBackend>();
}

}  // namespace sgl::compare
