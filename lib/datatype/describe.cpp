// A type as text: its constructor tree with the arguments.
#include "datatype/type.hpp"

namespace sgl {
namespace {

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

}  // namespace

std::string Type::describe() const {
  if (combiner == SGLCOLL_COMBINER_NAMED) return basic_info(basic).name;
  constexpr size_t kShown = 12;
  std::string text = fmt::format("{}(", combiner_name(combiner));
  for (size_t i = 0; i < integers.size() && i < kShown; ++i)
    text += fmt::format("{}{}", i ? " " : "", integers[i]);
  if (integers.size() > kShown) text += fmt::format(" and {} more", integers.size() - kShown);
  for (size_t i = 0; i < types.size() && i < kShown; ++i)
    text += fmt::format("{}{}", i || !integers.empty() ? ", " : "", types[i]->describe());
  if (types.size() > kShown) text += fmt::format(", and {} more", types.size() - kShown);
  return text + ")";
}

}  // namespace sgl
