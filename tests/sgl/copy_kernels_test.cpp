// Every copy kernel of every instruction set that this processor has: lengths,
// strides and counts around the limits of the classes, guards on both sides.
#include "sgl/copy_kernels.hpp"

#include "support/draws.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr uint64_t kSeed = 77;
constexpr std::byte kGuard{0x5a};

struct Shape {
  RunGrid grid;
  size_t shift;  // of the addresses

  std::string text() const {
    return "length " + std::to_string(grid.length) + ", " + std::to_string(grid.rows) + " x " +
           std::to_string(grid.count) + " runs, stride " + std::to_string(grid.stride);
  }
  int64_t runs() const { return grid.count * grid.rows; }
  int64_t packed_bytes() const { return runs() * grid.length; }
  int64_t offset(int64_t i) const {
    return i / grid.count * grid.row_stride + i % grid.count * grid.stride;
  }
  int64_t memory_bytes() const { return runs() == 0 ? 0 : offset(runs() - 1) + grid.length; }
};

Shape draw_shape(int64_t length, std::mt19937_64& random) {
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % limit); };
  RunGrid grid{};
  grid.length = length;
  grid.count = 1 + below(random() % 2 ? 8 : 150);
  const bool whole_gaps = random() % 4 != 0;
  grid.stride = length + (whole_gaps ? length * (1 + below(7)) : below(40));
  grid.rows = 1 + below(random() % 2 ? 4 : 20);
  grid.row_stride = grid.count * grid.stride + below(20);
  return {grid, static_cast<size_t>(below(64))};
}

// Memory of exactly the bytes that may be touched, so that a sanitizer sees any other.
class Bytes {
 public:
  Bytes(int64_t size, size_t shift, std::mt19937_64* random)
      : bytes_(static_cast<size_t>(size) + shift, kGuard), shift_(shift) {
    if (random == nullptr) return;
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>((*random)());
  }
  std::byte* data() { return bytes_.data() + shift_; }
  bool operator==(const Bytes& other) const { return bytes_ == other.bytes_; }

 private:
  std::vector<std::byte> bytes_;
  size_t shift_;
};

void check_grid(const RunKernels& kernels, const Shape& shape, std::mt19937_64& random) {
  const auto length = static_cast<size_t>(shape.grid.length);
  Bytes memory(shape.memory_bytes(), shape.shift, &random);
  Bytes packed(shape.packed_bytes(), shape.shift / 2, nullptr);
  Bytes expected = packed;
  for (int64_t i = 0; i < shape.runs(); ++i) {
    std::memcpy(expected.data() + i * shape.grid.length, memory.data() + shape.offset(i), length);
  }
  kernels.pack(packed.data(), memory.data(), shape.grid);
  ASSERT_TRUE(packed == expected) << "pack, " << shape.text();

  Bytes target(shape.memory_bytes(), shape.shift, nullptr);
  Bytes wanted = target;
  for (int64_t i = 0; i < shape.runs(); ++i) {
    std::memcpy(wanted.data() + shape.offset(i), packed.data() + i * shape.grid.length, length);
  }
  kernels.unpack(target.data(), packed.data(), shape.grid);
  ASSERT_TRUE(target == wanted) << "unpack, " << shape.text();
}

void check_indexed_and_move(const RunKernels& kernels, const Shape& shape,
                            std::mt19937_64& random) {
  const int64_t length = shape.grid.length;
  std::vector<int64_t> displacements;
  for (int64_t i = shape.runs(); i-- > 0;) displacements.push_back(shape.offset(i));
  Bytes memory(shape.memory_bytes(), shape.shift, &random);
  Bytes packed(shape.packed_bytes(), shape.shift / 2, nullptr);
  Bytes expected = packed;
  for (int64_t i = 0; i < shape.runs(); ++i) {
    std::memcpy(expected.data() + i * length, memory.data() + displacements[static_cast<size_t>(i)],
                static_cast<size_t>(length));
  }
  kernels.pack_indexed(packed.data(), memory.data(), displacements.data(), shape.runs(), length);
  ASSERT_TRUE(packed == expected) << "pack_indexed, " << shape.text();
  Bytes target(shape.memory_bytes(), shape.shift, nullptr);
  kernels.unpack_indexed(target.data(), packed.data(), displacements.data(), shape.runs(), length);
  Bytes repacked(shape.packed_bytes(), shape.shift / 2, nullptr);
  kernels.pack_indexed(repacked.data(), target.data(), displacements.data(), shape.runs(), length);
  ASSERT_TRUE(repacked == packed) << "unpack_indexed, " << shape.text();

  // One row, to another stride.
  const int64_t to_stride = length + 3;
  Bytes moved((shape.grid.count - 1) * to_stride + length, shape.shift, nullptr);
  Bytes moved_wanted = moved;
  for (int64_t i = 0; i < shape.grid.count; ++i) {
    std::memcpy(moved_wanted.data() + i * to_stride, memory.data() + shape.offset(i),
                static_cast<size_t>(length));
  }
  kernels.move(moved.data(), to_stride, memory.data(), shape.grid.stride, shape.grid.count, length);
  ASSERT_TRUE(moved == moved_wanted) << "move, " << shape.text();
}

TEST(CopyKernelsTest, MoveTheRunsAndNothingElse) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    if (!isa_available(isa)) continue;
    SCOPED_TRACE(std::string(isa_name(isa)) + ", seed " + std::to_string(kSeed));
    std::vector<int64_t> lengths;
    for (int64_t length = 1; length <= 200; ++length) lengths.push_back(length);
    for (int64_t length : {255, 256, 257, 1023, 1024, 1025}) lengths.push_back(length);
    for (const int64_t length : lengths) {
      const RunKernels& kernels =
          copy_kernels_for(isa).by_class[static_cast<size_t>(run_class(length))];
      for (int round = 0; round < (length <= 8 ? draws(200) : draws(8)); ++round) {
        const Shape shape = draw_shape(length, random);
        ASSERT_NO_FATAL_FAILURE(check_grid(kernels, shape, random));
        ASSERT_NO_FATAL_FAILURE(check_indexed_and_move(kernels, shape, random));
      }
    }
  }
}

// Runs of any lengths, one after the other with gaps, last first.
void check_list(const CopyKernels& kernels, std::mt19937_64& random) {
  std::vector<int64_t> offsets, starts;
  int64_t end = 0, memory_bytes = 0;
  const auto count = 1 + static_cast<int64_t>(random() % 40);
  for (int64_t i = 0; i < count; ++i) {
    const auto length = 1 + static_cast<int64_t>(random() % (random() % 8 == 0 ? 1500 : 80));
    offsets.insert(offsets.begin(), memory_bytes);
    starts.push_back(length);  // the length, for now
    memory_bytes += length + static_cast<int64_t>(random() % 20);
  }
  std::reverse(starts.begin(), starts.end());
  for (int64_t& start : starts) start = std::exchange(end, end + start);
  const RunList list{offsets.data(), starts.data(), count, end};
  Bytes memory(memory_bytes, random() % 64, &random), packed(end, random() % 64, nullptr);
  Bytes wanted = packed, back(memory_bytes, random() % 64, nullptr), wanted_back = back;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto length = static_cast<size_t>((i + 1 < count ? starts[at + 1] : end) - starts[at]);
    std::memcpy(wanted.data() + starts[at], memory.data() + offsets[at], length);
    std::memcpy(wanted_back.data() + offsets[at], memory.data() + offsets[at], length);
  }
  kernels.pack_list(packed.data(), memory.data(), list);
  ASSERT_TRUE(packed == wanted) << "pack_list of " << count;
  kernels.unpack_list(back.data(), packed.data(), list);
  ASSERT_TRUE(back == wanted_back) << "unpack_list of " << count;
}

TEST(CopyKernelsTest, MoveListsOfRuns) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    if (!isa_available(isa)) continue;
    SCOPED_TRACE(std::string(isa_name(isa)) + ", seed " + std::to_string(kSeed));
    for (int round = 0; round < draws(2000); ++round)
      ASSERT_NO_FATAL_FAILURE(check_list(copy_kernels_for(isa), random));
  }
}

TEST(CopyKernelsTest, StreamLines) {
  constexpr int64_t kLineBytes = 64;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    if (!isa_available(isa)) continue;
    SCOPED_TRACE(isa_name(isa));
    for (int64_t lines = 1; lines < 40; ++lines) {
      Bytes from(lines * kLineBytes, random() % kLineBytes, &random);
      std::vector<std::byte> memory(static_cast<size_t>((lines + 3) * kLineBytes), kGuard);
      const auto to_line = -reinterpret_cast<uintptr_t>(memory.data()) % kLineBytes;
      std::vector<std::byte> wanted = memory;
      std::memcpy(wanted.data() + to_line + kLineBytes, from.data(),
                  static_cast<size_t>(lines * kLineBytes));
      copy_kernels_for(isa).stream_lines(memory.data() + to_line + kLineBytes, from.data(), lines);
      ASSERT_EQ(memory, wanted) << lines << " lines";
    }
  }
}

}  // namespace
}  // namespace sgl::test
