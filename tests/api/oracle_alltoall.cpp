// The alltoalls with their computed right results.
#include "api/form_call.hpp"

namespace sgl::test {
namespace {

// What rank `from` has for rank `to`.
Values pair_values(int from, int to, int64_t count) {
  return contribution(from, int64_t{to} << 20, count);
}

// Elements from one rank to another in the v and w forms, zero for some pairs; in place the
// same both ways.
int64_t pair_count(int from, int to, int64_t count, bool in_place) {
  if (in_place && from > to) std::swap(from, to);
  return (from + 2 * to) % 3 == 1 ? 0 : count + (3 * from + to) % 4;
}

void append(Values* all, const Values& part) {
  all->insert(all->end(), part.begin(), part.end());
}

Values slice(const Values& all, int64_t first, int64_t count) {
  return {all.begin() + first, all.begin() + first + count};
}

// The buffer of a v form: its blocks in reverse order with an element of room between them.
struct Blocks {
  std::vector<int64_t> counts, displacements;
  int64_t span = 0;

  Blocks(sglcoll_comm comm, int64_t count, bool sends, bool in_place) {
    const int rank = rank_of(comm), size = size_of(comm);
    for (int peer = 0; peer < size; ++peer)
      counts.push_back(sends ? pair_count(rank, peer, count, in_place)
                             : pair_count(peer, rank, count, in_place));
    displacements.resize(counts.size());
    for (size_t i = counts.size(); i-- > 0;) {
      displacements[i] = span;
      span += counts[i] + 1;
    }
  }
};

void fill_outgoing(TypedBuffer* buffer, const TypeCase& type, const Blocks& blocks, int rank) {
  Values all = buffer->values();
  for (size_t peer = 0; peer < blocks.counts.size(); ++peer) {
    const Values block =
        pair_values(rank, static_cast<int>(peer), blocks.counts[peer] * type.values);
    std::copy(block.begin(), block.end(), all.begin() + blocks.displacements[peer] * type.values);
  }
  buffer->fill(all);
}

void expect_incoming(TypedBuffer* buffer, const TypeCase& type, const Blocks& blocks, int rank) {
  const Values all = buffer->values();
  for (size_t peer = 0; peer < blocks.counts.size(); ++peer) {
    const int64_t count = blocks.counts[peer] * type.values;
    EXPECT_EQ(slice(all, blocks.displacements[peer] * type.values, count),
              pair_values(static_cast<int>(peer), rank, count))
        << "from rank " << peer;
  }
  EXPECT_TRUE(buffer->gaps_untouched());
}

// The buffer of a w form: memory of its own for each block, whose type alternates between the
// case's and plain integers, so that most pairs differ in type. No type where nothing is.
class TypedBlocks {
 public:
  TypedBlocks(sglcoll_comm comm, const TypeCase& type, int64_t count, bool sends, bool in_place) {
    const int rank = rank_of(comm), size = size_of(comm);
    for (int peer = 0; peer < size; ++peer) {
      const int64_t elements =
          sends ? pair_count(rank, peer, count, in_place) : pair_count(peer, rank, count, in_place);
      const bool derived = (rank + 2 * peer + (sends ? 1 : 0)) % 2 == 0;
      const int64_t given = derived ? elements : elements * type.values;
      counts.push_back(given);
      types.push_back(given > 0 ? derived ? type.type : SGLCOLL_INT32 : nullptr);
      memory_.emplace_back(derived ? type.type : SGLCOLL_INT32, given);
      values_.push_back(elements * type.values);
    }
    for (TypedBuffer& block : memory_)
      displacements.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(block.address()) -
                                                   reinterpret_cast<intptr_t>(address())));
  }
  void* address() { return memory_[0].address(); }

  void fill_outgoing(int rank) {
    for (size_t peer = 0; peer < memory_.size(); ++peer)
      memory_[peer].fill(pair_values(rank, static_cast<int>(peer), values_[peer]));
  }
  void expect_incoming(int rank) {
    for (size_t peer = 0; peer < memory_.size(); ++peer) {
      EXPECT_EQ(memory_[peer].values(), pair_values(static_cast<int>(peer), rank, values_[peer]))
          << "from rank " << peer;
      EXPECT_TRUE(memory_[peer].gaps_untouched()) << "from rank " << peer;
    }
  }

  std::vector<int64_t> counts, displacements;
  std::vector<sglcoll_type> types;

 private:
  std::vector<TypedBuffer> memory_;
  std::vector<int64_t> values_;
};

}  // namespace

// Not in place, the sender's type is the case's and the receiver's its integers one by one.
sglcoll_status check_alltoall(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  const int rank = rank_of(comm), size = size_of(comm);
  const int64_t block = count * type.values;
  Values outgoing, incoming;
  for (int peer = 0; peer < size; ++peer) {
    append(&outgoing, pair_values(rank, peer, block));
    append(&incoming, pair_values(peer, rank, block));
  }
  TypedBuffer send(type.type, count * size), recv(SGLCOLL_INT32, block * size),
      same(type.type, count * size);
  send.fill(outgoing);
  const sglcoll_status status =
      CALL(alltoall, send.address(), count, type.type, recv.address(), block, SGLCOLL_INT32, comm);
  if (status != SGLCOLL_OK) return status;
  EXPECT_EQ(recv.values(), incoming);
  EXPECT_EQ(send.values(), outgoing);
  EXPECT_OK(CALL(alltoall, recv.address(), block, SGLCOLL_INT32, same.address(), count, type.type,
                 comm));  // back again
  EXPECT_EQ(same.values(), outgoing);
  EXPECT_TRUE(same.gaps_untouched());
  EXPECT_OK(CALL(alltoall, SGLCOLL_IN_PLACE, 0, nullptr, same.address(), count, type.type, comm));
  EXPECT_EQ(same.values(), incoming);
  EXPECT_TRUE(same.gaps_untouched());
  return SGLCOLL_OK;
}

sglcoll_status check_alltoallv(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  const int rank = rank_of(comm);
  const Blocks go(comm, count, true, false), come(comm, count, false, false),
      both(comm, count, false, true);
  TypedBuffer send(type.type, go.span), recv(type.type, come.span), same(type.type, both.span);
  fill_outgoing(&send, type, go, rank);
  const sglcoll_status status =
      CALL(alltoallv, send.address(), go.counts.data(), go.displacements.data(), type.type,
           recv.address(), come.counts.data(), come.displacements.data(), type.type, comm);
  if (status != SGLCOLL_OK) return status;
  expect_incoming(&recv, type, come, rank);
  fill_outgoing(&same, type, both, rank);
  EXPECT_OK(CALL(alltoallv, SGLCOLL_IN_PLACE, nullptr, nullptr, nullptr, same.address(),
                 both.counts.data(), both.displacements.data(), type.type, comm));
  expect_incoming(&same, type, both, rank);
  return SGLCOLL_OK;
}

sglcoll_status check_alltoallw(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  const int rank = rank_of(comm);
  TypedBlocks send(comm, type, count, true, false), recv(comm, type, count, false, false),
      same(comm, type, count, false, true);
  send.fill_outgoing(rank);
  const sglcoll_status status = CALL(
      alltoallw, send.address(), send.counts.data(), send.displacements.data(), send.types.data(),
      recv.address(), recv.counts.data(), recv.displacements.data(), recv.types.data(), comm);
  if (status != SGLCOLL_OK) return status;
  recv.expect_incoming(rank);
  same.fill_outgoing(rank);
  EXPECT_OK(CALL(alltoallw, SGLCOLL_IN_PLACE, nullptr, nullptr, nullptr, same.address(),
                 same.counts.data(), same.displacements.data(), same.types.data(), comm));
  same.expect_incoming(rank);
  return SGLCOLL_OK;
}

}  // namespace sgl::test
