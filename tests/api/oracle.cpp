#include "api/form_call.hpp"

#include <numeric>

namespace sgl::test {
namespace {

thread_local Form current_form = Form::blocking;

// Counts of the v forms: different on each rank, zero on some.
std::vector<int64_t> uneven_counts(int size, int64_t count) {
  std::vector<int64_t> counts(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) counts[static_cast<size_t>(i)] = i % 3 == 1 ? 0 : count + i % 4;
  return counts;
}

// Blocks in reverse order with an element of room between them.
std::vector<int64_t> reversed_displacements(const std::vector<int64_t>& counts) {
  std::vector<int64_t> displacements(counts.size());
  int64_t next = 0;
  for (size_t i = counts.size(); i-- > 0;) {
    displacements[i] = next;
    next += counts[i] + 1;
  }
  return displacements;
}

int64_t span_of(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), static_cast<int64_t>(counts.size()));
}

// The values of block `block` of a buffer of the v forms.
Values block_values(TypedBuffer& buffer, const TypeCase& type, int64_t displacement,
                    int64_t count) {
  Values all = buffer.values();
  auto first = all.begin() + displacement * type.values;
  return {first, first + count * type.values};
}

// Writes block values into a buffer of the v forms, all else stays.
void put_block(TypedBuffer& buffer, const TypeCase& type, int64_t displacement,
               const Values& block) {
  Values all = buffer.values();
  std::copy(block.begin(), block.end(), all.begin() + displacement * type.values);
  buffer.fill(all);
}

// Every rank's contribution is in its block, and the gaps are as they were.
void expect_blocks(TypedBuffer& buffer, const TypeCase& type, const std::vector<int64_t>& counts,
                   const std::vector<int64_t>& displacements) {
  for (size_t i = 0; i < counts.size(); ++i)
    EXPECT_EQ(block_values(buffer, type, displacements[i], counts[i]),
              contribution(static_cast<int>(i), 0, counts[i] * type.values))
        << "block " << i;
  EXPECT_TRUE(buffer.gaps_untouched());
}

}  // namespace

void use_form(Form form) {
  current_form = form;
}
Form form_in_use() {
  return current_form;
}

sglcoll_status check_allgather(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  int64_t block = count * type.values;
  Values expected;
  for (int i = 0; i < size; ++i) {
    Values part = contribution(i, 0, block);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  TypedBuffer send(type.type, count), recv(type.type, count * size), same(type.type, count * size);
  send.fill(contribution(rank, 0, block));
  sglcoll_status status =
      CALL(allgather, send.address(), count, type.type, recv.address(), count, type.type, comm);
  if (status != SGLCOLL_OK) return status;
  EXPECT_EQ(recv.values(), expected);
  EXPECT_TRUE(recv.gaps_untouched());

  Values own(static_cast<size_t>(block * size));
  Values mine = contribution(rank, 0, block);
  std::copy(mine.begin(), mine.end(), own.begin() + rank * block);
  same.fill(own);
  EXPECT_OK(CALL(allgather, SGLCOLL_IN_PLACE, 0, nullptr, same.address(), count, type.type, comm));
  EXPECT_EQ(same.values(), expected);
  return SGLCOLL_OK;
}

void check_many_allgathers(sglcoll_comm comm, int operations, int64_t count) {
  const int rank = rank_of(comm), size = size_of(comm);
  sglcoll_type type = nullptr;
  constexpr int64_t kValues = 2 * 300;  // in runs that bulk transfers take
  ASSERT_OK(sglcoll_type_vector(2, kValues / 2, kValues, SGLCOLL_INT32, &type));
  ASSERT_OK(sglcoll_type_commit(&type));
  std::vector<TypedBuffer> sent, received;
  std::vector<sglcoll_request> requests(static_cast<size_t>(operations), nullptr);
  for (int i = 0; i < operations; ++i) {
    sent.emplace_back(type, count);
    received.emplace_back(type, count * size);
  }
  for (int i = 0; i < operations; ++i) {
    const auto at = static_cast<size_t>(i);
    sent[at].fill(contribution(rank, i, count * kValues));
    ASSERT_OK(sglcoll_iallgather(sent[at].address(), count, type, received[at].address(), count,
                                 type, comm, &requests[at]));
  }
  EXPECT_OK(sglcoll_waitall(operations, requests.data()));
  for (int i = 0; i < operations; ++i) {
    Values expected;
    for (int from = 0; from < size; ++from) {
      Values part = contribution(from, i, count * kValues);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    EXPECT_EQ(received[static_cast<size_t>(i)].values(), expected) << "operation " << i;
  }
  EXPECT_OK(sglcoll_type_free(&type));
}

sglcoll_status check_allgatherv(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  std::vector<int64_t> counts = uneven_counts(size, count);
  std::vector<int64_t> displacements = reversed_displacements(counts);
  int64_t mine = counts[static_cast<size_t>(rank)];
  TypedBuffer send(type.type, mine), recv(type.type, span_of(counts));
  send.fill(contribution(rank, 0, mine * type.values));
  sglcoll_status status = CALL(allgatherv, send.address(), mine, type.type, recv.address(),
                               counts.data(), displacements.data(), type.type, comm);
  if (status != SGLCOLL_OK) return status;
  expect_blocks(recv, type, counts, displacements);

  TypedBuffer same(type.type, span_of(counts));
  put_block(same, type, displacements[static_cast<size_t>(rank)], send.values());
  EXPECT_OK(CALL(allgatherv, SGLCOLL_IN_PLACE, 0, nullptr, same.address(), counts.data(),
                 displacements.data(), type.type, comm));
  expect_blocks(same, type, counts, displacements);
  return SGLCOLL_OK;
}

sglcoll_status check_reduce_scatter_block(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  int64_t block = count * type.values;
  TypedBuffer send(type.type, count * size), recv(type.type, count), same(type.type, count * size);
  send.fill(contribution(rank, 0, block * size));
  sglcoll_status status = CALL(reduce_scatter_block, send.address(), recv.address(), count,
                               type.type, SGLCOLL_SUM, comm);
  if (status != SGLCOLL_OK) return status;
  EXPECT_EQ(recv.values(), sum_over_ranks(size, rank * block, block));
  EXPECT_EQ(send.values(), contribution(rank, 0, block * size));
  EXPECT_TRUE(recv.gaps_untouched());

  same.fill(contribution(rank, 0, block * size));
  EXPECT_OK(CALL(reduce_scatter_block, SGLCOLL_IN_PLACE, same.address(), count, type.type,
                 SGLCOLL_SUM, comm));
  Values result = same.values();
  result.resize(static_cast<size_t>(block));
  EXPECT_EQ(result, sum_over_ranks(size, rank * block, block));
  EXPECT_TRUE(same.gaps_untouched());
  return SGLCOLL_OK;
}

sglcoll_status check_reduce_scatter(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  std::vector<int64_t> counts = uneven_counts(size, count);
  int64_t all = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  int64_t first = std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0}) * type.values;
  int64_t mine = counts[static_cast<size_t>(rank)];
  TypedBuffer send(type.type, all), recv(type.type, mine);
  send.fill(contribution(rank, 0, all * type.values));
  sglcoll_status status = CALL(reduce_scatter, send.address(), recv.address(), counts.data(),
                               type.type, SGLCOLL_SUM, comm);
  if (status != SGLCOLL_OK) return status;
  EXPECT_EQ(recv.values(), sum_over_ranks(size, first, mine * type.values));
  EXPECT_TRUE(recv.gaps_untouched());

  TypedBuffer& same = send;
  EXPECT_OK(CALL(reduce_scatter, SGLCOLL_IN_PLACE, same.address(), counts.data(), type.type,
                 SGLCOLL_SUM, comm));
  Values result = same.values();
  result.resize(static_cast<size_t>(mine * type.values));
  EXPECT_EQ(result, sum_over_ranks(size, first, mine * type.values));
  EXPECT_TRUE(same.gaps_untouched());
  return SGLCOLL_OK;
}

sglcoll_status check_allreduce(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  int64_t block = count * type.values;
  TypedBuffer send(type.type, count), recv(type.type, count), same(type.type, count);
  send.fill(contribution(rank, 0, block));
  sglcoll_status status =
      CALL(allreduce, send.address(), recv.address(), count, type.type, SGLCOLL_SUM, comm);
  if (status != SGLCOLL_OK) return status;
  EXPECT_EQ(recv.values(), sum_over_ranks(size, 0, block));
  EXPECT_TRUE(recv.gaps_untouched());

  same.fill(contribution(rank, 0, block));
  EXPECT_OK(CALL(allreduce, SGLCOLL_IN_PLACE, same.address(), count, type.type, SGLCOLL_SUM, comm));
  EXPECT_EQ(same.values(), sum_over_ranks(size, 0, block));
  EXPECT_TRUE(same.gaps_untouched());
  return SGLCOLL_OK;
}

sglcoll_status check_reduce(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  int64_t block = count * type.values;
  for (int root = 0; root < size; ++root) {
    TypedBuffer send(type.type, count), recv(type.type, count);
    send.fill(contribution(rank, 0, block));
    void* target = rank == root ? recv.address() : nullptr;
    sglcoll_status status =
        CALL(reduce, send.address(), target, count, type.type, SGLCOLL_SUM, root, comm);
    if (status != SGLCOLL_OK) return status;
    if (rank == root) {
      EXPECT_EQ(recv.values(), sum_over_ranks(size, 0, block));
      EXPECT_TRUE(recv.gaps_untouched());
    }
    const void* source = rank == root ? SGLCOLL_IN_PLACE : send.address();
    EXPECT_OK(CALL(reduce, source, rank == root ? send.address() : nullptr, count, type.type,
                   SGLCOLL_SUM, root, comm));
    EXPECT_EQ(send.values(),
              rank == root ? sum_over_ranks(size, 0, block) : contribution(rank, 0, block));
  }
  return SGLCOLL_OK;
}

sglcoll_status check_bcast(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  int64_t block = count * type.values;
  for (int root = 0; root < size; ++root) {
    TypedBuffer buffer(type.type, count);
    buffer.fill(contribution(rank, 0, block));
    sglcoll_status status = CALL(bcast, buffer.address(), count, type.type, root, comm);
    if (status != SGLCOLL_OK) return status;
    EXPECT_EQ(buffer.values(), contribution(root, 0, block));
    EXPECT_TRUE(buffer.gaps_untouched());
  }
  return SGLCOLL_OK;
}

sglcoll_status check_gather(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  int64_t block = count * type.values;
  const std::vector<int64_t> counts(static_cast<size_t>(size), count);
  std::vector<int64_t> displacements(static_cast<size_t>(size));
  for (size_t i = 0; i < displacements.size(); ++i)
    displacements[i] = static_cast<int64_t>(i) * count;
  for (int root = 0; root < size; ++root) {
    TypedBuffer send(type.type, count), recv(type.type, count * size),
        same(type.type, count * size);
    send.fill(contribution(rank, 0, block));
    bool here = rank == root;
    sglcoll_status status =
        CALL(gather, send.address(), count, type.type, here ? recv.address() : nullptr, count,
             here ? type.type : nullptr, root, comm);
    if (status != SGLCOLL_OK) return status;
    if (here) expect_blocks(recv, type, counts, displacements);
    put_block(same, type, displacements[static_cast<size_t>(rank)], send.values());
    EXPECT_OK(CALL(gather, here ? SGLCOLL_IN_PLACE : send.address(), count, type.type,
                   same.address(), count, type.type, root, comm));
    if (here) expect_blocks(same, type, counts, displacements);
  }
  return SGLCOLL_OK;
}

sglcoll_status check_gatherv(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  std::vector<int64_t> counts = uneven_counts(size, count);
  std::vector<int64_t> displacements = reversed_displacements(counts);
  int64_t mine = counts[static_cast<size_t>(rank)];
  int root = size - 1;
  TypedBuffer send(type.type, mine), recv(type.type, span_of(counts)),
      same(type.type, span_of(counts));
  send.fill(contribution(rank, 0, mine * type.values));
  bool here = rank == root;
  sglcoll_status status =
      CALL(gatherv, send.address(), mine, type.type, here ? recv.address() : nullptr,
           here ? counts.data() : nullptr, here ? displacements.data() : nullptr,
           here ? type.type : nullptr, root, comm);
  if (status != SGLCOLL_OK) return status;
  if (here) expect_blocks(recv, type, counts, displacements);
  put_block(same, type, displacements[static_cast<size_t>(rank)], send.values());
  EXPECT_OK(CALL(gatherv, here ? SGLCOLL_IN_PLACE : send.address(), mine, type.type, same.address(),
                 counts.data(), displacements.data(), type.type, root, comm));
  if (here) expect_blocks(same, type, counts, displacements);
  return SGLCOLL_OK;
}

sglcoll_status check_scatter(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  int64_t block = count * type.values;
  for (int root = 0; root < size; ++root) {
    TypedBuffer send(type.type, count * size), recv(type.type, count), same(type.type, count);
    send.fill(contribution(root, 0, block * size));
    bool here = rank == root;
    sglcoll_status status =
        CALL(scatter, here ? send.address() : nullptr, count, here ? type.type : nullptr,
             recv.address(), count, type.type, root, comm);
    if (status != SGLCOLL_OK) return status;
    EXPECT_EQ(recv.values(), contribution(root, rank * block, block));
    EXPECT_TRUE(recv.gaps_untouched());
    EXPECT_OK(CALL(scatter, send.address(), count, type.type,
                   here ? SGLCOLL_IN_PLACE : same.address(), count, type.type, root, comm));
    EXPECT_EQ(send.values(), contribution(root, 0, block * size));
    if (!here) {
      EXPECT_EQ(same.values(), contribution(root, rank * block, block));
    }
  }
  return SGLCOLL_OK;
}

sglcoll_status check_scatterv(sglcoll_comm comm, const TypeCase& type, int64_t count) {
  int rank = rank_of(comm), size = size_of(comm);
  std::vector<int64_t> counts = uneven_counts(size, count);
  std::vector<int64_t> displacements = reversed_displacements(counts);
  int64_t mine = counts[static_cast<size_t>(rank)];
  TypedBuffer send(type.type, span_of(counts)), recv(type.type, mine), same(type.type, mine);
  send.fill(contribution(7, 0, span_of(counts) * type.values));
  bool here = rank == 0;
  const Values expected = block_values(send, type, displacements[static_cast<size_t>(rank)], mine);
  sglcoll_status status =
      CALL(scatterv, here ? send.address() : nullptr, here ? counts.data() : nullptr,
           here ? displacements.data() : nullptr, here ? type.type : nullptr, recv.address(), mine,
           type.type, 0, comm);
  if (status != SGLCOLL_OK) return status;
  EXPECT_EQ(recv.values(), expected);
  EXPECT_TRUE(recv.gaps_untouched());
  EXPECT_OK(CALL(scatterv, send.address(), counts.data(), displacements.data(), type.type,
                 here ? SGLCOLL_IN_PLACE : same.address(), mine, type.type, 0, comm));
  if (!here) {
    EXPECT_EQ(same.values(), expected);
  }
  return SGLCOLL_OK;
}

sglcoll_status check_barrier(sglcoll_comm comm, const TypeCase&, int64_t) {
  return CALL(barrier, comm);
}

}  // namespace sgl::test
