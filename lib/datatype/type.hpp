// Type: a datatype as the user made it (constructor tree), with its bounds,
// signature and, once committed, its Layout.
//
// Types are immutable after commit and shared by pointer; any thread may read.
#pragma once

#include "base/status.hpp"
#include "datatype/basic.hpp"
#include "datatype/layout.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sgl {

class Type;
using TypePtr = std::shared_ptr<const Type>;

// Composable hash of a sequence of basic types: equal sequences have equal
// signatures, whatever constructors made them (source: polynomial hashing).
struct Signature {
  uint64_t hash = 0;
  int64_t elements = 0;  // basic types in the sequence
  bool operator==(const Signature&) const = default;
};
Signature signature_of(Basic basic);
Signature concatenate(const Signature& first, const Signature& second);
Signature repeat(const Signature& part, int64_t count);

class Type {
 public:
  sglcoll_combiner combiner = SGLCOLL_COMBINER_NAMED;
  std::vector<int64_t> integers;  // the constructor's whole numbers, in parameter order
  std::vector<TypePtr> types;     // the constructor's types
  Basic basic{};                  // when named

  int64_t size = 0;  // payload bytes
  int64_t lb = 0, extent = 0;
  int64_t true_lb = 0, true_extent = 0;
  int64_t alignment = 1;  // strictest of the basic types, for padding the extent
  // The bounds were set by resized, subarray or darray, here or in an old type
  // (MPI's bound markers): in a type made of this one, only such bounds count.
  bool marked = false;
  int nesting = 0;  // constructors on the longest path to a predefined type
  Signature signature;
  // The basic type that every element is of, when there is just one.
  std::optional<Basic> uniform_basic;
  Layout layout;  // of one element, relative to the element's address

  int64_t ub() const { return lb + extent; }
  // Layout of `count` elements, each an extent after the one before.
  // The caller has checked array_fits.
  Layout array_layout(int64_t count) const { return Layout::loop(count, extent, layout); }
  // Whether the size and all offsets of `count` elements fit in 64 bits.
  bool array_fits(int64_t count) const;
  std::string describe() const;
};

TypePtr basic_type(Basic basic);

// The constructors: as the C functions of the same names, arguments checked,
// with a text that names the bad one. A size, bound or displacement beyond 2^61
// bytes, which leaves room for sums, gives SGLCOLL_ERR_COUNT; more than 255
// constructors one inside the other give SGLCOLL_ERR_UNSUPPORTED.
Result<TypePtr> type_contiguous(int64_t count, const TypePtr& old_type);
Result<TypePtr> type_vector(int64_t count, int64_t block_length, int64_t stride,
                            const TypePtr& old_type);
Result<TypePtr> type_hvector(int64_t count, int64_t block_length, int64_t stride_bytes,
                             const TypePtr& old_type);
Result<TypePtr> type_indexed(std::span<const int64_t> block_lengths,
                             std::span<const int64_t> displacements, const TypePtr& old_type);
Result<TypePtr> type_hindexed(std::span<const int64_t> block_lengths,
                              std::span<const int64_t> displacements_bytes,
                              const TypePtr& old_type);
Result<TypePtr> type_indexed_block(int64_t block_length, std::span<const int64_t> displacements,
                                   const TypePtr& old_type);
Result<TypePtr> type_hindexed_block(int64_t block_length,
                                    std::span<const int64_t> displacements_bytes,
                                    const TypePtr& old_type);
Result<TypePtr> type_struct(std::span<const int64_t> block_lengths,
                            std::span<const int64_t> displacements_bytes,
                            std::span<const TypePtr> types);
Result<TypePtr> type_subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                              std::span<const int64_t> starts, sglcoll_order order,
                              const TypePtr& old_type);
Result<TypePtr> type_darray(int size, int rank, std::span<const int64_t> global_sizes,
                            std::span<const sglcoll_distribution> distributions,
                            std::span<const int64_t> distribution_args,
                            std::span<const int> process_sizes, sglcoll_order order,
                            const TypePtr& old_type);
Result<TypePtr> type_resized(const TypePtr& old_type, int64_t lower_bound, int64_t extent);
Result<TypePtr> type_dup(const TypePtr& old_type);

// The layout is built by the constructors themselves (each is O(its arguments)),
// so commit, in the C API, only marks the handle.

}  // namespace sgl
