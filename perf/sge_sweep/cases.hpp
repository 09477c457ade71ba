// What is measured: a stream of equally long segments, in one of several ways of moving
// them, and where its bytes lie on the two sides.
#pragma once

#include "perf/sge_sweep/verbs.hpp"

namespace sge_sweep {

enum class Shape : uint32_t { gather, scatter, both };  // by write, by read, by send and receive
enum class Way : uint32_t {
  sgl,        // WRs of `sges` SGEs
  packed,     // the same bytes copied together, sent contiguous, and copied apart
  single,     // WRs of one SGE, posted in chains
  apart,      // as sgl, each local segment registered by itself
  unaligned,  // as sgl, local segments not on 64-byte boundaries
};
inline constexpr std::array kShapes{Shape::gather, Shape::scatter, Shape::both};
inline constexpr std::array kWays{Way::sgl, Way::packed, Way::single, Way::apart, Way::unaligned};
const char* name_of(Shape shape);
const char* name_of(Way way);

struct Case {
  Shape shape = Shape::gather;
  Way way = Way::sgl;
  uint32_t sges = 1;           // segments of a WR, of a copied message too
  uint32_t segment_bytes = 0;  // of each
  uint32_t segments = 0;       // in all; after `ring` of them the memory comes again

  uint32_t per_wr() const { return way == Way::single ? 1 : sges; }
  uint32_t messages() const { return (segments + per_wr() - 1) / per_wr(); }
  uint64_t bytes() const { return uint64_t{segments} * segment_bytes; }
  uint32_t ring() const;
};

// The largest case, and the memory that it needs on each side.
inline constexpr uint32_t kMostSges = 30, kLongestSegment = 64 << 10;
inline constexpr size_t kFlatBytes = size_t{kMostSges} * kLongestSegment;
inline constexpr size_t kStridedBytes = 2 * kFlatBytes + 4096;
inline constexpr uint32_t kMostReceives = 512;

// One side's memory: segment i lies at strided(i), or contiguous with its neighbours at
// flat(i).
struct Buffers {
  static Result<Buffers> make(ibv_pd* domain);
  std::byte* strided(const Case& what, uint32_t segment) const;
  std::byte* flat(const Case& what, uint32_t segment) const;
  // Both sides know what the payload must be; `seed` tells one use of it from the next.
  void fill(const Case& what, uint32_t seed, bool in_strided) const;
  Status check(const Case& what, uint32_t seed, bool in_strided) const;
  void clear() const;
  void pack(const Case& what, uint32_t first, uint32_t count) const;
  void unpack(const Case& what, uint32_t first, uint32_t count) const;

  Memory strided_memory, flat_memory;
};

// Bytes that repeat with no small period, `bytes` of them from any position below 64 Ki.
std::span<const std::byte> pattern(uint64_t position, size_t bytes);

// The passive side of a case.
class Target {
 public:
  virtual ~Target() = default;
  virtual Status prepare(const Case& what, uint32_t seed) = 0;  // data and receives are there
  virtual Status finish(const Case& what) = 0;                  // all has arrived, unpacked
  virtual Status check(const Case& what, uint32_t seed) = 0;    // and is right
};

class LocalTarget final : public Target {
 public:
  LocalTarget(Endpoint& endpoint, const Buffers& buffers)
      : endpoint_(endpoint), buffers_(buffers) {}
  Status prepare(const Case& what, uint32_t seed) override;
  Status finish(const Case& what) override;
  Status check(const Case& what, uint32_t seed) override;

 private:
  Status post_receives(const Case& what);
  Endpoint& endpoint_;
  const Buffers& buffers_;
};

}  // namespace sge_sweep
