#include "comm/argument_check.hpp"

#include "base/checked.hpp"
#include "datatype/cursor.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <vector>

namespace sgl {
namespace {

constexpr int64_t kMaxExactRuns = 4096;

// Byte ranges in memory of a binding's runs, sorted; empty layouts have none.
std::vector<std::pair<intptr_t, intptr_t>> memory_ranges(const Binding& binding) {
  std::vector<std::pair<intptr_t, intptr_t>> ranges;
  Cursor cursor(binding.layout);
  Segment segments[64];
  auto base = reinterpret_cast<intptr_t>(binding.base);
  while (size_t count = cursor.next(segments, INT64_MAX))
    for (size_t i = 0; i < count; ++i)
      ranges.emplace_back(base + segments[i].offset,
                          base + segments[i].offset + segments[i].length);
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

bool share_a_byte(const Binding& first, const Binding& second) {
  auto a = memory_ranges(first), b = memory_ranges(second);
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].second <= b[j].first)
      ++i;
    else if (b[j].second <= a[i].first)
      ++j;
    else
      return true;
  }
  return false;
}

// No memory of a process lies below: the least address that Linux maps by default.
constexpr int64_t kLowestAddress = 64 << 10;

Status check_fits(const char* count_name, int64_t elements, const Type& type) {
  if (type.array_fits(elements)) return {};
  return error(SGLCOLL_ERR_COUNT,
               "{}: {} elements of a type of {} bytes and extent {} overflow 64 bits", count_name,
               elements, type.size, type.extent);
}

// The sums of addresses and offsets that follow must not wrap.
Status check_reach(const BufferArgument& buffer, int64_t elements) {
  const Type& type = *buffer.type;
  if (elements == 0 || type.size == 0) return {};
  const auto address = reinterpret_cast<intptr_t>(buffer.address);
  const int64_t end = type.layout.true_ub() + std::max<int64_t>((elements - 1) * type.extent, 0);
  int64_t last = 0;
  if (checked_add(address, end, &last)) return {};
  return error(SGLCOLL_ERR_COUNT, "{}: {} elements of extent {} at {} pass the end of all memory",
               buffer.count_name, elements, type.extent, buffer.address);
}

}  // namespace

Status check_buffer(const BufferArgument& buffer, int64_t elements) {
  if (elements < 0)
    return error(SGLCOLL_ERR_COUNT, "{} is {}: it must be 0 or more", buffer.count_name, elements);
  SGL_TRY(check_fits(buffer.count_name, elements, *buffer.type));
  if (buffer.address) return check_reach(buffer, elements);
  if (elements == 0 || buffer.type->size == 0) return {};
  // A type of absolute addresses goes with a null buffer.
  if (buffer.type->array_layout(elements).true_lb() >= kLowestAddress) return {};
  return error(SGLCOLL_ERR_BUFFER, "{} is NULL with a count of {}: give a buffer or a count of 0",
               buffer.name, elements);
}

Status check_blocks(const BlocksArgument& blocks, int size) {
  if (!blocks.counts)
    return error(SGLCOLL_ERR_ARG, "{} is NULL: it has one count a rank", blocks.counts_name);
  if (!blocks.displacements)
    return error(SGLCOLL_ERR_ARG, "{} is NULL: it has one displacement a rank, of {}",
                 blocks.displacements_name, blocks.name);
  int64_t total = 0, lowest = INT64_MAX, highest = 0;
  int furthest = 0;
  for (int i = 0; i < size; ++i) {
    int64_t count = blocks.counts[i], start = 0;
    if (count < 0)
      return error(SGLCOLL_ERR_COUNT, "{}[{}] is {}: it must be 0 or more", blocks.counts_name, i,
                   count);
    if (count == 0) continue;
    const Type& type = *blocks.type_of(i);
    SGL_TRY(check_fits(blocks.counts_name, count, type));
    const int64_t reach = (count - 1) * type.extent;
    if (!checked_mul(blocks.displacements[i], blocks.unit_of(i), &start) ||
        !span_fits(type.true_lb, type.layout.true_ub(), start, reach))
      return error(SGLCOLL_ERR_COUNT,
                   "{}[{}] is {}: with {} elements of extent {} it overflows 64 bits",
                   blocks.displacements_name, i, blocks.displacements[i], count, type.extent);
    if (!checked_add(total, count * type.size, &total))
      return error(SGLCOLL_ERR_COUNT,
                   "{}[{}] is {}: with those before it the bytes overflow 64 bits",
                   blocks.counts_name, i, count);
    if (type.size == 0) continue;
    const int64_t end = type.layout.true_ub() + start + std::max<int64_t>(reach, 0);
    lowest = std::min(lowest, type.true_lb + start + std::min<int64_t>(reach, 0));
    if (end > highest) highest = end, furthest = i;
  }
  if (!blocks.address && lowest < kLowestAddress)
    return error(SGLCOLL_ERR_BUFFER, "{} is NULL with blocks of {} bytes in all: give a buffer",
                 blocks.name, total);
  if (checked_add(reinterpret_cast<intptr_t>(blocks.address), highest, &highest)) return {};
  return error(SGLCOLL_ERR_COUNT,
               "{}[{}] is {}: with {} elements at {} it passes the end of all memory",
               blocks.displacements_name, furthest, blocks.displacements[furthest],
               blocks.counts[furthest], blocks.address);
}

Status check_root(int root, int size) {
  if (root >= 0 && root < size) return {};
  return error(SGLCOLL_ERR_ARG, "root is {}: it must be a rank of the communicator, 0 to {}", root,
               size - 1);
}

Status check_not_in_place(const char* name, bool in_place) {
  if (!in_place) return {};
  return error(SGLCOLL_ERR_BUFFER, "{} is SGLCOLL_IN_PLACE, which this call does not allow there",
               name);
}

Status check_reduction(const OpArgument& op, const TypePtr& type) {
  if (op.op.kind == OpKind::user || type->size == 0) return {};
  if (!type->uniform_basic)
    return error(SGLCOLL_ERR_OP, "op {} needs a type of one basic type throughout, not {}",
                 op_name(op.op.kind), type->describe());
  if (op_supports(op.op.kind, *type->uniform_basic)) return {};
  return error(SGLCOLL_ERR_OP, "op {} is not defined on {}", op_name(op.op.kind),
               basic_info(*type->uniform_basic).name);
}

Status check_signatures(const BufferArgument& send, int64_t send_elements, const char* recv_name,
                        const TypePtr& recv_type, int64_t recv_elements) {
  if (repeat(send.type->signature, send_elements) == repeat(recv_type->signature, recv_elements))
    return {};
  return error(SGLCOLL_ERR_MISMATCH,
               "{} is {} elements of {} ({} bytes) but {} expects {} elements of {} ({} bytes): "
               "the sequences of basic "
               "types must be equal",
               send.name, send_elements, send.type->describe(), send_elements * send.type->size,
               recv_name, recv_elements, recv_type->describe(), recv_elements * recv_type->size);
}

Status check_no_overlap(const char* first_name, const Binding& first, const char* second_name,
                        const Binding& second) {
  if (first.layout.empty() || second.layout.empty()) return {};
  auto low = [](const Binding& b) {
    return reinterpret_cast<intptr_t>(b.base) + b.layout.true_lb();
  };
  auto high = [](const Binding& b) {
    return reinterpret_cast<intptr_t>(b.base) + b.layout.true_ub();
  };
  if (high(first) <= low(second) || high(second) <= low(first)) return {};
  bool overlap = first.layout.contiguous() && second.layout.contiguous();
  if (!overlap && first.layout.run_count() <= kMaxExactRuns &&
      second.layout.run_count() <= kMaxExactRuns)
    overlap = share_a_byte(first, second);
  if (!overlap) return {};
  return error(SGLCOLL_ERR_BUFFER,
               "{} (at {}) and {} (at {}) overlap: use SGLCOLL_IN_PLACE or separate memory",
               first_name, static_cast<const void*>(first.base), second_name,
               static_cast<const void*>(second.base));
}

}  // namespace sgl
