#include "sglperf/backend.hpp"
#include "sglperf/traffic.hpp"

#include <sglcoll/sglcoll.hpp>

#include <cstdlib>
#include <cstring>
#include <map>

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

  void prepare(const std::string& collective, int root, const Shape& shape, Mode mode) override {
    make_type(shape);
    const bool packs = mode == Mode::packed;
    root_ = root;
    post_ = post_of(collective);
    posted_type_ = packs ? SGLCOLL_INT32 : type_;
    count_ = packs ? shape.payload : 1;
    const int64_t unit = packs ? 4 : shape.extent * 4;
    counts_.assign(static_cast<size_t>(size()), count_);
    types_.assign(counts_.size(), posted_type_);
    starts_.clear();
    byte_starts_.clear();
    for (int64_t block = 0; block < size(); ++block) {
      starts_.push_back(block * count_);
      byte_starts_.push_back(block * count_ * unit);
    }
    payload_ = shape.payload;
    mode_ = mode;
    packed_blocks_ = blocks_sent(collective, rank(), size(), root);
    unpacked_blocks_ = blocks_received(collective, rank(), size(), root);
    packs_in_out_ = collective == "bcast" && rank() == root;
    if (packs) {
      packed_send_.assign(static_cast<size_t>(payload_ * size()), 0);
      packed_recv_.assign(static_cast<size_t>(payload_ * size()), 0);
    }
  }

  void run(const int32_t* send, int32_t* recv) override {
    if (mode_ == Mode::derived) return check(post_(*this, send, recv));
    if (packed_blocks_ > 0) move(send, packed_blocks_, packed_send_.data(), true);
    if (packs_in_out_) move(recv, 1, packed_recv_.data(), true);
    check(post_(*this, packed_send_.data(), packed_recv_.data()));
    if (unpacked_blocks_ > 0) move(recv, unpacked_blocks_, packed_recv_.data(), false);
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
  void make_type(const Shape& shape) {
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
  }

  void move(const void* buffer, int64_t count, int32_t* packed, bool out) {
    int64_t position = 0, bytes = payload_ * 4 * count;
    if (out)
      check(sglcoll_pack(buffer, count, type_, packed, bytes, &position));
    else
      check(sglcoll_unpack(packed, bytes, &position, const_cast<void*>(buffer), count, type_));
  }
  using Self = SglcollBackend;
  using Post = sglcoll_status (*)(const Self& self, const void* send, void* recv);

  static Post post_of(const std::string& name) {
    static const std::map<std::string, Post> posts{
        {"allgather",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_allgather(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_,
                                    s.world_.get());
         }},
        {"allgatherv",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_allgatherv(send, s.count_, s.posted_type_, recv, s.counts_.data(),
                                     s.starts_.data(), s.posted_type_, s.world_.get());
         }},
        {"reduce_scatter_block",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_reduce_scatter_block(send, recv, s.count_, s.posted_type_, SGLCOLL_SUM,
                                               s.world_.get());
         }},
        {"reduce_scatter",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_reduce_scatter(send, recv, s.counts_.data(), s.posted_type_, SGLCOLL_SUM,
                                         s.world_.get());
         }},
        {"allreduce",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_allreduce(send, recv, s.count_, s.posted_type_, SGLCOLL_SUM,
                                    s.world_.get());
         }},
        {"reduce",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_reduce(send, recv, s.count_, s.posted_type_, SGLCOLL_SUM, s.root_,
                                 s.world_.get());
         }},
        {"bcast",
         [](const Self& s, const void*, void* recv) {
           return sglcoll_bcast(recv, s.count_, s.posted_type_, s.root_, s.world_.get());
         }},
        {"gather",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_gather(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_,
                                 s.root_, s.world_.get());
         }},
        {"gatherv",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_gatherv(send, s.count_, s.posted_type_, recv, s.counts_.data(),
                                  s.starts_.data(), s.posted_type_, s.root_, s.world_.get());
         }},
        {"scatter",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_scatter(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_,
                                  s.root_, s.world_.get());
         }},
        {"scatterv",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_scatterv(send, s.counts_.data(), s.starts_.data(), s.posted_type_, recv,
                                   s.count_, s.posted_type_, s.root_, s.world_.get());
         }},
        {"alltoall",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_alltoall(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_,
                                   s.world_.get());
         }},
        {"alltoallv",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_alltoallv(send, s.counts_.data(), s.starts_.data(), s.posted_type_, recv,
                                    s.counts_.data(), s.starts_.data(), s.posted_type_,
                                    s.world_.get());
         }},
        {"alltoallw",
         [](const Self& s, const void* send, void* recv) {
           return sglcoll_alltoallw(send, s.counts_.data(), s.byte_starts_.data(), s.types_.data(),
                                    recv, s.counts_.data(), s.byte_starts_.data(), s.types_.data(),
                                    s.world_.get());
         }},
        {"barrier",
         [](const Self& s, const void*, void*) { return sglcoll_barrier(s.world_.get()); }},
    };
    return posts.at(name);
  }

  sglcoll::World world_;
  sglcoll_type type_ = nullptr;
  Mode mode_ = Mode::derived;
  int64_t payload_ = 0;
  // What is posted, and what of the buffers is packed before and unpacked behind it.
  Post post_ = nullptr;
  int root_ = 0;
  sglcoll_type posted_type_ = nullptr;
  int64_t count_ = 0;
  std::vector<int64_t> counts_, starts_, byte_starts_;
  std::vector<sglcoll_type> types_;
  int packed_blocks_ = 0, unpacked_blocks_ = 0;
  bool packs_in_out_ = false;
  std::vector<int32_t> packed_send_, packed_recv_;
  std::vector<void*> shared_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<SglcollBackend>();
}

}  // namespace perf
