// Where a launcher puts the ranks of one node: a map (which domain each rank goes
// to) and a binding (the PUs that it may run on there).
#pragma once

#include "topology/node.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sgl {

// slot: core after core. core: the same, and each rank takes a core (or wraps). numa,
// l3, package: one rank a domain in turn. node: this node alone, so as slot.
enum class MapBy : uint8_t { slot, core, numa, l3, package, node };
enum class BindTo : uint8_t { none, pu, core, l3, numa, package };

// From the words of the options; the error lists the words there are.
Result<MapBy> parse_map_by(std::string_view word);
Result<BindTo> parse_bind_to(std::string_view word);
const char* map_by_name(MapBy map_by);
const char* bind_to_name(BindTo bind_to);

struct PlacementRequest {
  int ranks = 1;
  MapBy map_by = MapBy::slot;
  BindTo bind_to = BindTo::none;
};

struct RankPlacement {
  int home_pu = -1;           // OS index: the PU that the map gave the rank
  std::vector<int> bind_set;  // OS indexes, ascending; empty: not bound
};

// One placement a rank, by rank. Deterministic. O(ranks x PUs of its bind set + domains x
// cores).
//
// Without binding, or bound to a domain above the core, ranks beyond the number of
// cores share cores, on other PUs of theirs first. SGLCOLL_ERR_ARG, with a text for the user of a
// launcher, when ranks < 1, when more ranks than cores (PUs) are to be bound to
// cores (PUs), or when the machine lacks the level that the map or binding names.
Result<std::vector<RankPlacement>> place_ranks(const Node& node, const PlacementRequest& request);

// "0-3,8" for a report; "any" for an empty set. `os_indexes` ascend.
std::string format_pu_set(std::span<const int> os_indexes);

}  // namespace sgl
