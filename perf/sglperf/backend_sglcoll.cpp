#include "sglperf/backend.hpp"
#include "sglperf/traffic.hpp"

#include <sglcoll/sglcoll.hpp>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace perf {
namespace {

using sglcoll::check;

class SglcollBackend final : public Backend {
 public:
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::string describe() const override {
    int major = 0, minor = 0, patch = 0;
    sglcoll_version(&major, &minor, &patch);
    const char* path = std::getenv("SGLCOLL_SHM_PATH");
    return "libsglcoll " + std::to_string(major) + "." + std::to_string(minor) + "." +
           std::to_string(patch) + ", data path " + (path ? path : "auto");
  }

  int32_t* allocate(int64_t elements, Memory memory) override {
    size_t bytes = static_cast<size_t>(elements) * sizeof(int32_t);
    void* made = nullptr;
    if (memory == Memory::malloced) return allocate_private(bytes);
    check(sglcoll_mem_alloc(world_.get(), bytes, &made));
    std::memset(made, 0, bytes);  // pages are there before anything is timed
    shared_.push_back(made);
    return static_cast<int32_t*>(made);
  }
  void release(int32_t* memory) override {
    if (std::erase(shared_, memory))
      check(sglcoll_mem_free(world_.get(), memory));
    else
      std::free(memory);
  }

  void set_layout(const Shape& shape, Mode mode) override {
    sglcoll_type made = nullptr;
    switch (shape.kind) {
      case Shape::Kind::contiguous:
        check(sglcoll_type_contiguous(shape.block, SGLCOLL_INT32, &made));
        break;
      case Shape::Kind::vector:
        check(sglcoll_type_vector(shape.count, shape.block, shape.stride, SGLCOLL_INT32, &made));
        break;
      case Shape::Kind::indexed:
        check(sglcoll_type_indexed(static_cast<int64_t>(shape.lengths.size()), shape.lengths.data(),
                                   shape.displacements.data(), SGLCOLL_INT32, &made));
        break;
      case Shape::Kind::subarray:
        check(sglcoll_type_subarray(static_cast<int>(shape.sizes.size()), shape.sizes.data(),
                                    shape.subsizes.data(), shape.starts.data(), SGLCOLL_ORDER_C,
                                    SGLCOLL_INT32, &made));
        break;
    }
    sglcoll_type resized = nullptr;
    check(sglcoll_type_resized(made, 0, shape.extent * 4, &resized));
    check(sglcoll_type_commit(&resized));
    check(sglcoll_type_free(&made));
    if (type_) check(sglcoll_type_free(&type_));
    type_ = resized;
    mode_ = mode;
    payload_ = shape.payload;
    extent_bytes_ = shape.extent * 4;
    if (mode == Mode::packed) {
      packed_send_.assign(static_cast<size_t>(payload_ * size()), 0);
      packed_recv_.assign(static_cast<size_t>(payload_ * size()), 0);
    }
  }

  void run(const std::string& collective, const int32_t* send, int32_t* recv, int root) override {
    if (mode_ == Mode::derived) return post(collective, send, recv, type_, 1, root);
    int64_t sent = blocks_sent(collective, rank(), size(), root);
    int64_t received = blocks_received(collective, rank(), size(), root);
    if (sent > 0) move(send, sent, packed_send_.data(), true);
    bool in_out = collective == "bcast";
    if (in_out && rank() == root) move(recv, 1, packed_recv_.data(), true);
    post(collective, packed_send_.data(), packed_recv_.data(), SGLCOLL_INT32, payload_, root);
    if (received > 0) move(recv, received, packed_recv_.data(), false);
  }

  void barrier() override { world_.barrier(); }

  std::vector<std::pair<std::string, double>> counters() const override {
    sglcoll_counters now{};
    check(sglcoll_counters_get(world_.get(), &now));
    return {{"plans_built", static_cast<double>(now.plans_built)},
            {"bytes_sent", static_cast<double>(now.bytes_sent)},
            {"bytes_received", static_cast<double>(now.bytes_received)},
            {"bytes_packed", static_cast<double>(now.bytes_packed)},
            {"bytes_direct", static_cast<double>(now.bytes_direct)},
            {"messages", static_cast<double>(now.messages)},
            {"batches", static_cast<double>(now.batches)},
            {"work_requests", static_cast<double>(now.work_requests)},
            {"segments", static_cast<double>(now.segments)}};
  }

  std::vector<double> gather_all(const std::vector<double>& mine) override {
    std::vector<double> all(mine.size() * static_cast<size_t>(size()));
    world_.allgather(mine, all);
    return all;
  }

 private:
  void move(const void* buffer, int64_t count, int32_t* packed, bool out) {
    int64_t position = 0, bytes = payload_ * 4 * count;
    if (out)
      check(sglcoll_pack(buffer, count, type_, packed, bytes, &position));
    else
      check(sglcoll_unpack(packed, bytes, &position, const_cast<void*>(buffer), count, type_));
  }
  void post(const std::string& name, const void* send, void* recv, sglcoll_type type, int64_t count,
            int root) {
    sglcoll_comm comm = world_.get();
    if (name == "allgather")
      return check(sglcoll_allgather(send, count, type, recv, count, type, comm));
    if (name == "allreduce")
      return check(sglcoll_allreduce(send, recv, count, type, SGLCOLL_SUM, comm));
    if (name == "reduce_scatter_block")
      return check(sglcoll_reduce_scatter_block(send, recv, count, type, SGLCOLL_SUM, comm));
    if (name == "reduce")
      return check(sglcoll_reduce(send, recv, count, type, SGLCOLL_SUM, root, comm));
    if (name == "bcast") return check(sglcoll_bcast(recv, count, type, root, comm));
    if (name == "gather")
      return check(sglcoll_gather(send, count, type, recv, count, type, root, comm));
    if (name == "scatter")
      return check(sglcoll_scatter(send, count, type, recv, count, type, root, comm));
    if (name == "alltoall")
      return check(sglcoll_alltoall(send, count, type, recv, count, type, comm));
    if (name == "barrier") return check(sglcoll_barrier(comm));
    std::vector<int64_t> counts(static_cast<size_t>(size()), count), starts(counts.size());
    for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<int64_t>(i) * count;
    if (name == "reduce_scatter")
      return check(sglcoll_reduce_scatter(send, recv, counts.data(), type, SGLCOLL_SUM, comm));
    if (name == "allgatherv")
      return check(
          sglcoll_allgatherv(send, count, type, recv, counts.data(), starts.data(), type, comm));
    if (name == "gatherv")
      return check(
          sglcoll_gatherv(send, count, type, recv, counts.data(), starts.data(), type, root, comm));
    if (name == "scatterv")
      return check(sglcoll_scatterv(send, counts.data(), starts.data(), type, recv, count, type,
                                    root, comm));
    if (name == "alltoallv")
      return check(sglcoll_alltoallv(send, counts.data(), starts.data(), type, recv, counts.data(),
                                     starts.data(), type, comm));
    if (name == "alltoallw") {
      const std::vector<sglcoll_type> types(counts.size(), type);
      const int64_t extent = type == SGLCOLL_INT32 ? 4 : extent_bytes_;
      for (int64_t& start : starts) start *= extent;
      return check(sglcoll_alltoallw(send, counts.data(), starts.data(), types.data(), recv,
                                     counts.data(), starts.data(), types.data(), comm));
    }
    throw std::invalid_argument("no collective " + name);
  }

  sglcoll::World world_;
  sglcoll_type type_ = nullptr;
  Mode mode_ = Mode::derived;
  int64_t payload_ = 0, extent_bytes_ = 0;
  std::vector<int32_t> packed_send_, packed_recv_;
  std::vector<void*> shared_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<SglcollBackend>();
}

}  // namespace perf
