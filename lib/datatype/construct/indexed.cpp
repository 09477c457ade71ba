// indexed, hindexed, indexed_block, hindexed_block and struct.
#include "datatype/construct/assemble.hpp"

namespace sgl {
namespace {

Status check_lengths(size_t lengths, size_t displacements) {
  if (lengths == displacements) return {};
  return error(SGLCOLL_ERR_ARG, "there are {} block_lengths and {} displacements: one of each a block", lengths,
               displacements);
}

Status check_block_length(size_t index, int64_t length) {
  if (length >= 0) return {};
  return error(SGLCOLL_ERR_COUNT, "block_lengths[{}] is {}: it must be 0 or more", index, length);
}

Result<TypePtr> finish(std::span<const TypeBlock> blocks, sglcoll_combiner combiner, std::vector<int64_t> integers,
                       std::vector<TypePtr> types) {
  Result<std::shared_ptr<Type>> made = assemble(blocks, combiner == SGLCOLL_COMBINER_STRUCT);
  if (!made.ok()) return std::move(made.status());
  std::shared_ptr<Type> type = made.take();
  type->combiner = combiner;
  type->integers = std::move(integers);
  type->types = std::move(types);
  return TypePtr(std::move(type));
}

std::vector<int64_t> list_arguments(std::initializer_list<int64_t> first, std::span<const int64_t> a,
                                    std::span<const int64_t> b = {}) {
  std::vector<int64_t> integers(first);
  integers.insert(integers.end(), a.begin(), a.end());
  integers.insert(integers.end(), b.begin(), b.end());
  return integers;
}

// Blocks of one old type; unit: bytes in one step of a displacement.
Result<TypePtr> index_blocks(std::span<const int64_t> lengths, int64_t one_length, std::span<const int64_t> displacements,
                             int64_t unit, sglcoll_combiner combiner, std::vector<int64_t> integers,
                             const TypePtr& old_type) {
  std::vector<TypeBlock> blocks;
  blocks.reserve(displacements.size());
  for (size_t i = 0; i < displacements.size(); ++i) {
    int64_t length = lengths.empty() ? one_length : lengths[i];
    SGL_TRY(check_block_length(i, length));
    int64_t bytes = 0;
    SGL_TRY(scale("displacement", displacements[i], unit, &bytes));
    blocks.push_back({length, bytes, old_type.get()});
  }
  return finish(blocks, combiner, std::move(integers), {old_type});
}

}  // namespace

Result<TypePtr> type_indexed(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                             const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_lengths(block_lengths.size(), displacements.size()));
  auto count = static_cast<int64_t>(displacements.size());
  return index_blocks(block_lengths, 0, displacements, old_type->extent, SGLCOLL_COMBINER_INDEXED,
                      list_arguments({count}, block_lengths, displacements), old_type);
}

Result<TypePtr> type_hindexed(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements_bytes,
                              const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_lengths(block_lengths.size(), displacements_bytes.size()));
  auto count = static_cast<int64_t>(displacements_bytes.size());
  return index_blocks(block_lengths, 0, displacements_bytes, 1, SGLCOLL_COMBINER_HINDEXED,
                      list_arguments({count}, block_lengths, displacements_bytes), old_type);
}

Result<TypePtr> type_indexed_block(int64_t block_length, std::span<const int64_t> displacements, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_count("block_length", block_length));
  auto count = static_cast<int64_t>(displacements.size());
  return index_blocks({}, block_length, displacements, old_type->extent, SGLCOLL_COMBINER_INDEXED_BLOCK,
                      list_arguments({count, block_length}, displacements), old_type);
}

Result<TypePtr> type_hindexed_block(int64_t block_length, std::span<const int64_t> displacements_bytes,
                                    const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_count("block_length", block_length));
  auto count = static_cast<int64_t>(displacements_bytes.size());
  return index_blocks({}, block_length, displacements_bytes, 1, SGLCOLL_COMBINER_HINDEXED_BLOCK,
                      list_arguments({count, block_length}, displacements_bytes), old_type);
}

Result<TypePtr> type_struct(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements_bytes,
                            std::span<const TypePtr> types) {
  SGL_TRY(check_lengths(block_lengths.size(), displacements_bytes.size()));
  if (types.size() != block_lengths.size())
    return error(SGLCOLL_ERR_ARG, "there are {} types and {} block_lengths: one of each a block", types.size(),
                 block_lengths.size());
  std::vector<TypeBlock> blocks;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i]) return error(SGLCOLL_ERR_TYPE, "types[{}] is NULL: give a datatype", i);
    SGL_TRY(check_block_length(i, block_lengths[i]));
    blocks.push_back({block_lengths[i], displacements_bytes[i], types[i].get()});
  }
  auto count = static_cast<int64_t>(types.size());
  return finish(blocks, SGLCOLL_COMBINER_STRUCT, list_arguments({count}, block_lengths, displacements_bytes),
                {types.begin(), types.end()});
}

}  // namespace sgl
