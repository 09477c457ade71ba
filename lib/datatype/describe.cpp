// A type as text: its constructor tree with the arguments.
#include "datatype/type.hpp"

namespace sgl {
namespace {

// A text is for people: beyond these it says how much is left out.
constexpr size_t kMaxListed = 16;
constexpr size_t kMaxTextBytes = 4096;

const char* combiner_name(sglcoll_combiner combiner) {
  switch (combiner) {
    case SGLCOLL_COMBINER_NAMED:
      return "named";
    case SGLCOLL_COMBINER_DUP:
      return "dup";
    case SGLCOLL_COMBINER_CONTIGUOUS:
      return "contiguous";
    case SGLCOLL_COMBINER_VECTOR:
      return "vector";
    case SGLCOLL_COMBINER_HVECTOR:
      return "hvector";
    case SGLCOLL_COMBINER_INDEXED:
      return "indexed";
    case SGLCOLL_COMBINER_HINDEXED:
      return "hindexed";
    case SGLCOLL_COMBINER_INDEXED_BLOCK:
      return "indexed_block";
    case SGLCOLL_COMBINER_HINDEXED_BLOCK:
      return "hindexed_block";
    case SGLCOLL_COMBINER_STRUCT:
      return "struct";
    case SGLCOLL_COMBINER_SUBARRAY:
      return "subarray";
    case SGLCOLL_COMBINER_DARRAY:
      return "darray";
    case SGLCOLL_COMBINER_RESIZED:
      return "resized";
  }
  return "unknown";
}

// Starts entry `index` of a list; false, with a word on the rest, when it is cut.
bool begin_entry(std::string* text, size_t index, size_t count) {
  if (index > 0) *text += ", ";
  if (index < kMaxListed && text->size() < kMaxTextBytes) return true;
  *text += fmt::format("... {} more", count - index);
  return false;
}

void append(std::string* text, const Type& type) {
  if (type.combiner == SGLCOLL_COMBINER_NAMED) {
    *text += basic_info(type.basic).name;
    return;
  }
  *text += combiner_name(type.combiner);
  *text += '(';
  for (size_t i = 0; i < type.integers.size(); ++i) {
    if (!begin_entry(text, i, type.integers.size())) break;
    *text += fmt::format("{}", type.integers[i]);
  }
  if (!type.integers.empty() && !type.types.empty()) *text += "; ";
  for (size_t i = 0; i < type.types.size(); ++i) {
    if (!begin_entry(text, i, type.types.size())) break;
    append(text, *type.types[i]);
  }
  *text += ')';
}

}  // namespace

std::string Type::describe() const {
  std::string text;
  append(&text, *this);
  return text;
}

}  // namespace sgl
