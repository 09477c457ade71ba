// The three forms of every collective, and requests: many operations under way, completed
// in every order by every call, persistent ones started again and again.
#include "api/oracle.hpp"

#include <sglcoll/sglcoll.hpp>

#include <array>
#include <memory>
#include <numeric>
#include <random>

namespace sgl::test {
namespace {

class AtRankCount : public testing::TestWithParam<int> {};

TEST_P(AtRankCount, EveryFormMatchesTheOracle) {
  on_world(GetParam(), [](sglcoll_comm world) {
    std::vector<TypeCase> types = int32_types();
    for (Form form : {Form::nonblocking, Form::persistent}) {
      use_form(form);
      for (const NamedCheck& named : kChecks) {
        for (const TypeCase& type : types) {
          for (int64_t count : {1, 1500}) {
            SCOPED_TRACE(std::string(named.collective) + " " + type.name + " count " +
                         std::to_string(count) + " form " + std::to_string(static_cast<int>(form)));
            ASSERT_OK(named.check(world, type, count));
          }
        }
      }
    }
    free_types(types);
  });
}

// The C++ interface's alltoalls; rank r has value 10 r + i for rank i.
TEST(CxxInterface, AlltoallInEveryForm) {
  on_world(2, [](sglcoll_comm world) {
    sglcoll_comm made = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &made));
    const sglcoll::Communicator comm(made);
    const int rank = comm.rank();
    const std::array<int32_t, 2> send{10 * rank, 10 * rank + 1}, wanted{rank, 10 + rank};
    const std::array<int64_t, 2> counts{1, 1}, places{0, 1}, bytes{0, 4};
    const std::array<sglcoll_type, 2> types{SGLCOLL_INT32, SGLCOLL_INT32};
    const sglcoll::Parts parts{counts, places};
    const sglcoll::TypedParts typed{counts, bytes, types};
    std::array<int32_t, 2> recv{};
    auto expect_done = [&](auto call) {
      recv.fill(-1);
      call();
      EXPECT_EQ(recv, wanted);
    };
    auto started = [](sglcoll::Request request) {
      request.start();
      request.wait();
    };
    expect_done([&] { comm.alltoall(send, recv); });
    expect_done([&] { comm.ialltoall(send, recv).wait(); });
    expect_done([&] { started(comm.alltoall_init(send, recv)); });
    expect_done([&] { comm.alltoallv(send, parts, recv, parts); });
    expect_done([&] { comm.ialltoallv(send, parts, recv, parts).wait(); });
    expect_done([&] { started(comm.alltoallv_init(send, parts, recv, parts)); });
    expect_done([&] { comm.alltoallw(send.data(), typed, recv.data(), typed); });
    expect_done([&] { comm.ialltoallw(send.data(), typed, recv.data(), typed).wait(); });
    expect_done([&] { started(comm.alltoallw_init(send.data(), typed, recv.data(), typed)); });
    recv = send;
    comm.alltoall_in_place(recv);
    EXPECT_EQ(recv, wanted);
    const sglcoll::Parts short_by_one{std::span(counts).first(1), places};
    EXPECT_THROW(comm.alltoallv(send, short_by_one, recv, parts), sglcoll::Error);
  });
}

// A call with other arrays than the one before, at the same addresses.
TEST(Arrays, AreComparedAndNotOnlyTheirAddresses) {
  on_world(2, [](sglcoll_comm world) {
    const int rank = rank_of(world);
    std::vector<int64_t> counts{1, 1}, places{0, 2};
    const std::vector<int32_t> send{rank, rank + 10, rank + 20, rank + 30};
    for (int64_t count : {1, 2, 1, 2, 0}) {
      counts.assign(2, count);
      std::vector<int32_t> recv(4, -1);
      ASSERT_OK(sglcoll_alltoallv(send.data(), counts.data(), places.data(), SGLCOLL_INT32,
                                  recv.data(), counts.data(), places.data(), SGLCOLL_INT32, world));
      for (int from = 0; from < 2; ++from)
        for (int i = 0; i < 2; ++i)
          EXPECT_EQ(recv[static_cast<size_t>(2 * from + i)],
                    i < count ? from + 20 * rank + 10 * i : -1)
              << count << " from " << from;
    }
  });
}

// An operation on integers whose input changes from run to run.
class Job {
 public:
  enum class Kind { allreduce, bcast, allgather, reduce_scatter, gather, alltoall, barrier };
  static constexpr int kKinds = 7;

  Job(Kind kind, sglcoll_comm comm, int64_t count)
      : kind_(kind), comm_(comm), count_(count), rank_(rank_of(comm)), size_(size_of(comm)) {
    send_.resize(static_cast<size_t>(count * size_));
    recv_.resize(static_cast<size_t>(count * size_));
  }

  void fill(int run) {
    for (size_t i = 0; i < send_.size(); ++i) send_[i] = input(rank_, run, static_cast<int>(i));
    std::fill(recv_.begin(), recv_.end(), -1);
    if (kind_ == Kind::bcast && rank_ == root()) std::copy_n(send_.begin(), count_, recv_.begin());
    run_ = run;
  }

  void start() {
    fill(0);
    EXPECT_OK(call(sglcoll_iallreduce, sglcoll_ibcast, sglcoll_iallgather,
                   sglcoll_ireduce_scatter_block, sglcoll_igather, sglcoll_ialltoall,
                   sglcoll_ibarrier));
  }
  void init() {
    EXPECT_OK(call(sglcoll_allreduce_init, sglcoll_bcast_init, sglcoll_allgather_init,
                   sglcoll_reduce_scatter_block_init, sglcoll_gather_init, sglcoll_alltoall_init,
                   sglcoll_barrier_init));
  }

  void expect_done() const {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind_)) + " count " +
                 std::to_string(count_) + " run " + std::to_string(run_));
    for (int64_t i = 0; i < result_count(); ++i) {
      if (recv_[static_cast<size_t>(i)] == expected(static_cast<int>(i))) continue;
      ADD_FAILURE() << "element " << i << " is " << recv_[static_cast<size_t>(i)] << ", not "
                    << expected(static_cast<int>(i));
      return;
    }
  }
  bool is_done() const {
    for (int64_t i = 0; i < result_count(); ++i)
      if (recv_[static_cast<size_t>(i)] != expected(static_cast<int>(i))) return false;
    return true;
  }

  sglcoll_request request = nullptr;

 private:
  static int32_t input(int rank, int run, int index) {
    return (rank + 1) * 1000 + run * 17 + index;
  }
  int root() const { return static_cast<int>(count_) % size_; }

  template <class... Functions>
  sglcoll_status call(Functions... functions) {
    auto [allreduce, bcast, allgather, reduce_scatter, gather, alltoall, barrier] =
        std::tuple(functions...);
    void *send = send_.data(), *recv = recv_.data();
    switch (kind_) {
      case Kind::allreduce:
        return allreduce(send, recv, count_, SGLCOLL_INT, SGLCOLL_SUM, comm_, &request);
      case Kind::bcast:
        return bcast(recv, count_, SGLCOLL_INT, root(), comm_, &request);
      case Kind::allgather:
        return allgather(send, count_, SGLCOLL_INT, recv, count_, SGLCOLL_INT, comm_, &request);
      case Kind::reduce_scatter:
        return reduce_scatter(send, recv, count_, SGLCOLL_INT, SGLCOLL_MAX, comm_, &request);
      case Kind::gather:
        return gather(send, count_, SGLCOLL_INT, recv, count_, SGLCOLL_INT, root(), comm_,
                      &request);
      case Kind::alltoall:
        return alltoall(send, count_, SGLCOLL_INT, recv, count_, SGLCOLL_INT, comm_, &request);
      case Kind::barrier:
        return barrier(comm_, &request);
    }
    return SGLCOLL_ERR_INTERNAL;
  }

  int64_t result_count() const {
    switch (kind_) {
      case Kind::allgather:
      case Kind::alltoall:
        return count_ * size_;
      case Kind::gather:
        return rank_ == root() ? count_ * size_ : 0;
      case Kind::barrier:
        return 0;
      default:
        return count_;
    }
  }
  int32_t expected(int i) const {
    const auto count = static_cast<int>(count_);
    switch (kind_) {
      case Kind::allreduce: {
        int32_t sum = 0;
        for (int rank = 0; rank < size_; ++rank) sum += input(rank, run_, i);
        return sum;
      }
      case Kind::bcast:
        return input(root(), run_, i);
      case Kind::reduce_scatter:
        return input(size_ - 1, run_, rank_ * count + i);
      case Kind::alltoall:
        return input(i / count, run_, rank_ * count + i % count);
      default:
        return input(i / count, run_, i % count);
    }
  }

  Kind kind_;
  sglcoll_comm comm_;
  int64_t count_;
  int rank_, size_;
  std::vector<int32_t> send_, recv_;
  int run_ = 0;
};

using Jobs = std::vector<std::unique_ptr<Job>>;

// Jobs of all kinds and sizes on each of the communicators, in one order per communicator.
std::vector<Jobs> make_jobs(const std::vector<sglcoll_comm>& comms) {
  constexpr int64_t kCounts[] = {1, 40, 5000};
  std::vector<Jobs> jobs(comms.size());
  for (size_t c = 0; c < comms.size(); ++c)
    for (int64_t count : kCounts)
      for (int kind = 0; kind < Job::kKinds; ++kind)
        jobs[c].push_back(std::make_unique<Job>(static_cast<Job::Kind>(kind), comms[c], count));
  return jobs;
}

std::vector<sglcoll_comm> make_comms(sglcoll_comm world) {
  sglcoll_comm twin = nullptr, reversed = nullptr;
  EXPECT_OK(sglcoll_comm_dup(world, &twin));
  EXPECT_OK(sglcoll_comm_split(world, 0, -rank_of(world), &reversed));
  return {world, twin, reversed};
}

void free_comms(std::vector<sglcoll_comm>& comms) {
  for (size_t i = 1; i < comms.size(); ++i) EXPECT_OK(sglcoll_comm_free(&comms[i]));
}

// All of them, mixed between the communicators in an order of this rank's own.
std::vector<Job*> interleaved(const std::vector<Jobs>& jobs, std::mt19937& random) {
  std::vector<size_t> next(jobs.size()), source;
  for (size_t c = 0; c < jobs.size(); ++c) source.insert(source.end(), jobs[c].size(), c);
  std::shuffle(source.begin(), source.end(), random);
  std::vector<Job*> order;
  for (size_t c : source) order.push_back(jobs[c][next[c]++].get());
  return order;
}

enum class Finish { wait, test, waitall, testall, waitany };

void finish(const std::vector<Job*>& jobs, Finish how) {
  std::vector<sglcoll_request> requests;
  for (Job* job : jobs) requests.push_back(job->request);
  const int count = static_cast<int>(requests.size());
  switch (how) {
    case Finish::wait:
      for (sglcoll_request& request : requests) EXPECT_OK(sglcoll_wait(&request));
      break;
    case Finish::test:
      for (sglcoll_request& request : requests)
        for (int complete = 0; !complete;) ASSERT_OK(sglcoll_test(&request, &complete));
      break;
    case Finish::waitall:
      EXPECT_OK(sglcoll_waitall(count, requests.data()));
      break;
    case Finish::testall:
      for (int complete = 0; !complete;)
        ASSERT_OK(sglcoll_testall(count, requests.data(), &complete));
      break;
    case Finish::waitany:
      for (int left = count, index = 0; left > 0; --left) {
        ASSERT_OK(sglcoll_waitany(count, requests.data(), &index));
        ASSERT_GE(index, 0);
        jobs[static_cast<size_t>(index)]->expect_done();
      }
      break;
  }
  int index = 0;
  EXPECT_OK(sglcoll_waitany(count, requests.data(), &index));
  EXPECT_EQ(index, -1);
  for (size_t i = 0; i < requests.size(); ++i) {
    jobs[i]->request = requests[i];
    jobs[i]->expect_done();
  }
}

constexpr Finish kFinishes[] = {Finish::wait, Finish::test, Finish::waitall, Finish::testall,
                                Finish::waitany};

TEST_P(AtRankCount, ManyOutstandingOperations) {
  on_world(GetParam(), [](sglcoll_comm world) {
    std::mt19937 random(static_cast<unsigned>(rank_of(world)) + 1);
    std::vector<sglcoll_comm> comms = make_comms(world);
    for (Finish how : kFinishes) {
      SCOPED_TRACE("finished by call " + std::to_string(static_cast<int>(how)));
      std::vector<Jobs> jobs = make_jobs(comms);
      std::vector<Job*> order = interleaved(jobs, random);
      for (Job* job : order) job->start();
      std::shuffle(order.begin(), order.end(), random);
      finish(order, how);
      for (Job* job : order) EXPECT_EQ(job->request, nullptr);
    }
    free_comms(comms);
  });
}

TEST_P(AtRankCount, PersistentOnesStartInAnyOrder) {
  on_world(GetParam(), [](sglcoll_comm world) {
    std::mt19937 random(static_cast<unsigned>(rank_of(world)) + 77);
    std::vector<sglcoll_comm> comms = make_comms(world);
    std::vector<Jobs> jobs = make_jobs(comms);
    for (Jobs& list : jobs)
      for (auto& job : list) job->init();
    std::vector<Job*> order = interleaved(jobs, random);
    for (int run = 0; run < 10; ++run) {
      SCOPED_TRACE("run " + std::to_string(run));
      std::shuffle(order.begin(), order.end(), random);
      for (Job* job : order) job->fill(run);
      const size_t half = order.size() / 2;
      std::vector<sglcoll_request> first;
      for (size_t i = 0; i < half; ++i) first.push_back(order[i]->request);
      ASSERT_OK(sglcoll_startall(static_cast<int>(half), first.data()));
      for (size_t i = half; i < order.size(); ++i) ASSERT_OK(sglcoll_start(order[i]->request));
      std::shuffle(order.begin(), order.end(), random);
      finish(order, kFinishes[run % 5]);
    }
    for (Job* job : order) {
      EXPECT_OK(sglcoll_wait(&job->request));  // inactive: complete, and kept
      ASSERT_NE(job->request, nullptr);
      EXPECT_OK(sglcoll_request_free(&job->request));
    }
    free_comms(comms);
  });
}

TEST_P(AtRankCount, FreedOperationsGoOn) {
  on_world(GetParam(), [](sglcoll_comm world) {
    sglcoll_comm twin = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &twin));
    std::vector<Jobs> jobs = make_jobs({world, twin});
    for (Jobs& list : jobs)
      for (auto& job : list) {
        job->start();
        EXPECT_OK(sglcoll_request_free(&job->request));
        EXPECT_EQ(job->request, nullptr);
      }
    EXPECT_OK(sglcoll_comm_free(&twin));
    auto all_done = [&] {
      for (Jobs& list : jobs)
        for (auto& job : list)
          if (!job->is_done()) return false;
      return true;
    };
    int everywhere = 0;
    for (int turn = 0; turn < 1000 && !everywhere; ++turn) {
      const int here = all_done();
      ASSERT_OK(sglcoll_allreduce(&here, &everywhere, 1, SGLCOLL_INT, SGLCOLL_LAND, world));
    }
    EXPECT_TRUE(all_done());
  });
}

// sglcoll_finalize waits for them too.
TEST_P(AtRankCount, FinalizeWaitsForFreedOperations) {
  std::unique_ptr<Job> job;
  on_world(
      GetParam(),
      [&](sglcoll_comm world) {
        job = std::make_unique<Job>(Job::Kind::allgather, world, 50000);
        job->start();
        EXPECT_OK(sglcoll_request_free(&job->request));
        EXPECT_OK(sglcoll_finalize(&world));
        job->expect_done();
      },
      SGLCOLL_THREAD_SINGLE);
}

// A persistent request may outlive its communicator's handle.
TEST(Persistent, OutlivesTheHandleOfItsCommunicator) {
  on_world(3, [](sglcoll_comm world) {
    sglcoll_comm twin = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &twin));
    Job job(Job::Kind::allreduce, twin, 3000);
    job.init();
    ASSERT_OK(sglcoll_comm_free(&twin));
    for (int run = 0; run < 3; ++run) {
      job.fill(run);
      ASSERT_OK(sglcoll_start(job.request));
      ASSERT_OK(sglcoll_wait(&job.request));
      job.expect_done();
    }
    ASSERT_OK(sglcoll_request_free(&job.request));
  });
}

TEST(Persistent, ManyStarts) {
  on_world(2, [](sglcoll_comm world) {
    int32_t mine = 0, sum = 0;
    sglcoll_request request = nullptr;
    ASSERT_OK(sglcoll_allreduce_init(&mine, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, world, &request));
    for (int run = 0; run < 3000; ++run) {
      mine = run;
      ASSERT_OK(sglcoll_start(request));
      ASSERT_OK(sglcoll_wait(&request));
      ASSERT_EQ(sum, 2 * run);
    }
    ASSERT_OK(sglcoll_request_free(&request));
  });
}

// The type and the operation of a reduction under way may be freed.
TEST(Requests, HandlesOfAnActiveReductionMayBeFreed) {
  on_world(3, [](sglcoll_comm world) {
    std::vector<int32_t> mine(4000, rank_of(world)), result(4000, -1);
    sglcoll_type pair = nullptr;
    sglcoll_op op = nullptr;
    ASSERT_OK(sglcoll_type_contiguous(2, SGLCOLL_INT, &pair));
    ASSERT_OK(sglcoll_type_commit(&pair));
    sglcoll_op_function largest = [](const void* in, void* inout, int64_t count, sglcoll_type type,
                                     void*) {
      int64_t bytes = 0;
      if (sglcoll_type_size(type, &bytes) != SGLCOLL_OK || bytes != 8) return;
      for (int64_t i = 0; i < 2 * count; ++i) {
        int32_t& to = static_cast<int32_t*>(inout)[i];
        to = std::max(to, static_cast<const int32_t*>(in)[i]);
      }
    };
    ASSERT_OK(sglcoll_op_create(largest, nullptr, 1, &op));
    sglcoll_request request = nullptr;
    ASSERT_OK(sglcoll_iallreduce(mine.data(), result.data(), 2000, pair, op, world, &request));
    ASSERT_OK(sglcoll_type_free(&pair));
    ASSERT_OK(sglcoll_op_free(&op));
    ASSERT_OK(sglcoll_wait(&request));
    EXPECT_EQ(result, std::vector<int32_t>(4000, 2));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, AtRankCount, testing::ValuesIn(kRankCounts),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

}  // namespace
}  // namespace sgl::test
