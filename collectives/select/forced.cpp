#include "collectives/select/forced.hpp"

#include <optional>

namespace sgl {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void append_name(std::string* list, std::string_view name) {
  if (!list->empty()) *list += ", ";
  *list += name;
}

// One "collective=algorithm".
Result<const Builder*> read_entry(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos)
    return error(SGLCOLL_ERR_ARG,
                 "SGLCOLL_ALGORITHM has \"{}\": it must be a list such as "
                 "\"allgather=ring,bcast=binomial\"",
                 entry);
  const std::string_view name = trimmed(entry.substr(0, equals));
  const std::string_view algorithm = trimmed(entry.substr(equals + 1));
  const std::optional<Collective> collective = find_collective(name);
  if (!collective)
    return error(SGLCOLL_ERR_ARG,
                 "SGLCOLL_ALGORITHM names the collective \"{}\": it must be one of {}", name,
                 collective_names());
  const Builder* builder = find_builder(*collective, algorithm);
  if (!builder)
    return error(SGLCOLL_ERR_ARG,
                 "SGLCOLL_ALGORITHM names the algorithm \"{}\" for {}: it must be one of {}",
                 algorithm, name, builder_names(*collective));
  return builder;
}

}  // namespace

std::string builder_names(Collective collective) {
  std::string names;
  for (const Builder& builder : all_builders())
    if (builder.collective == collective) append_name(&names, builder.name);
  return names;
}

std::string builder_names(const Problem& problem, bool fixed_order) {
  std::string names;
  for (const Builder& builder : all_builders())
    if (fits(builder, problem) && (builder.fixed_order || !fixed_order))
      append_name(&names, builder.name);
  return names;
}

Result<const Builder*> forced_builder(Collective collective, std::string_view text) {
  const Builder* found = nullptr;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view entry = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (entry.empty()) continue;
    Result<const Builder*> named = read_entry(entry);
    if (!named.ok()) return named;
    if (named.value()->collective == collective) found = named.value();
  }
  return found;
}

Status check_algorithm_setting(std::string_view forced) {
  Result<const Builder*> named = forced_builder(Collective::barrier, forced);
  return named.ok() ? Status() : std::move(named.status());
}

}  // namespace sgl
