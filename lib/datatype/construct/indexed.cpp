// indexed, hindexed, indexed_block, hindexed_block and struct: O(blocks).
#include "datatype/construct/body.hpp"

namespace sgl {
namespace {

Status check_same_count(const char* name, size_t entries, size_t count) {
  if (entries == count) return {};
  return error(SGLCOLL_ERR_ARG, "{} has {} entries: it must have one for each of {} blocks", name,
               entries, count);
}

Status check_lengths(std::span<const int64_t> block_lengths) {
  for (size_t i = 0; i < block_lengths.size(); ++i) {
    if (block_lengths[i] < 0) {
      return error(SGLCOLL_ERR_ARG, "block_lengths[{}] is {}: it must be 0 or more", i,
                   block_lengths[i]);
    }
  }
  return {};
}

// The integers of a constructor: first some single ones, then its arrays.
std::vector<int64_t> listed(std::vector<int64_t> integers, std::span<const int64_t> first,
                            std::span<const int64_t> second = {}) {
  integers.insert(integers.end(), first.begin(), first.end());
  integers.insert(integers.end(), second.begin(), second.end());
  return integers;
}

// The block `length` elements of old_type, `steps` times `unit` bytes away.
bool make_block(int64_t length, int64_t steps, int64_t unit, const Type& old_type, Body* block) {
  int64_t displacement = 0;
  *block = body_of(old_type);
  return repeat(length, old_type.extent, block) &&
         (length == 0 || (scale(steps, unit, &displacement) && shift(displacement, block)));
}

Status block_too_large(const char* constructor, size_t index, int64_t length, int64_t displacement,
                       const Type& old_type) {
  return too_large(
      constructor, old_type,
      fmt::format("block {} with length {} and displacement {}", index, length, displacement)
          .c_str());
}

// Whether an array of the type is one run, so that a block of it needs no node.
bool arrays_are_runs(const Type& type) {
  return type.layout.contiguous() && type.extent == type.size && !type.marked;
}

// The run of a block of a type whose arrays are runs. False: beyond 2^61.
bool make_run(int64_t length, int64_t steps, int64_t unit, const Type& old_type, Segment* run) {
  int64_t displacement = 0, bytes = 0;
  if (!scale(steps, unit, &displacement) || !scale(length, old_type.size, &bytes)) return false;
  const int64_t first = old_type.true_lb;
  *run = {first + displacement, bytes};
  return within_limit(first + bytes) && within_limit(run->offset) &&
         within_limit(run->offset + bytes);
}

// Blocks of a type whose arrays are runs.
Status join_runs(const char* constructor, std::span<const int64_t> block_lengths,
                 std::span<const int64_t> displacements, int64_t unit, const Type& old_type,
                 Body* joined) {
  std::vector<Segment> runs;
  runs.reserve(displacements.size());
  int64_t bytes = 0;
  for (size_t i = 0; i < displacements.size(); ++i) {
    if (block_lengths[i] == 0) continue;
    Segment run;
    if (!make_run(block_lengths[i], displacements[i], unit, old_type, &run) ||
        !within_limit(bytes += run.length))
      return block_too_large(constructor, i, block_lengths[i], displacements[i], old_type);
    runs.push_back(run);
  }
  if (runs.empty()) return {};
  *joined = body_of(old_type);
  joined->signature = repeat(old_type.signature, bytes / old_type.size);
  joined->layout = Layout::runs(std::move(runs));
  return {};
}

// Blocks of one old type, their displacements in units of `unit` bytes.
Result<TypePtr> make_indexed(const char* constructor, sglcoll_combiner combiner,
                             std::span<const int64_t> block_lengths,
                             std::span<const int64_t> displacements, int64_t unit,
                             const TypePtr& old_type) {
  SGL_TRY(check_same_count("block_lengths", block_lengths.size(), displacements.size()));
  SGL_TRY(check_lengths(block_lengths));
  Body joined;
  if (arrays_are_runs(*old_type)) {
    SGL_TRY(join_runs(constructor, block_lengths, displacements, unit, *old_type, &joined));
  } else {
    Join join;
    for (size_t i = 0; i < displacements.size(); ++i) {
      Body block;
      if (!make_block(block_lengths[i], displacements[i], unit, *old_type, &block) ||
          !join.add(std::move(block))) {
        return block_too_large(constructor, i, block_lengths[i], displacements[i], *old_type);
      }
    }
    joined = join.take();
  }
  const auto count = static_cast<int64_t>(displacements.size());
  return finish(std::move(joined), combiner, listed({count}, block_lengths, displacements),
                {old_type});
}

// Equal blocks: their layout needs no node for each.
Result<TypePtr> make_indexed_block(const char* constructor, sglcoll_combiner combiner,
                                   int64_t block_length, std::span<const int64_t> displacements,
                                   int64_t unit, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_length("block_length", block_length));
  Body block = body_of(*old_type);
  if (!repeat(block_length, old_type->extent, &block)) {
    return too_large(constructor, *old_type, fmt::format("block_length {}", block_length).c_str());
  }
  std::vector<int64_t> bytes(displacements.size(), 0);
  for (size_t i = 0; i < displacements.size() && block_length > 0; ++i) {
    if (!scale(displacements[i], unit, &bytes[i])) {
      return block_too_large(constructor, i, block_length, displacements[i], *old_type);
    }
  }
  if (!place(std::move(bytes), &block)) {
    return too_large(constructor, *old_type,
                     fmt::format("{} blocks of length {} at these displacements",
                                 displacements.size(), block_length)
                         .c_str());
  }
  const auto count = static_cast<int64_t>(displacements.size());
  return finish(std::move(block), combiner, listed({count, block_length}, displacements),
                {old_type});
}

}  // namespace

Result<TypePtr> type_indexed(std::span<const int64_t> block_lengths,
                             std::span<const int64_t> displacements, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  return make_indexed("indexed", SGLCOLL_COMBINER_INDEXED, block_lengths, displacements,
                      old_type->extent, old_type);
}

Result<TypePtr> type_hindexed(std::span<const int64_t> block_lengths,
                              std::span<const int64_t> displacements_bytes,
                              const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  return make_indexed("hindexed", SGLCOLL_COMBINER_HINDEXED, block_lengths, displacements_bytes, 1,
                      old_type);
}

Result<TypePtr> type_indexed_block(int64_t block_length, std::span<const int64_t> displacements,
                                   const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  return make_indexed_block("indexed_block", SGLCOLL_COMBINER_INDEXED_BLOCK, block_length,
                            displacements, old_type->extent, old_type);
}

Result<TypePtr> type_hindexed_block(int64_t block_length,
                                    std::span<const int64_t> displacements_bytes,
                                    const TypePtr& old_type) {
  return make_indexed_block("hindexed_block", SGLCOLL_COMBINER_HINDEXED_BLOCK, block_length,
                            displacements_bytes, 1, old_type);
}

Result<TypePtr> type_struct(std::span<const int64_t> block_lengths,
                            std::span<const int64_t> displacements_bytes,
                            std::span<const TypePtr> types) {
  SGL_TRY(check_same_count("displacements_bytes", displacements_bytes.size(), types.size()));
  SGL_TRY(check_same_count("block_lengths", block_lengths.size(), types.size()));
  SGL_TRY(check_lengths(block_lengths));
  Join join;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i]) {
      return error(SGLCOLL_ERR_TYPE, "types[{}] is NULL: it must be a datatype", i);
    }
    Body block;
    if (!make_block(block_lengths[i], displacements_bytes[i], 1, *types[i], &block) ||
        !join.add(std::move(block))) {
      return block_too_large("struct", i, block_lengths[i], displacements_bytes[i], *types[i]);
    }
  }
  const auto count = static_cast<int64_t>(types.size());
  return finish(join.take(), SGLCOLL_COMBINER_STRUCT,
                listed({count}, block_lengths, displacements_bytes), {types.begin(), types.end()});
}

}  // namespace sgl
