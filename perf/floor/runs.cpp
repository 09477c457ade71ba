#include "floor/runs.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace perf {
namespace {

constexpr int64_t kElement = sizeof(int32_t);
constexpr int64_t kLine = 64;

void append(std::vector<Run>* list, int64_t offset, int64_t bytes) {
  if (!list->empty() && list->back().offset + list->back().bytes == offset)
    list->back().bytes += bytes;
  else
    list->push_back({offset, bytes});
}

// The rows of a subarray, in C order.
std::vector<Run> rows_of(const Shape& shape) {
  std::vector<Run> list;
  const size_t dims = shape.sizes.size();
  std::vector<int64_t> index(dims, 0);
  for (int64_t done = 0; done < shape.payload; done += shape.subsizes[dims - 1]) {
    int64_t offset = 0;
    for (size_t d = 0; d < dims; ++d) offset = offset * shape.sizes[d] + shape.starts[d] + index[d];
    append(&list, offset * kElement, shape.subsizes[dims - 1] * kElement);
    for (size_t d = dims - 1; d-- > 0;) {
      if (++index[d] < shape.subsizes[d]) break;
      index[d] = 0;
    }
  }
  return list;
}

std::vector<Run> list_of(const Shape& shape) {
  if (shape.kind == Shape::Kind::subarray) return rows_of(shape);
  std::vector<Run> list;
  if (shape.kind == Shape::Kind::contiguous) return {{0, shape.payload * kElement}};
  if (shape.kind == Shape::Kind::vector)
    for (int64_t i = 0; i < shape.count; ++i)
      append(&list, i * shape.stride * kElement, shape.block * kElement);
  for (size_t i = 0; i < shape.lengths.size(); ++i)
    append(&list, shape.displacements[i] * kElement, shape.lengths[i] * kElement);
  return list;
}

// Runs of one length at one distance become blocks.
Runs made_of(std::vector<Run> list) {
  Runs runs;
  for (const Run& run : list) runs.payload += run.bytes;
  if (list.empty()) return runs;
  const int64_t stride = list.size() > 1 ? list[1].offset - list[0].offset : list[0].bytes;
  bool equal = true;
  for (size_t i = 0; i < list.size(); ++i)
    equal &= list[i].bytes == list[0].bytes &&
             list[i].offset == list[0].offset + static_cast<int64_t>(i) * stride;
  runs.count = std::ssize(list);
  if (equal) {
    runs.offset = list[0].offset;
    runs.block = list[0].bytes;
    runs.stride = stride;
  } else {
    runs.list = std::move(list);
  }
  return runs;
}

// Payload ends are multiples of this: no short block is cut, and blocks in a line stay together.
int64_t grain(const Runs& runs) {
  constexpr int64_t kLongBlock = 4096;
  if (!runs.list.empty() || runs.block >= kLongBlock) return kLine;
  return std::max(kLine, std::lcm(runs.block, kLine));
}

}  // namespace

Runs runs_of(const Shape& shape) {
  return made_of(list_of(shape));
}

Runs slice(const Runs& runs, int64_t begin, int64_t end) {
  if (begin == 0 && end == runs.payload) return runs;
  if (runs.list.empty() && begin % runs.block == 0 && end % runs.block == 0) {
    Runs part = runs;
    part.offset += begin / runs.block * runs.stride;
    part.count = (end - begin) / runs.block;
    part.payload = end - begin;
    return part;
  }
  std::vector<Run> list;
  auto take = [&](int64_t at, const Run& run) {
    const int64_t from = std::max(begin, at), to = std::min(end, at + run.bytes);
    if (from < to) list.push_back({run.offset + from - at, to - from});
  };
  if (runs.list.empty()) {
    for (int64_t i = begin / runs.block; i * runs.block < end; ++i)
      take(i * runs.block, {runs.offset + i * runs.stride, runs.block});
  } else {
    int64_t at = 0;
    for (const Run& run : runs.list) {
      take(at, run);
      at += run.bytes;
    }
  }
  return made_of(std::move(list));
}

std::vector<Runs> cut(const Runs& runs, int64_t bytes) {
  const int64_t unit = grain(runs);
  const int64_t step = std::max(unit, bytes / unit * unit);
  std::vector<Runs> parts;
  for (int64_t at = 0; at < runs.payload; at += step)
    parts.push_back(slice(runs, at, std::min(at + step, runs.payload)));
  return parts;
}

std::vector<int64_t> shares(const Runs& runs, int parts) {
  const int64_t unit = grain(runs);
  std::vector<int64_t> ends;
  for (int64_t i = 0; i <= parts; ++i)
    ends.push_back(i == parts ? runs.payload : runs.payload / unit * i / parts * unit);
  return ends;
}

}  // namespace perf
