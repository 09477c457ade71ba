#include "sglperf/backend.hpp"
#include "sglperf/traffic.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>

#include <mpi.h>

namespace perf {
namespace {

std::vector<int> to_int(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

class MpiBackend final : public Backend {
 public:
  MpiBackend() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiBackend() override { MPI_Finalize(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string describe() const override {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    std::string text(version, static_cast<size_t>(length));
    return text.substr(0, text.find_first_of(",\n"));
  }

  int32_t* allocate(int64_t elements, Memory memory) override {
    if (memory != Memory::malloced)
      throw std::invalid_argument(
          "--memory alloc: it is memory of libsglcoll, the MPI builds take malloc");
    return allocate_private(static_cast<size_t>(elements) * sizeof(int32_t));
  }
  void release(int32_t* memory) override { std::free(memory); }

  void prepare(const std::string& collective, int root, const Shape& shape, Mode mode) override {
    int64_t most = std::max(shape.extent, shape.payload * 4) * size_;
    if (most > std::numeric_limits<int>::max())
      throw std::invalid_argument("a layout of " + std::to_string(shape.payload * 4) +
                                  " bytes on " + std::to_string(size_) +
                                  " ranks: MPI's counts are of 32 bits, take a smaller one");
    make_type(shape);
    if (!sum_made_) MPI_Op_create(sum_elements, 1, &sum_);
    sum_made_ = true;
    reducing_ = this;
    // A contiguous layout is given as plain elements, which the MPI reduces natively.
    const bool plain = mode == Mode::packed || shape.kind == Shape::Kind::contiguous;
    root_ = root;
    post_ = post_of(collective);
    posted_type_ = plain ? MPI_INT32_T : type_;
    op_ = plain ? MPI_SUM : sum_;
    count_ = plain ? static_cast<int>(shape.payload) : 1;
    const auto block_bytes = static_cast<int>(plain ? shape.payload * 4 : shape.extent * 4);
    counts_.assign(static_cast<size_t>(size_), count_);
    types_.assign(counts_.size(), posted_type_);
    starts_.clear();
    byte_starts_.clear();
    for (int block = 0; block < size_; ++block) {
      starts_.push_back(block * count_);
      byte_starts_.push_back(block * block_bytes);
    }
    mode_ = mode;
    payload_ = static_cast<int>(shape.payload);
    packed_blocks_ = blocks_sent(collective, rank_, size_, root);
    unpacked_blocks_ = blocks_received(collective, rank_, size_, root);
    packs_in_out_ = collective == "bcast" && rank_ == root;
    packed_send_.assign(static_cast<size_t>(payload_) * static_cast<size_t>(size_), 0);
    packed_recv_ = packed_send_;
  }

  void run(const int32_t* send, int32_t* recv) override {
    if (mode_ == Mode::derived) return post_(*this, send, recv);
    if (packed_blocks_ > 0) move(send, packed_blocks_, packed_send_.data(), true);
    if (packs_in_out_) move(recv, 1, packed_recv_.data(), true);
    post_(*this, packed_send_.data(), packed_recv_.data());
    if (unpacked_blocks_ > 0) move(recv, unpacked_blocks_, packed_recv_.data(), false);
  }

  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  std::vector<double> gather_all(const std::vector<double>& mine) override {
    std::vector<double> all(mine.size() * static_cast<size_t>(size_));
    MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, all.data(),
                  static_cast<int>(mine.size()), MPI_DOUBLE, MPI_COMM_WORLD);
    return all;
  }

 private:
  void make_type(const Shape& shape) {
    MPI_Datatype made = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL;
    switch (shape.kind) {
      case Shape::Kind::contiguous:
        MPI_Type_contiguous(static_cast<int>(shape.block), MPI_INT32_T, &made);
        break;
      case Shape::Kind::vector:
        MPI_Type_vector(static_cast<int>(shape.count), static_cast<int>(shape.block),
                        static_cast<int>(shape.stride), MPI_INT32_T, &made);
        break;
      case Shape::Kind::indexed: {
        std::vector<int> lengths = to_int(shape.lengths),
                         displacements = to_int(shape.displacements);
        MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(),
                         MPI_INT32_T, &made);
        break;
      }
      case Shape::Kind::subarray: {
        std::vector<int> sizes = to_int(shape.sizes), subsizes = to_int(shape.subsizes),
                         starts = to_int(shape.starts);
        MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(),
                                 starts.data(), MPI_ORDER_C, MPI_INT32_T, &made);
        break;
      }
    }
    MPI_Type_create_resized(made, 0, shape.extent * 4, &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&made);
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
    type_ = resized;
  }

  // MPI defines its own sum on basic types only: a derived type takes a user's
  // operation, which here packs, adds and unpacks.
  static void sum_elements(void* in, void* inout, int* count, MPI_Datatype* type) {
    static thread_local std::vector<int32_t> a, b;
    size_t elements = static_cast<size_t>(reducing_->payload_) * static_cast<size_t>(*count);
    a.resize(elements);
    b.resize(elements);
    int bytes = static_cast<int>(elements * 4), position = 0;
    MPI_Pack(in, *count, *type, a.data(), bytes, &position, MPI_COMM_WORLD);
    position = 0;
    MPI_Pack(inout, *count, *type, b.data(), bytes, &position, MPI_COMM_WORLD);
    for (size_t i = 0; i < elements; ++i)
      b[i] = static_cast<int32_t>(static_cast<uint32_t>(a[i]) + static_cast<uint32_t>(b[i]));
    position = 0;
    MPI_Unpack(b.data(), bytes, &position, inout, *count, *type, MPI_COMM_WORLD);
  }

  void move(const void* buffer, int count, int32_t* packed, bool out) {
    int position = 0, bytes = payload_ * 4 * count;
    if (out)
      MPI_Pack(buffer, count, type_, packed, bytes, &position, MPI_COMM_WORLD);
    else
      MPI_Unpack(packed, bytes, &position, const_cast<void*>(buffer), count, type_, MPI_COMM_WORLD);
  }
  using Self = MpiBackend;
  using Post = void (*)(const Self& self, const void* send, void* recv);

  static Post post_of(const std::string& name) {
    static const std::map<std::string, Post> posts{
        {"allgather",
         [](const Self& s, const void* send, void* recv) {
           MPI_Allgather(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_,
                         MPI_COMM_WORLD);
         }},
        {"allgatherv",
         [](const Self& s, const void* send, void* recv) {
           MPI_Allgatherv(send, s.count_, s.posted_type_, recv, s.counts_.data(), s.starts_.data(),
                          s.posted_type_, MPI_COMM_WORLD);
         }},
        {"reduce_scatter_block",
         [](const Self& s, const void* send, void* recv) {
           MPI_Reduce_scatter_block(send, recv, s.count_, s.posted_type_, s.op_, MPI_COMM_WORLD);
         }},
        {"reduce_scatter",
         [](const Self& s, const void* send, void* recv) {
           MPI_Reduce_scatter(send, recv, s.counts_.data(), s.posted_type_, s.op_, MPI_COMM_WORLD);
         }},
        {"allreduce",
         [](const Self& s, const void* send, void* recv) {
           MPI_Allreduce(send, recv, s.count_, s.posted_type_, s.op_, MPI_COMM_WORLD);
         }},
        {"reduce",
         [](const Self& s, const void* send, void* recv) {
           MPI_Reduce(send, recv, s.count_, s.posted_type_, s.op_, s.root_, MPI_COMM_WORLD);
         }},
        {"bcast",
         [](const Self& s, const void*, void* recv) {
           MPI_Bcast(recv, s.count_, s.posted_type_, s.root_, MPI_COMM_WORLD);
         }},
        {"gather",
         [](const Self& s, const void* send, void* recv) {
           MPI_Gather(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_, s.root_,
                      MPI_COMM_WORLD);
         }},
        {"gatherv",
         [](const Self& s, const void* send, void* recv) {
           MPI_Gatherv(send, s.count_, s.posted_type_, recv, s.counts_.data(), s.starts_.data(),
                       s.posted_type_, s.root_, MPI_COMM_WORLD);
         }},
        {"scatter",
         [](const Self& s, const void* send, void* recv) {
           MPI_Scatter(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_, s.root_,
                       MPI_COMM_WORLD);
         }},
        {"scatterv",
         [](const Self& s, const void* send, void* recv) {
           MPI_Scatterv(send, s.counts_.data(), s.starts_.data(), s.posted_type_, recv, s.count_,
                        s.posted_type_, s.root_, MPI_COMM_WORLD);
         }},
        {"alltoall",
         [](const Self& s, const void* send, void* recv) {
           MPI_Alltoall(send, s.count_, s.posted_type_, recv, s.count_, s.posted_type_,
                        MPI_COMM_WORLD);
         }},
        {"alltoallv",
         [](const Self& s, const void* send, void* recv) {
           MPI_Alltoallv(send, s.counts_.data(), s.starts_.data(), s.posted_type_, recv,
                         s.counts_.data(), s.starts_.data(), s.posted_type_, MPI_COMM_WORLD);
         }},
        {"alltoallw",
         [](const Self& s, const void* send, void* recv) {
           MPI_Alltoallw(send, s.counts_.data(), s.byte_starts_.data(), s.types_.data(), recv,
                         s.counts_.data(), s.byte_starts_.data(), s.types_.data(), MPI_COMM_WORLD);
         }},
        {"barrier", [](const Self&, const void*, void*) { MPI_Barrier(MPI_COMM_WORLD); }},
    };
    return posts.at(name);
  }

  static inline MpiBackend* reducing_ = nullptr;
  int rank_ = 0, size_ = 1, payload_ = 0;
  bool sum_made_ = false;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op sum_ = MPI_OP_NULL;
  Mode mode_ = Mode::derived;
  // What is posted, and what of the buffers is packed before and unpacked behind it.
  Post post_ = nullptr;
  int root_ = 0, count_ = 0;
  MPI_Datatype posted_type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
  std::vector<int> counts_, starts_, byte_starts_;
  std::vector<MPI_Datatype> types_;
  int packed_blocks_ = 0, unpacked_blocks_ = 0;
  bool packs_in_out_ = false;
  std::vector<int32_t> packed_send_, packed_recv_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<MpiBackend>();
}

}  // namespace perf
