#include "sgl/byte_pattern.hpp"

#include "op/isa.hpp"
#include "sgl/layout_steps.hpp"

namespace sgl {
namespace {

constexpr int64_t kVectorBytes = 64;
// Fewer runs are not worth the set-up, which costs as much as moving some twenty (measured).
constexpr int64_t kFewestRuns = 48;

bool find_byte_permutation() {
#if defined(__x86_64__)
  return isa_available(Isa::avx512) && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2");
#else
  return false;
#endif
}

bool have_byte_permutation() {
  static const bool have = find_byte_permutation();
  return have;
}

bool add_run(const Segment& run, int64_t base, BytePattern* pattern) {
  const int64_t first = base + run.offset;
  if ((pattern->one_copy >> first) != 0) return false;
  pattern->one_copy |= (~uint64_t{0} >> (kVectorBytes - run.length)) << first;
  return true;
}

// Appends the runs of `node`, whose base is vector byte `base`, to copy 0. False when one begins
// before the end of the one before.
bool add_runs(const LayoutNode& node, int64_t base, BytePattern* pattern) {
  if (node.kind == LayoutKind::run) return add_run({node.offset, node.length}, base, pattern);
  for (int64_t i = 0; i < child_count(node); ++i) {
    const bool added = is_run_part(node, i)
                           ? add_run(run_part(node, i), base, pattern)
                           : add_runs(child_of(node, i), base + moved_by(node, i), pattern);
    if (!added) return false;
  }
  return true;
}

// Rows of 8-byte blocks: permutations of such lanes are faster (measured).
bool is_row_of_lanes(const LayoutNode& node) {
  return node.kind == LayoutKind::loop && node.depth == 1 && node.count >= 4 && node.max_run == 8;
}

}  // namespace

uint64_t BytePattern::held(int64_t count) const {
  uint64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) bytes |= one_copy << (i * stride);
  return bytes;
}

bool make_byte_pattern(const LayoutNode& node, int64_t count, int64_t stride,
                       BytePattern* pattern) {
  const int64_t span = node.true_ub - node.true_lb;
  // Copies that interlace are left to other kernels.
  if (span > kVectorBytes || stride < span || node.run_count * count < kFewestRuns) return false;
  const int64_t copies = (kVectorBytes - span) / stride + 1;
  if (copies * node.run_count < 2 || is_row_of_lanes(node) || !have_byte_permutation())
    return false;
  if (!add_runs(node, -node.true_lb, pattern)) return false;
  pattern->lowest = node.true_lb;
  pattern->size = node.size;
  pattern->stride = stride;
  pattern->copies = copies;
  return true;
}

#if !defined(__x86_64__)
void pack_patterns(const BytePattern&, std::byte*, const std::byte*, int64_t) {}
void unpack_patterns(const BytePattern&, std::byte*, const std::byte*, int64_t) {}
#endif

}  // namespace sgl
