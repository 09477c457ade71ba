// libsglcoll: the C++20 interface. Header-only, over sglcoll.h.
//
// Handles are move-only objects that free themselves; buffers are std::span or a
// Buffer (pointer, count, type); a failed call throws sglcoll::Error with the
// library's detailed text. Thread safety is that of sglcoll.h.
#pragma once

#if __cplusplus < 202002L
#error "sglcoll.hpp needs C++20: -std=c++20, or target_compile_features(... cxx_std_20) in CMake"
#endif

#include <sglcoll/sglcoll.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sglcoll {

class Error : public std::runtime_error {
 public:
  Error(sglcoll_status status, const std::string& text)
      : std::runtime_error(std::string(sglcoll_strerror(status)) + ": " + text), status_(status) {}
  sglcoll_status status() const noexcept { return status_; }

 private:
  sglcoll_status status_;
};

// Throws when `status` is not SGLCOLL_OK.
inline void check(sglcoll_status status) {
  if (status != SGLCOLL_OK) throw Error(status, sglcoll_last_error());
}

// The predefined datatype of a C++ type, e.g. basic_type_of<double>().
template <class T>
sglcoll_type basic_type_of() {
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<V, bool>)
    return SGLCOLL_BOOL;
  else if constexpr (std::is_same_v<V, std::byte>)
    return SGLCOLL_BYTE;
  else if constexpr (std::is_same_v<V, float>)
    return SGLCOLL_FLOAT;
  else if constexpr (std::is_same_v<V, double>)
    return SGLCOLL_DOUBLE;
  else if constexpr (std::is_same_v<V, long double>)
    return SGLCOLL_LONG_DOUBLE;
  else if constexpr (std::is_same_v<V, std::complex<float>>)
    return SGLCOLL_COMPLEX_FLOAT;
  else if constexpr (std::is_same_v<V, std::complex<double>>)
    return SGLCOLL_COMPLEX_DOUBLE;
  else if constexpr (std::is_same_v<V, std::complex<long double>>)
    return SGLCOLL_COMPLEX_LONG_DOUBLE;
  else if constexpr (std::is_integral_v<V> && sizeof(V) == 1)
    return std::is_signed_v<V> ? SGLCOLL_INT8 : SGLCOLL_UINT8;
  else if constexpr (std::is_integral_v<V> && sizeof(V) == 2)
    return std::is_signed_v<V> ? SGLCOLL_INT16 : SGLCOLL_UINT16;
  else if constexpr (std::is_integral_v<V> && sizeof(V) == 4)
    return std::is_signed_v<V> ? SGLCOLL_INT32 : SGLCOLL_UINT32;
  else if constexpr (std::is_integral_v<V> && sizeof(V) == 8)
    return std::is_signed_v<V> ? SGLCOLL_INT64 : SGLCOLL_UINT64;
  else
    static_assert(!sizeof(V), "no predefined datatype for this C++ type: make a Datatype");
}

// A committed derived datatype.
class Datatype {
 public:
  static Datatype contiguous(int64_t count, sglcoll_type old_type) {
    return make([&](sglcoll_type* made) { return sglcoll_type_contiguous(count, old_type, made); });
  }
  static Datatype vector(int64_t count, int64_t block_length, int64_t stride,
                         sglcoll_type old_type) {
    return make([&](sglcoll_type* made) {
      return sglcoll_type_vector(count, block_length, stride, old_type, made);
    });
  }
  static Datatype hvector(int64_t count, int64_t block_length, int64_t stride_bytes,
                          sglcoll_type old_type) {
    return make([&](sglcoll_type* made) {
      return sglcoll_type_hvector(count, block_length, stride_bytes, old_type, made);
    });
  }
  // The spans have equal lengths.
  static Datatype indexed(std::span<const int64_t> block_lengths,
                          std::span<const int64_t> displacements, sglcoll_type old_type) {
    return make([&](sglcoll_type* made) {
      return sglcoll_type_indexed(count(block_lengths, displacements), block_lengths.data(),
                                  displacements.data(), old_type, made);
    });
  }
  static Datatype hindexed(std::span<const int64_t> block_lengths,
                           std::span<const int64_t> displacements_bytes, sglcoll_type old_type) {
    return make([&](sglcoll_type* made) {
      return sglcoll_type_hindexed(count(block_lengths, displacements_bytes), block_lengths.data(),
                                   displacements_bytes.data(), old_type, made);
    });
  }
  static Datatype structure(std::span<const int64_t> block_lengths,
                            std::span<const int64_t> displacements_bytes,
                            std::span<const sglcoll_type> types) {
    return make([&](sglcoll_type* made) {
      return sglcoll_type_struct(count(block_lengths, displacements_bytes), block_lengths.data(),
                                 displacements_bytes.data(), types.data(), made);
    });
  }
  static Datatype subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                           std::span<const int64_t> starts, sglcoll_order order,
                           sglcoll_type old_type) {
    return make([&](sglcoll_type* made) {
      return sglcoll_type_subarray(static_cast<int>(count(sizes, subsizes)), sizes.data(),
                                   subsizes.data(), starts.data(), order, old_type, made);
    });
  }
  static Datatype resized(sglcoll_type old_type, int64_t lower_bound, int64_t extent) {
    return make([&](sglcoll_type* made) {
      return sglcoll_type_resized(old_type, lower_bound, extent, made);
    });
  }

  sglcoll_type get() const noexcept { return handle_.get(); }
  operator sglcoll_type() const noexcept {
    return handle_.get();
  }  // NOLINT(google-explicit-constructor)
  int64_t size() const {
    int64_t bytes = 0;
    check(sglcoll_type_size(get(), &bytes));
    return bytes;
  }
  std::string describe() const {
    size_t needed = 0;
    check(sglcoll_type_describe(get(), nullptr, 0, &needed));
    std::string text(needed, '\0');
    check(sglcoll_type_describe(get(), text.data(), needed, nullptr));
    text.pop_back();
    return text;
  }

 private:
  struct Free {
    void operator()(sglcoll_type type) const noexcept { (void)!sglcoll_type_free(&type); }
  };
  explicit Datatype(sglcoll_type type) : handle_(type) {}
  template <class Constructor>
  static Datatype make(Constructor constructor) {
    sglcoll_type made = nullptr;
    check(constructor(&made));
    Datatype type(made);
    check(sglcoll_type_commit(&made));
    return type;
  }
  template <class A, class B>
  static int64_t count(const A& a, const B& b) {
    if (a.size() != b.size())
      throw Error(SGLCOLL_ERR_ARG, "the lists of a datatype must have equal lengths");
    return static_cast<int64_t>(a.size());
  }
  std::unique_ptr<sglcoll_type_s, Free> handle_;
};

// Elements at an address: made from a contiguous range of a basic type, or from
// pointer, count and datatype.
struct ConstBuffer {
  const void* address = nullptr;
  int64_t count = 0;
  sglcoll_type type = nullptr;
  ConstBuffer(const void* at, int64_t elements, sglcoll_type of)
      : address(at), count(elements), type(of) {}
  template <std::ranges::contiguous_range R>
  ConstBuffer(const R& range)  // NOLINT(google-explicit-constructor)
      : address(std::ranges::data(range)),
        count(static_cast<int64_t>(std::ranges::size(range))),
        type(basic_type_of<std::ranges::range_value_t<R>>()) {}
};

template <class R>
concept WritableRange = std::ranges::contiguous_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

struct Buffer {
  void* address = nullptr;
  int64_t count = 0;
  sglcoll_type type = nullptr;
  Buffer(void* at, int64_t elements, sglcoll_type of) : address(at), count(elements), type(of) {}
  template <WritableRange R>
  Buffer(R& range)  // NOLINT(google-explicit-constructor)
      : Buffer(std::ranges::data(range), static_cast<int64_t>(std::ranges::size(range)),
               basic_type_of<std::ranges::range_value_t<R>>()) {}
  // A view, which may be a temporary.
  template <WritableRange R>
  requires std::ranges::borrowed_range<R> Buffer(
      const R& view)  // NOLINT(google-explicit-constructor)
      : Buffer(std::ranges::data(view), static_cast<int64_t>(std::ranges::size(view)),
               basic_type_of<std::ranges::range_value_t<R>>()) {}
};

// A started or persistent operation. The destructor waits for an active one.
class Request {
 public:
  Request() = default;
  explicit Request(sglcoll_request request) : handle_(request) {}
  Request(Request&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Request() {
    if (!handle_) return;
    (void)!sglcoll_wait(&handle_);
    (void)!sglcoll_request_free(&handle_);
  }
  void start() { check(sglcoll_start(handle_)); }
  void wait() { check(sglcoll_wait(&handle_)); }
  bool test() {
    int complete = 0;
    check(sglcoll_test(&handle_, &complete));
    return complete != 0;
  }
  // What the plan does and is predicted to cost on this rank.
  std::string explain() const {
    size_t needed = 0;
    check(sglcoll_explain_request(handle_, nullptr, 0, &needed));
    std::string text(needed, '\0');
    check(sglcoll_explain_request(handle_, text.data(), needed, nullptr));
    text.pop_back();
    return text;
  }
  sglcoll_request get() const noexcept { return handle_; }

 private:
  sglcoll_request handle_ = nullptr;
};

// Which part of a buffer is whose: count elements at a displacement in elements, a rank.
struct Parts {
  std::span<const int64_t> counts, displacements;
};
// The same with a type a rank and displacements in bytes.
struct TypedParts {
  std::span<const int64_t> counts, displacements;
  std::span<const sglcoll_type> types;
};

class Communicator {
 public:
  explicit Communicator(sglcoll_comm comm = nullptr) : handle_(comm) {}
  Communicator(Communicator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Communicator() {
    if (handle_) (void)!sglcoll_comm_free(&handle_);
  }
  sglcoll_comm get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  int rank() const { return query(sglcoll_comm_rank); }
  int size() const { return query(sglcoll_comm_size); }
  Communicator dup() const {
    return make([&](sglcoll_comm* made) { return sglcoll_comm_dup(handle_, made); });
  }
  // Empty where the colour is SGLCOLL_UNDEFINED.
  Communicator split(int color, int key = 0) const {
    return make([&](sglcoll_comm* made) { return sglcoll_comm_split(handle_, color, key, made); });
  }
  Communicator split_node(int key = 0) const {
    return make([&](sglcoll_comm* made) { return sglcoll_comm_split_node(handle_, key, made); });
  }

  // The receive buffer's count is of all blocks together, a multiple of size().
  void allgather(ConstBuffer send, Buffer recv) const {
    check(sglcoll_allgather(send.address, send.count, send.type, recv.address, recv.count / size(),
                            recv.type, handle_));
  }
  Request iallgather(ConstBuffer send, Buffer recv) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_iallgather(send.address, send.count, send.type, recv.address,
                                recv.count / size(), recv.type, handle_, made);
    });
  }
  Request allgather_init(ConstBuffer send, Buffer recv) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_allgather_init(send.address, send.count, send.type, recv.address,
                                    recv.count / size(), recv.type, handle_, made);
    });
  }
  // send holds size() blocks like recv, of recv's type.
  void reduce_scatter_block(ConstBuffer send, Buffer recv, sglcoll_op op = SGLCOLL_SUM) const {
    check(sglcoll_reduce_scatter_block(send.address, recv.address, recv.count, recv.type, op,
                                       handle_));
  }
  void allreduce(ConstBuffer send, Buffer recv, sglcoll_op op = SGLCOLL_SUM) const {
    check(sglcoll_allreduce(send.address, recv.address, recv.count, recv.type, op, handle_));
  }
  void allreduce_in_place(Buffer data, sglcoll_op op = SGLCOLL_SUM) const {
    check(sglcoll_allreduce(SGLCOLL_IN_PLACE, data.address, data.count, data.type, op, handle_));
  }
  // recv matters on the root only.
  void reduce(ConstBuffer send, Buffer recv, int root, sglcoll_op op = SGLCOLL_SUM) const {
    check(sglcoll_reduce(send.address, recv.address, send.count, send.type, op, root, handle_));
  }
  void bcast(Buffer data, int root) const {
    check(sglcoll_bcast(data.address, data.count, data.type, root, handle_));
  }
  void gather(ConstBuffer send, Buffer recv, int root) const {
    check(sglcoll_gather(send.address, send.count, send.type, recv.address, recv.count / size(),
                         recv.type, root, handle_));
  }
  void scatter(ConstBuffer send, Buffer recv, int root) const {
    check(sglcoll_scatter(send.address, send.count / size(), send.type, recv.address, recv.count,
                          recv.type, root, handle_));
  }
  // Both counts are of all blocks together.
  void alltoall(ConstBuffer send, Buffer recv) const {
    check(sglcoll_alltoall(send.address, send.count / size(), send.type, recv.address,
                           recv.count / size(), recv.type, handle_));
  }
  Request ialltoall(ConstBuffer send, Buffer recv) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_ialltoall(send.address, send.count / size(), send.type, recv.address,
                               recv.count / size(), recv.type, handle_, made);
    });
  }
  Request alltoall_init(ConstBuffer send, Buffer recv) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_alltoall_init(send.address, send.count / size(), send.type, recv.address,
                                   recv.count / size(), recv.type, handle_, made);
    });
  }
  // data: what goes to a rank is where what comes from it will be.
  void alltoall_in_place(Buffer data) const {
    check(sglcoll_alltoall(SGLCOLL_IN_PLACE, 0, nullptr, data.address, data.count / size(),
                           data.type, handle_));
  }
  // Counts and displacements of size() ranks; the buffers' own counts do not matter.
  void alltoallv(ConstBuffer send, const Parts& sent, Buffer recv, const Parts& taken) const {
    check(sglcoll_alltoallv(send.address, part(sent.counts), part(sent.displacements), send.type,
                            recv.address, part(taken.counts), part(taken.displacements), recv.type,
                            handle_));
  }
  Request ialltoallv(ConstBuffer send, const Parts& sent, Buffer recv, const Parts& taken) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_ialltoallv(send.address, part(sent.counts), part(sent.displacements),
                                send.type, recv.address, part(taken.counts),
                                part(taken.displacements), recv.type, handle_, made);
    });
  }
  Request alltoallv_init(ConstBuffer send, const Parts& sent, Buffer recv,
                         const Parts& taken) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_alltoallv_init(send.address, part(sent.counts), part(sent.displacements),
                                    send.type, recv.address, part(taken.counts),
                                    part(taken.displacements), recv.type, handle_, made);
    });
  }
  // Displacements in bytes and a type for each rank.
  void alltoallw(const void* send, const TypedParts& sent, void* recv,
                 const TypedParts& taken) const {
    check(sglcoll_alltoallw(send, part(sent.counts), part(sent.displacements), part(sent.types),
                            recv, part(taken.counts), part(taken.displacements), part(taken.types),
                            handle_));
  }
  Request ialltoallw(const void* send, const TypedParts& sent, void* recv,
                     const TypedParts& taken) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_ialltoallw(send, part(sent.counts), part(sent.displacements), part(sent.types),
                                recv, part(taken.counts), part(taken.displacements),
                                part(taken.types), handle_, made);
    });
  }
  Request alltoallw_init(const void* send, const TypedParts& sent, void* recv,
                         const TypedParts& taken) const {
    return request([&](sglcoll_request* made) {
      return sglcoll_alltoallw_init(send, part(sent.counts), part(sent.displacements),
                                    part(sent.types), recv, part(taken.counts),
                                    part(taken.displacements), part(taken.types), handle_, made);
    });
  }
  void barrier() const { check(sglcoll_barrier(handle_)); }

  // Memory that peers on the node reach directly; freed with the returned owner,
  // which must go before the world.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  auto allocate(size_t count) const {
    auto free = [comm = handle_](T* memory) { (void)!sglcoll_mem_free(comm, memory); };
    void* memory = nullptr;
    check(sglcoll_mem_alloc(handle_, count * sizeof(T), &memory));
    return std::unique_ptr<T[], decltype(free)>(static_cast<T*>(memory), free);
  }

 protected:
  sglcoll_comm handle_ = nullptr;

 private:
  // An array with an element for each rank.
  template <class T>
  const T* part(std::span<const T> array) const {
    if (array.size() == static_cast<size_t>(size())) return array.data();
    throw Error(SGLCOLL_ERR_ARG, "an array of " + std::to_string(array.size()) +
                                     " elements: it must have one for each of " +
                                     std::to_string(size()) + " ranks");
  }
  template <class Query>
  int query(Query function) const {
    int value = 0;
    check(function(handle_, &value));
    return value;
  }
  template <class Make>
  static Communicator make(Make function) {
    sglcoll_comm made = nullptr;
    check(function(&made));
    return Communicator(made);
  }
  template <class Make>
  static Request request(Make function) {
    sglcoll_request made = nullptr;
    check(function(&made));
    return Request(made);
  }
};

// All ranks of the job; initialises the library and finalizes it.
class World : public Communicator {
 public:
  explicit World(sglcoll_thread_level level = SGLCOLL_THREAD_SINGLE,
                 const sglcoll_exchange* exchange = nullptr) {
    sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
    options.thread_level = level;
    options.exchange = exchange;
    check(sglcoll_init(&options, &handle_));
  }
  World(World&&) = default;
  World& operator=(World&&) = default;
  ~World() {
    if (handle_) (void)!sglcoll_finalize(&handle_);
    handle_ = nullptr;
  }
};

}  // namespace sglcoll
