#include "support/layout_grammar.hpp"

#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace sgl::tools {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

[[noreturn]] void refuse(const std::string& layout, const std::string& wanted) {
  throw std::invalid_argument("--layout " + layout + ": it takes " + wanted);
}

int64_t number(const std::string& layout, const std::string& text) {
  try {
    size_t used = 0;
    int64_t value = std::stoll(text, &used);
    if (used == text.size() && value >= 0) return value;
  } catch (const std::exception&) {
  }
  refuse(layout, "whole numbers, not \"" + text + "\"");
}

int64_t elements(const std::string& layout, const std::string& text) {
  int64_t bytes = number(layout, text);
  if (bytes % 4 != 0) refuse(layout, "byte numbers that are multiples of 4, not " + text);
  return bytes / 4;
}

Shape contiguous(int64_t payload) {
  Shape shape;
  shape.block = shape.payload = shape.extent = payload;
  shape.count = 1;
  return shape;
}

Shape vector_shape(const std::string& layout, const std::vector<std::string>& parts,
                   int64_t payload) {
  if (parts.size() != 3) refuse(layout, "vector:BLOCK_BYTES:STRIDE_BYTES");
  Shape shape;
  shape.kind = Shape::Kind::vector;
  shape.block = elements(layout, parts[1]);
  shape.stride = elements(layout, parts[2]);
  if (shape.block < 1 || shape.stride < shape.block)
    refuse(layout, "a block of 4 bytes or more and a stride not below it");
  shape.count = std::max<int64_t>(1, payload / shape.block);
  shape.payload = shape.count * shape.block;
  shape.extent = shape.count * shape.stride;
  return shape;
}

Shape indexed_shape(const std::string& layout, const std::vector<std::string>& parts,
                    int64_t payload) {
  if (parts.size() != 5) refuse(layout, "indexed:SEED:MIN:MAX:GAP");
  std::mt19937_64 random(static_cast<uint64_t>(number(layout, parts[1])));
  int64_t low = elements(layout, parts[2]), high = elements(layout, parts[3]),
          gap = elements(layout, parts[4]);
  if (low < 1 || high < low || gap < 1) refuse(layout, "4 <= MIN <= MAX and a GAP of 4 or more");
  Shape shape;
  shape.kind = Shape::Kind::indexed;
  int64_t next = 0;
  while (shape.payload < payload) {
    int64_t length = std::min(std::uniform_int_distribution<int64_t>(low, high)(random),
                              payload - shape.payload);
    shape.lengths.push_back(length);
    shape.displacements.push_back(next);
    shape.payload += length;
    next += length + std::uniform_int_distribution<int64_t>(1, gap)(random);
  }
  shape.extent = next;
  return shape;
}

std::vector<int64_t> dimensions(const std::string& layout, const std::string& text) {
  std::vector<int64_t> dims;
  for (const std::string& part : split(text, 'x')) dims.push_back(number(layout, part));
  return dims;
}

Shape subarray_shape(const std::string& layout, const std::vector<std::string>& parts) {
  if (parts.size() != 5)
    refuse(layout, "subarray:DIMS:SUBDIMS:STARTS:ELEM_BYTES, e.g. subarray:64x64:64x8:0x0:8");
  Shape shape;
  shape.kind = Shape::Kind::subarray;
  shape.sizes = dimensions(layout, parts[1]);
  shape.subsizes = dimensions(layout, parts[2]);
  shape.starts = dimensions(layout, parts[3]);
  int64_t element = elements(layout, parts[4]);
  size_t dims = shape.sizes.size();
  if (dims == 0 || shape.subsizes.size() != dims || shape.starts.size() != dims || element < 1)
    refuse(layout, "as many subdims and starts as dims, and elements of 4 bytes or more");
  constexpr int64_t kMostElements = int64_t{1} << 40;
  int64_t whole = element;
  for (int64_t dim : shape.sizes)
    if (__builtin_mul_overflow(whole, dim, &whole) || whole > kMostElements)
      refuse(layout, "an array of less than 4 TiB");
  for (size_t i = 0; i < dims; ++i)
    if (shape.subsizes[i] < 1 || shape.starts[i] + shape.subsizes[i] > shape.sizes[i])
      refuse(layout, "1 <= subdim and start + subdim <= dim in each dimension");
  shape.sizes.back() *= element;
  shape.subsizes.back() *= element;
  shape.starts.back() *= element;
  shape.payload = shape.extent = 1;
  for (size_t i = 0; i < dims; ++i) {
    shape.payload *= shape.subsizes[i];
    shape.extent *= shape.sizes[i];
  }
  return shape;
}

Shape tensors_shape(const std::string& layout, const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse(layout, "a file that can be read");
  Shape shape;
  shape.kind = Shape::Kind::indexed;
  constexpr int64_t kGap = 16;  // each tensor starts on its own cache line
  int64_t next = 0;
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    std::string name;
    if (!(words >> name) || name[0] == '#') continue;
    int64_t length = 1;
    for (std::string dim; words >> dim;)
      if (__builtin_mul_overflow(length, number(layout, dim), &length) ||
          length > (int64_t{1} << 40))
        refuse(layout, "tensors of less than 4 TiB, not that of the line \"" + line + "\"");
    shape.lengths.push_back(length);
    shape.displacements.push_back(next);
    shape.payload += length;
    next += (length + 2 * kGap - 1) / kGap * kGap;
  }
  if (shape.lengths.empty()) refuse(layout, "a file with a line a tensor: NAME DIM [DIM ...]");
  shape.extent = next;
  return shape;
}

}  // namespace

bool has_fixed_size(const std::string& layout) {
  return layout.rfind("subarray:", 0) == 0 || layout.rfind("tensors:", 0) == 0;
}

Shape parse_layout(const std::string& text, int64_t bytes) {
  if (text.rfind("tensors:", 0) == 0) return tensors_shape(text, text.substr(8));
  std::vector<std::string> parts = split(text, ':');
  int64_t payload = std::max<int64_t>(1, bytes / 4);
  if (text == "contig") return contiguous(payload);
  if (!parts.empty() && parts[0] == "vector") return vector_shape(text, parts, payload);
  if (!parts.empty() && parts[0] == "indexed") return indexed_shape(text, parts, payload);
  if (!parts.empty() && parts[0] == "subarray") return subarray_shape(text, parts);
  refuse(text, "contig, vector:..., indexed:..., subarray:... or tensors:FILE");
}

}  // namespace sgl::tools
