// The naive oracle of the datatype engine: a type map written out element by
// element, as MPI defines it, from the arguments of the constructors.
#pragma once

#include "datatype/basic.hpp"

#include <sglcoll/sglcoll.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sgl::test {

struct TypeMap {
  struct Element {
    Basic basic;
    int64_t offset;
  };
  std::vector<Element> elements;     // in type-map order
  std::vector<int64_t> lower_marks;  // MPI's lb_marker and ub_marker entries
  std::vector<int64_t> upper_marks;

  int64_t lb() const;
  int64_t ub() const;
  int64_t extent() const { return ub() - lb(); }
  // The offset of each payload byte, in payload order.
  std::vector<int64_t> byte_offsets() const;

  // Appends `count` copies of `part`, an extent apart, the first moved by `displacement`.
  void append(const TypeMap& part, int64_t count, int64_t displacement);
};

TypeMap basic_map(Basic basic);
// `block_length` copies at each displacement; a block length for each, or one for all.
TypeMap blocks_map(const TypeMap& old_map, std::span<const int64_t> block_lengths,
                   std::span<const int64_t> displacements_bytes);
TypeMap resized_map(const TypeMap& old_map, int64_t lower_bound, int64_t extent);
TypeMap subarray_map(const TypeMap& old_map, std::span<const int64_t> sizes,
                     std::span<const int64_t> subsizes, std::span<const int64_t> starts,
                     sglcoll_order order);
TypeMap darray_map(const TypeMap& old_map, int rank, std::span<const int64_t> global_sizes,
                   std::span<const sglcoll_distribution> distributions,
                   std::span<const int64_t> distribution_args, std::span<const int> process_sizes,
                   sglcoll_order order);

}  // namespace sgl::test
