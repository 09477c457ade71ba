#include "support/random_type.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sgl::test {
namespace {

struct Made {
  TypePtr type;
  TypeMap map;
};

class Generator {
 public:
  explicit Generator(std::mt19937_64& random) : random_(random) {}

  Made make(int nesting, int64_t elements) {
    if (nesting == 0 || chance(8)) return basic();
    switch (draw(0, 11)) {
      case 0:
        return contiguous(nesting, elements);
      case 1:
        return vector(nesting, elements);
      case 2:
        return hvector(nesting, elements);
      case 3:
        return indexed(nesting, elements);
      case 4:
        return hindexed(nesting, elements);
      case 5:
        return indexed_block(nesting, elements);
      case 6:
        return hindexed_block(nesting, elements);
      case 7:
        return structure(nesting, elements);
      case 8:
        return subarray(nesting, elements);
      case 9:
        return darray(nesting, elements);
      case 10:
        return resized(nesting, elements);
      default:
        return dup(nesting, elements);
    }
  }

 private:
  int64_t draw(int64_t lowest, int64_t highest) {
    return std::uniform_int_distribution<int64_t>(lowest, highest)(random_);
  }
  bool chance(int percent) { return draw(1, 100) <= percent; }
  sglcoll_order order() { return chance(50) ? SGLCOLL_ORDER_C : SGLCOLL_ORDER_FORTRAN; }

  // How many copies of a part: mostly two or more, now and then none.
  int64_t copies(int64_t elements) {
    if (chance(4)) return 0;
    return draw(chance(80) ? std::min<int64_t>(2, elements) : 1,
                std::clamp<int64_t>(elements, 1, 6));
  }

  static Made checked(Result<TypePtr> made, TypeMap map) {
    if (!made.ok()) {
      std::fprintf(stderr, "random_type: %s\n", made.status().text().c_str());
      std::abort();
    }
    return {made.take(), std::move(map)};
  }

  Made basic() {
    // The one-byte types make more of the adjacent runs; pairs have inner gaps.
    const auto basic = static_cast<Basic>(draw(0, kBasicCount - 1));
    return {basic_type(basic), basic_map(basic)};
  }

  Made contiguous(int nesting, int64_t elements) {
    const int64_t count = copies(elements);
    const Made old = make(nesting - 1, elements / std::max<int64_t>(count, 1));
    TypeMap map;
    map.append(old.map, count, 0);
    return checked(type_contiguous(count, old.type), std::move(map));
  }

  // Block displacements in steps of `unit` bytes: in a row, at equal gaps or anywhere.
  std::vector<int64_t> displacements(const std::vector<int64_t>& lengths, int64_t extent,
                                     int64_t unit) {
    std::vector<int64_t> steps;
    const int64_t mode = draw(0, 3), gap = draw(-8, 8);
    int64_t at = draw(-6, 6);
    for (int64_t length : lengths) {
      if (mode == 3) at = draw(-20, 20);
      steps.push_back(at);
      const int64_t block = length * extent / unit;
      if (mode != 2) at += block + (mode == 1 ? gap : 0);
      if (mode == 2) at += gap;
    }
    return steps;
  }

  std::vector<int64_t> lengths(int64_t blocks, int64_t elements, bool equal) {
    std::vector<int64_t> result;
    for (int64_t i = 0; i < blocks; ++i) {
      result.push_back(equal && i > 0 ? result[0]
                       : chance(10)   ? 0
                                      : draw(1, std::clamp<int64_t>(elements, 1, 3)));
    }
    return result;
  }

  static std::vector<int64_t> scaled(std::vector<int64_t> values, int64_t factor) {
    for (int64_t& value : values) value *= factor;
    return values;
  }

  static int64_t unit_of(const Made& old) { return old.type->extent == 0 ? 1 : old.type->extent; }

  Made vector(int nesting, int64_t elements) {
    const int64_t count = copies(elements), length = lengths(1, elements / 2, true)[0];
    const Made old = make(nesting - 1, elements / std::max<int64_t>(count * length, 1));
    const int64_t stride = chance(30) ? length : draw(-5, 6), extent = old.map.extent();
    TypeMap map;
    for (int64_t i = 0; i < count; ++i) map.append(old.map, length, i * stride * extent);
    return checked(type_vector(count, length, stride, old.type), std::move(map));
  }

  Made hvector(int nesting, int64_t elements) {
    const int64_t count = copies(elements), length = lengths(1, elements / 2, true)[0];
    const Made old = make(nesting - 1, elements / std::max<int64_t>(count * length, 1));
    const int64_t stride = chance(30) ? length * old.map.extent() : draw(-60, 60);
    TypeMap map;
    for (int64_t i = 0; i < count; ++i) map.append(old.map, length, i * stride);
    return checked(type_hvector(count, length, stride, old.type), std::move(map));
  }

  Made indexed(int nesting, int64_t elements) {
    const int64_t blocks = copies(elements);
    const auto block_lengths = lengths(blocks, elements / 4, chance(50));
    const Made old = make(nesting - 1, elements / std::max<int64_t>(blocks * 2, 1));
    const auto steps = displacements(block_lengths, unit_of(old), unit_of(old));
    return checked(type_indexed(block_lengths, steps, old.type),
                   blocks_map(old.map, block_lengths, scaled(steps, old.map.extent())));
  }

  Made hindexed(int nesting, int64_t elements) {
    const int64_t blocks = copies(elements);
    const auto block_lengths = lengths(blocks, elements / 4, chance(50));
    const Made old = make(nesting - 1, elements / std::max<int64_t>(blocks * 2, 1));
    const auto bytes = displacements(block_lengths, old.map.extent(), 1);
    return checked(type_hindexed(block_lengths, bytes, old.type),
                   blocks_map(old.map, block_lengths, bytes));
  }

  Made indexed_block(int nesting, int64_t elements) {
    const auto block_lengths = lengths(copies(elements), elements / 4, true);
    const int64_t length = block_lengths.empty() ? 1 : block_lengths[0];
    const auto blocks = static_cast<int64_t>(block_lengths.size());
    const Made old = make(nesting - 1, elements / std::max<int64_t>(blocks * length, 1));
    const auto steps = displacements(block_lengths, unit_of(old), unit_of(old));
    return checked(type_indexed_block(length, steps, old.type),
                   blocks_map(old.map, block_lengths, scaled(steps, old.map.extent())));
  }

  Made hindexed_block(int nesting, int64_t elements) {
    const auto block_lengths = lengths(copies(elements), elements / 4, true);
    const int64_t length = block_lengths.empty() ? 1 : block_lengths[0];
    const auto blocks = static_cast<int64_t>(block_lengths.size());
    const Made old = make(nesting - 1, elements / std::max<int64_t>(blocks * length, 1));
    const auto bytes = displacements(block_lengths, old.map.extent(), 1);
    return checked(type_hindexed_block(length, bytes, old.type),
                   blocks_map(old.map, block_lengths, bytes));
  }

  Made structure(int nesting, int64_t elements) {
    const int64_t members = copies(elements);
    const auto block_lengths = lengths(members, elements / 4, chance(50));
    std::vector<TypePtr> types;
    std::vector<int64_t> displacements;
    TypeMap map;
    const bool in_a_row = chance(50);
    int64_t at = draw(-4, 8);
    Made old;
    for (int64_t i = 0; i < members; ++i) {
      if (i == 0 || chance(60)) old = make(nesting - 1, elements / (members * 2));
      types.push_back(old.type);
      displacements.push_back(at);
      const int64_t length = block_lengths[static_cast<size_t>(i)];
      map.append(old.map, length, at);
      at = in_a_row ? at + length * old.map.extent() : draw(-60, 60);
    }
    return checked(type_struct(block_lengths, displacements, types), std::move(map));
  }

  Made subarray(int nesting, int64_t elements) {
    std::vector<int64_t> sizes, subsizes, starts;
    int64_t selected = 1;
    const int64_t dims = draw(1, 3);
    for (int64_t i = 0; i < dims; ++i) {
      sizes.push_back(draw(1, 4));
      const int64_t most = std::min(sizes.back(), std::max<int64_t>(elements / selected, 1));
      subsizes.push_back(chance(30) ? most : draw(1, most));
      starts.push_back(draw(0, sizes.back() - subsizes.back()));
      selected *= subsizes.back();
    }
    const sglcoll_order storage = order();
    const Made old = make(nesting - 1, elements / selected);
    return checked(type_subarray(sizes, subsizes, starts, storage, old.type),
                   subarray_map(old.map, sizes, subsizes, starts, storage));
  }

  Made darray(int nesting, int64_t elements) {
    std::vector<int64_t> sizes, args;
    std::vector<sglcoll_distribution> distributions;
    std::vector<int> processes;
    int size = 1;
    int64_t selected = 1;
    const int64_t dims = draw(1, 3);
    for (int64_t i = 0; i < dims; ++i) {
      const auto distribution = static_cast<sglcoll_distribution>(draw(0, 2));
      const bool none = distribution == SGLCOLL_DISTRIBUTE_NONE;
      processes.push_back(none ? 1 : static_cast<int>(draw(1, 3)));
      sizes.push_back(draw(1, std::clamp<int64_t>(elements / selected, 1, 7)));
      const int64_t least = distribution == SGLCOLL_DISTRIBUTE_BLOCK
                                ? (sizes.back() + processes.back() - 1) / processes.back()
                                : 1;
      args.push_back(none || chance(40) ? SGLCOLL_DISTRIBUTE_DEFAULT_ARG : draw(least, least + 2));
      distributions.push_back(distribution);
      size *= processes.back();
      selected *= sizes.back();
    }
    const int rank = static_cast<int>(draw(0, size - 1));
    const sglcoll_order storage = order();
    const Made old = make(nesting - 1, elements / selected);
    return checked(
        type_darray(size, rank, sizes, distributions, args, processes, storage, old.type),
        darray_map(old.map, rank, sizes, distributions, args, processes, storage));
  }

  Made resized(int nesting, int64_t elements) {
    const Made old = make(nesting - 1, elements);
    const bool same = chance(20);
    const int64_t lower_bound = same ? old.map.lb() : draw(-12, 12);
    const int64_t extent = same         ? old.map.extent()
                           : chance(10) ? draw(-40, 0)
                                        : old.map.extent() + draw(-4, 12);
    return checked(type_resized(old.type, lower_bound, extent),
                   resized_map(old.map, lower_bound, extent));
  }

  Made dup(int nesting, int64_t elements) {
    Made old = make(nesting - 1, elements);
    return checked(type_dup(old.type), std::move(old.map));
  }

  std::mt19937_64& random_;
};

}  // namespace

RandomType random_type(std::mt19937_64& random, const RandomTypeLimits& limits) {
  Generator generator(random);
  const auto nesting = std::uniform_int_distribution<int>(1, limits.max_nesting)(random);
  Made made = generator.make(nesting, limits.max_elements);
  std::vector<int64_t> offsets = made.map.byte_offsets();
  return {std::move(made.type), std::move(made.map), std::move(offsets)};
}

std::vector<int64_t> array_offsets(const RandomType& type, int64_t count) {
  TypeMap array;
  array.append(type.map, count, 0);
  return array.byte_offsets();
}

bool overlaps(std::vector<int64_t> offsets) {
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

}  // namespace sgl::test
