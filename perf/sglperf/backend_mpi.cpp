#include "sglperf/backend.hpp"
#include "sglperf/traffic.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
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

  void set_layout(const Shape& shape, Mode mode) override {
    int64_t most = std::max(shape.extent, shape.payload * 4) * size_;
    if (most > std::numeric_limits<int>::max())
      throw std::invalid_argument("a layout of " + std::to_string(shape.payload * 4) +
                                  " bytes on " + std::to_string(size_) +
                                  " ranks: MPI's counts are of 32 bits, take a smaller one");
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
    contiguous_ = shape.kind == Shape::Kind::contiguous;
    mode_ = mode;
    payload_ = static_cast<int>(shape.payload);
    extent_bytes_ = shape.extent * 4;
    packed_send_.assign(static_cast<size_t>(payload_) * static_cast<size_t>(size_), 0);
    packed_recv_ = packed_send_;
    if (!sum_made_) MPI_Op_create(sum_elements, 1, &sum_);
    sum_made_ = true;
    reducing_ = this;
  }

  void run(const std::string& collective, const int32_t* send, int32_t* recv, int root) override {
    if (mode_ == Mode::derived) {
      // A contiguous layout is given as plain elements, which the MPI reduces natively.
      if (contiguous_) return post(collective, send, recv, MPI_INT32_T, payload_, MPI_SUM, root);
      return post(collective, send, recv, type_, 1, sum_, root);
    }
    int sent = blocks_sent(collective, rank_, size_, root);
    int received = blocks_received(collective, rank_, size_, root);
    if (sent > 0) move(send, sent, packed_send_.data(), true);
    if (collective == "bcast" && rank_ == root) move(recv, 1, packed_recv_.data(), true);
    post(collective, packed_send_.data(), packed_recv_.data(), MPI_INT32_T, payload_, MPI_SUM,
         root);
    if (received > 0) move(recv, received, packed_recv_.data(), false);
  }

  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  std::vector<double> gather_all(const std::vector<double>& mine) override {
    std::vector<double> all(mine.size() * static_cast<size_t>(size_));
    MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, all.data(),
                  static_cast<int>(mine.size()), MPI_DOUBLE, MPI_COMM_WORLD);
    return all;
  }

 private:
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
  void post(const std::string& name, const void* send, void* recv, MPI_Datatype type, int count,
            MPI_Op op, int root) {
    MPI_Comm comm = MPI_COMM_WORLD;
    std::vector<int> counts(static_cast<size_t>(size_), count), starts(counts.size());
    for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<int>(i) * count;
    if (name == "allgather")
      MPI_Allgather(send, count, type, recv, count, type, comm);
    else if (name == "allgatherv")
      MPI_Allgatherv(send, count, type, recv, counts.data(), starts.data(), type, comm);
    else if (name == "allreduce")
      MPI_Allreduce(send, recv, count, type, op, comm);
    else if (name == "reduce_scatter_block")
      MPI_Reduce_scatter_block(send, recv, count, type, op, comm);
    else if (name == "reduce_scatter")
      MPI_Reduce_scatter(send, recv, counts.data(), type, op, comm);
    else if (name == "reduce")
      MPI_Reduce(send, recv, count, type, op, root, comm);
    else if (name == "bcast")
      MPI_Bcast(recv, count, type, root, comm);
    else if (name == "gather")
      MPI_Gather(send, count, type, recv, count, type, root, comm);
    else if (name == "gatherv")
      MPI_Gatherv(send, count, type, recv, counts.data(), starts.data(), type, root, comm);
    else if (name == "scatter")
      MPI_Scatter(send, count, type, recv, count, type, root, comm);
    else if (name == "scatterv")
      MPI_Scatterv(send, counts.data(), starts.data(), type, recv, count, type, root, comm);
    else if (name == "alltoall")
      MPI_Alltoall(send, count, type, recv, count, type, comm);
    else if (name == "alltoallv")
      MPI_Alltoallv(send, counts.data(), starts.data(), type, recv, counts.data(), starts.data(),
                    type, comm);
    else if (name == "alltoallw")
      post_alltoallw(send, recv, type, counts, starts);
    else if (name == "barrier")
      MPI_Barrier(comm);
    else
      throw std::invalid_argument("no collective " + name);
  }

  void post_alltoallw(const void* send, void* recv, MPI_Datatype type,
                      const std::vector<int>& counts, std::vector<int> starts) {
    const std::vector<MPI_Datatype> types(counts.size(), type);
    const int64_t extent = type == type_ ? extent_bytes_ : 4;
    for (int& start : starts) start = static_cast<int>(start * extent);
    MPI_Alltoallw(send, counts.data(), starts.data(), types.data(), recv, counts.data(),
                  starts.data(), types.data(), MPI_COMM_WORLD);
  }

  static inline MpiBackend* reducing_ = nullptr;
  int rank_ = 0, size_ = 1, payload_ = 0;
  int64_t extent_bytes_ = 0;
  bool contiguous_ = false, sum_made_ = false;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op sum_ = MPI_OP_NULL;
  Mode mode_ = Mode::derived;
  std::vector<int32_t> packed_send_, packed_recv_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<MpiBackend>();
}

}  // namespace perf
