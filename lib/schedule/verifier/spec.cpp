#include "schedule/verifier/spec.hpp"

namespace sgl::verifier {
namespace {

class SpecMaker {
 public:
  SpecMaker(std::span<const Problem> problems, int rank)
      : problems_(problems),
        problem_(problems[static_cast<size_t>(rank)]),
        blocks_(problems[static_cast<size_t>(problem_.root)].blocks),
        rank_(rank),
        own_(blocks_.bytes(block_index())) {}

  Spec make() {
    switch (problem_.collective) {
      case Collective::allgather:
      case Collective::allgatherv:
        gather_all(true);
        break;
      case Collective::gather:
      case Collective::gatherv:
        gather_all(at_root());
        break;
      case Collective::scatter:
      case Collective::scatterv:
        scatter();
        break;
      case Collective::reduce_scatter_block:
      case Collective::reduce_scatter:
        reduce_scatter();
        break;
      case Collective::allreduce:
        reduce_whole(true);
        break;
      case Collective::reduce:
        reduce_whole(at_root());
        break;
      case Collective::bcast:
        bcast();
        break;
      case Collective::alltoall:
      case Collective::alltoallv:
      case Collective::alltoallw:
        exchange_all();
        break;
      case Collective::barrier:
        break;
    }
    return spec_;
  }

 private:
  bool at_root() const { return rank_ == problem_.root; }
  int block_index() const { return problem_.rank < blocks_.count() ? problem_.rank : 0; }
  int64_t total() const { return blocks_.total(); }

  void input(Buffer buffer, int64_t offset, int64_t bytes) {
    spec_.inputs.push_back({{buffer, offset, bytes}, rank_, rank_ + 1, 0});
  }
  void output(int64_t offset, int64_t bytes, int first, int last, int64_t position) {
    spec_.outputs.push_back({{kRecv, offset, bytes}, first, last, position});
  }

  void gather_all(bool collects) {
    const bool in_place = problem_.in_place && collects;
    if (in_place)
      input(kRecv, blocks_.start(rank_), own_);
    else
      input(kSend, 0, spec_.send_bytes = own_);
    if (!collects) return;
    spec_.recv_bytes = total();
    for (int source = 0; source < problem_.size; ++source)
      output(blocks_.start(source), blocks_.bytes(source), source, source + 1, 0);
  }

  void scatter() {
    if (at_root()) input(kSend, 0, spec_.send_bytes = total());
    if (at_root() && problem_.in_place) return;
    spec_.recv_bytes = own_;
    output(0, own_, problem_.root, problem_.root + 1, blocks_.start(rank_));
  }

  void reduce_scatter() {
    spec_.recv_bytes = problem_.in_place ? total() : own_;
    if (problem_.in_place)
      input(kRecv, 0, total());
    else
      input(kSend, 0, spec_.send_bytes = total());
    output(0, own_, 0, problem_.size, blocks_.start(rank_));
  }

  void reduce_whole(bool receives) {
    const bool in_place = problem_.in_place && receives;
    if (in_place)
      input(kRecv, 0, total());
    else
      input(kSend, 0, spec_.send_bytes = total());
    if (!receives) return;
    spec_.recv_bytes = total();
    output(0, total(), 0, problem_.size, 0);
  }

  void bcast() {
    spec_.recv_bytes = total();
    spec_.recv_is_input_only = at_root();
    if (at_root()) input(kRecv, 0, total());
    output(0, total(), problem_.root, problem_.root + 1, 0);
  }

  // A rank that is in place says with its blocks both what goes and what comes.
  void exchange_all() {
    const Blocks& outgoing = problem_.outgoing();
    spec_.recv_bytes = problem_.blocks.total();
    if (problem_.in_place)
      input(kRecv, 0, outgoing.total());
    else
      input(kSend, 0, spec_.send_bytes = outgoing.total());
    int64_t next = 0;
    for (int source = 0; source < problem_.size; ++source) {
      const Blocks& theirs = problems_[static_cast<size_t>(source)].outgoing();
      output(next, theirs.bytes(rank_), source, source + 1, theirs.start(rank_));
      next += theirs.bytes(rank_);
    }
  }

  std::span<const Problem> problems_;
  const Problem& problem_;
  const Blocks& blocks_;
  int rank_;
  int64_t own_;
  Spec spec_;
};

}  // namespace

Spec spec_of(std::span<const Problem> problems, int rank) {
  return SpecMaker(problems, rank).make();
}

}  // namespace sgl::verifier
