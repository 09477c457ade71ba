#include "sglperf/pattern.hpp"

#include "sglperf/traffic.hpp"

namespace perf {
namespace {

int32_t value(const Pattern& pattern, int rank, int block, int64_t i) {
  return static_cast<int32_t>(static_cast<uint32_t>(rank + 1) * 1000003u +
                              static_cast<uint32_t>(block) * 97u +
                              static_cast<uint32_t>(i) * 7919u + pattern.salt * 2654435761u);
}

// Calls visit(payload index, element offset) over one layout in payload order.
template <class Visit>
void for_each_element(const Shape& shape, Visit visit) {
  int64_t payload = 0;
  switch (shape.kind) {
    case Shape::Kind::contiguous:
      for (int64_t i = 0; i < shape.block; ++i) visit(i, i);
      return;
    case Shape::Kind::vector:
      for (int64_t b = 0; b < shape.count; ++b)
        for (int64_t i = 0; i < shape.block; ++i) visit(payload++, b * shape.stride + i);
      return;
    case Shape::Kind::indexed:
      for (size_t b = 0; b < shape.lengths.size(); ++b)
        for (int64_t i = 0; i < shape.lengths[b]; ++i) visit(payload++, shape.displacements[b] + i);
      return;
    case Shape::Kind::subarray: {
      std::vector<int64_t> index(shape.sizes.size(), 0);
      for (; payload < shape.payload; ++payload) {
        int64_t offset = 0;
        for (size_t d = 0; d < index.size(); ++d)
          offset = offset * shape.sizes[d] + shape.starts[d] + index[d];
        visit(payload, offset);
        for (size_t d = index.size(); d-- > 0;) {
          if (++index[d] < shape.subsizes[d]) break;
          index[d] = 0;
        }
      }
      return;
    }
  }
}

void write_block(const Pattern& pattern, const Shape& shape, int block, int32_t* at) {
  for_each_element(shape, [&](int64_t i, int64_t offset) {
    at[offset] = value(pattern, pattern.rank, block, i);
  });
}

// What payload element i of received block `block` must be.
int32_t expected(const Pattern& pattern, int block, int64_t i) {
  const std::string& name = pattern.collective;
  if (name == "bcast") return value(pattern, pattern.root, 0, i);
  if (name == "scatter" || name == "scatterv") return value(pattern, pattern.root, pattern.rank, i);
  if (name.starts_with("alltoall")) return value(pattern, block, pattern.rank, i);
  if (!is_reduction(name)) return value(pattern, block, 0, i);  // gathers
  int from = name == "allreduce" || name == "reduce" ? 0 : pattern.rank;
  uint32_t sum = 0;
  for (int rank = 0; rank < pattern.size; ++rank)
    sum += static_cast<uint32_t>(value(pattern, rank, from, i));
  return static_cast<int32_t>(sum);
}

}  // namespace

void write_inputs(const Pattern& p, const Shape& shape, Buffers buffers) {
  if (p.collective == "bcast") {
    if (p.rank == p.root) write_block(p, shape, 0, buffers.recv);
    return;
  }
  for (int block = 0; block < blocks_sent(p.collective, p.rank, p.size, p.root); ++block)
    write_block(p, shape, block, buffers.send + block * shape.extent);
}

bool verify(const Pattern& p, const Shape& shape, const int32_t* recv) {
  bool right = true;
  for (int block = 0; block < blocks_received(p.collective, p.rank, p.size, p.root); ++block) {
    // Values, and so their sums, grow by the same from each element to the next.
    const auto first = static_cast<uint32_t>(expected(p, block, 0));
    const uint32_t step = static_cast<uint32_t>(expected(p, block, 1)) - first;
    for_each_element(shape, [&](int64_t i, int64_t offset) {
      const auto found = static_cast<uint32_t>(recv[block * shape.extent + offset]);
      right &= found == first + static_cast<uint32_t>(i) * step;
    });
  }
  return right;
}

}  // namespace perf
