#include "sglrun/host/placement.hpp"

#include "topology/placement.hpp"

namespace sgl::run {

Result<std::vector<std::vector<int>>> place(int ranks, const std::string& map_by_word,
                                            const std::string& bind_to_word) {
  std::vector<std::vector<int>> processors(static_cast<size_t>(ranks));
  if (ranks == 0 || (bind_to_word == "none" && (map_by_word == "slot" || map_by_word == "node")))
    return processors;
  Result<Node> node = discover_node();
  if (!node.ok()) return std::move(node.status());
  Result<MapBy> map_by = parse_map_by(map_by_word);
  if (!map_by.ok()) return std::move(map_by.status());
  // As long as there is a core for each rank: two ranks on one core wait for each other's
  // time slices.
  bool core_each = ranks <= static_cast<int>(node.value().at(Level::core).size());
  Result<BindTo> bind_to = parse_bind_to(bind_to_word != "auto" ? bind_to_word
                                         : core_each            ? "core"
                                                                : "none");
  if (!bind_to.ok()) return std::move(bind_to.status());
  Result<std::vector<RankPlacement>> places =
      place_ranks(node.value(), {ranks, map_by.value(), bind_to.value()});
  if (!places.ok()) return std::move(places.status());
  for (size_t rank = 0; rank < processors.size(); ++rank)
    processors[rank] = places.value()[rank].bind_set;
  return processors;
}

std::string describe_binding(std::span<const int> processors) {
  return processors.empty() ? "not bound" : "bound to processors " + format_pu_set(processors);
}

}  // namespace sgl::run
