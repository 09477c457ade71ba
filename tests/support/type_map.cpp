#include "support/type_map.hpp"

#include <algorithm>
#include <functional>

namespace sgl::test {

int64_t TypeMap::lb() const {
  if (!lower_marks.empty()) return *std::min_element(lower_marks.begin(), lower_marks.end());
  if (elements.empty()) return 0;
  int64_t lowest = elements[0].offset;
  for (const Element& element : elements) lowest = std::min(lowest, element.offset);
  return lowest;
}

int64_t TypeMap::ub() const {
  if (!upper_marks.empty()) return *std::max_element(upper_marks.begin(), upper_marks.end());
  if (elements.empty()) return 0;
  const std::vector<int64_t> bytes = byte_offsets();
  int64_t highest = *std::max_element(bytes.begin(), bytes.end()) + 1;
  int64_t alignment = 1;
  for (const Element& element : elements) {
    alignment = std::max(alignment, basic_info(element.basic).alignment);
  }
  while ((highest - lb()) % alignment != 0) ++highest;
  return highest;
}

std::vector<int64_t> TypeMap::byte_offsets() const {
  std::vector<int64_t> offsets;
  for (const Element& element : elements) {
    const BasicInfo& info = basic_info(element.basic);
    for (int64_t i = 0; i < info.size; ++i) {
      const bool in_index = info.index_offset > 0 && i >= info.size - 4;
      offsets.push_back(element.offset + (in_index ? info.index_offset + i - (info.size - 4) : i));
    }
  }
  return offsets;
}

void TypeMap::append(const TypeMap& part, int64_t count, int64_t displacement) {
  const int64_t step = part.extent();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t move = displacement + i * step;
    for (const Element& element : part.elements) {
      elements.push_back({element.basic, element.offset + move});
    }
    for (int64_t mark : part.lower_marks) lower_marks.push_back(mark + move);
    for (int64_t mark : part.upper_marks) upper_marks.push_back(mark + move);
  }
}

TypeMap basic_map(Basic basic) {
  return {{{basic, 0}}, {}, {}};
}

TypeMap blocks_map(const TypeMap& old_map, std::span<const int64_t> block_lengths,
                   std::span<const int64_t> displacements_bytes) {
  TypeMap map;
  for (size_t i = 0; i < displacements_bytes.size(); ++i) {
    map.append(old_map, block_lengths[block_lengths.size() == 1 ? 0 : i], displacements_bytes[i]);
  }
  return map;
}

TypeMap resized_map(const TypeMap& old_map, int64_t lower_bound, int64_t extent) {
  return {old_map.elements, {lower_bound}, {lower_bound + extent}};
}

namespace {

// The elements of a whole array, in storage order, whose indices are `wanted`.
TypeMap array_map(const TypeMap& old_map, std::span<const int64_t> sizes, sglcoll_order order,
                  const std::function<bool(std::span<const int64_t>)>& wanted) {
  TypeMap map;
  const size_t dims = sizes.size();
  int64_t total = 1;
  for (int64_t size : sizes) total *= size;
  for (int64_t position = 0; position < total; ++position) {
    std::vector<int64_t> index(dims);
    int64_t rest = position;
    for (size_t i = 0; i < dims; ++i) {
      const size_t dim = order == SGLCOLL_ORDER_C ? dims - 1 - i : i;
      index[dim] = rest % sizes[dim];
      rest /= sizes[dim];
    }
    if (wanted(index)) map.append(old_map, 1, position * old_map.extent());
  }
  map.lower_marks = {0};
  map.upper_marks = {total * old_map.extent()};
  return map;
}

int64_t owner_of(int64_t index, int64_t size, sglcoll_distribution distribution, int64_t arg,
                 int processes) {
  const bool given = arg != SGLCOLL_DISTRIBUTE_DEFAULT_ARG;
  if (distribution == SGLCOLL_DISTRIBUTE_NONE) return 0;
  if (distribution == SGLCOLL_DISTRIBUTE_CYCLIC) return index / (given ? arg : 1) % processes;
  return index / (given ? arg : (size + processes - 1) / processes);
}

}  // namespace

TypeMap subarray_map(const TypeMap& old_map, std::span<const int64_t> sizes,
                     std::span<const int64_t> subsizes, std::span<const int64_t> starts,
                     sglcoll_order order) {
  return array_map(old_map, sizes, order, [&](std::span<const int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] < starts[i] || index[i] >= starts[i] + subsizes[i]) return false;
    }
    return true;
  });
}

TypeMap darray_map(const TypeMap& old_map, int rank, std::span<const int64_t> global_sizes,
                   std::span<const sglcoll_distribution> distributions,
                   std::span<const int64_t> distribution_args, std::span<const int> process_sizes,
                   sglcoll_order order) {
  return array_map(old_map, global_sizes, order, [&](std::span<const int64_t> index) {
    int64_t owner = 0;  // of the row-major process grid
    for (size_t i = 0; i < index.size(); ++i) {
      owner = owner * process_sizes[i] + owner_of(index[i], global_sizes[i], distributions[i],
                                                  distribution_args[i], process_sizes[i]);
    }
    return owner == rank;
  });
}

}  // namespace sgl::test
