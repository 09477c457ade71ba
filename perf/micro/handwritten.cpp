#include "handwritten.hpp"

#include <cstring>

namespace handwritten {
namespace {

template <int64_t kBlock, int64_t kStride>
void pack_vector(std::byte* __restrict memory, std::byte* __restrict packed, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(packed + i * kBlock, memory + i * kStride, kBlock);
  }
}

template <int64_t kBlock, int64_t kStride>
void unpack_vector(std::byte* __restrict memory, std::byte* __restrict packed, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(memory + i * kStride, packed + i * kBlock, kBlock);
  }
}

template <int64_t kBlock>
void pack_rows(std::byte* __restrict memory, std::byte* __restrict packed, int64_t count) {
  for (int64_t row = 0; row < count; ++row) {
    pack_vector<kBlock, 2 * kBlock>(memory + row * 16 * kBlock, packed + row * 4 * kBlock, 4);
  }
}

template <int64_t kBlock>
void unpack_rows(std::byte* __restrict memory, std::byte* __restrict packed, int64_t count) {
  for (int64_t row = 0; row < count; ++row) {
    unpack_vector<kBlock, 2 * kBlock>(memory + row * 16 * kBlock, packed + row * 4 * kBlock, 4);
  }
}

template <int64_t kBlock>
Loops vector_of(int64_t stride_blocks) {
  if (stride_blocks == 2) {
    return {pack_vector<kBlock, 2 * kBlock>, unpack_vector<kBlock, 2 * kBlock>};
  }
  return {pack_vector<kBlock, 9 * kBlock>, unpack_vector<kBlock, 9 * kBlock>};
}

template <int64_t kBlock>
void pack_blocks(const std::byte* __restrict memory, std::byte* __restrict packed,
                 const int64_t* displacements, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(packed + i * kBlock, memory + displacements[i], kBlock);
  }
}

void pack_structs(std::byte* __restrict memory, std::byte* __restrict packed, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(packed, memory, 4);
    std::memcpy(packed + 4, memory + 8, 8);
    std::memcpy(packed + 12, memory + 16, 2);
    packed += kStructBytes;
    memory += kStructExtent;
  }
}

void unpack_structs(std::byte* __restrict memory, std::byte* __restrict packed, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(memory, packed, 4);
    std::memcpy(memory + 8, packed + 4, 8);
    std::memcpy(memory + 16, packed + 12, 2);
    packed += kStructBytes;
    memory += kStructExtent;
  }
}

}  // namespace

Loops vector_loops(int64_t block, int64_t stride_blocks) {
  switch (block) {
    case 1:
      return vector_of<1>(stride_blocks);
    case 2:
      return vector_of<2>(stride_blocks);
    case 4:
      return vector_of<4>(stride_blocks);
    case 8:
      return vector_of<8>(stride_blocks);
    case 16:
      return vector_of<16>(stride_blocks);
    case 32:
      return vector_of<32>(stride_blocks);
    case 64:
      return vector_of<64>(stride_blocks);
    case 128:
      return vector_of<128>(stride_blocks);
    case 256:
      return vector_of<256>(stride_blocks);
    default:
      return {nullptr, nullptr};
  }
}

Loops rows_loops(int64_t block) {
  if (block == 4) return {pack_rows<4>, unpack_rows<4>};
  if (block == 8) return {pack_rows<8>, unpack_rows<8>};
  return {pack_rows<64>, unpack_rows<64>};
}

void pack_indexed(const std::byte* memory, std::byte* packed, const int64_t* displacements,
                  int64_t count, int64_t block) {
  if (block == 8) return pack_blocks<8>(memory, packed, displacements, count);
  pack_blocks<64>(memory, packed, displacements, count);
}

Loops struct_loops() {
  return {pack_structs, unpack_structs};
}

}  // namespace handwritten
