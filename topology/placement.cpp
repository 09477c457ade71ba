#include "topology/placement.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace sgl {
namespace {

constexpr const char* kMapWords[] = {"slot", "core", "numa", "l3", "package", "node"};
constexpr const char* kBindWords[] = {"none", "pu", "core", "l3", "numa", "package"};

template <size_t N>
Result<int> parse_word(const char* option, const char* const (&words)[N], std::string_view word) {
  auto found =
      std::ranges::find(words, word, [](const char* each) { return std::string_view(each); });
  if (found == std::end(words))
    return error(SGLCOLL_ERR_ARG, "{} takes {}, not \"{}\"", option, fmt::join(words, ", "), word);
  return static_cast<int>(found - std::begin(words));
}

Level map_level(MapBy map_by) {
  switch (map_by) {
    case MapBy::numa:
      return Level::numa;
    case MapBy::l3:
      return Level::l3;
    case MapBy::package:
      return Level::package;
    case MapBy::slot:
    case MapBy::core:
    case MapBy::node:
      return Level::machine;
  }
  return Level::machine;
}

Level bind_level(BindTo bind_to) {
  switch (bind_to) {
    case BindTo::none:
      return Level::machine;
    case BindTo::pu:
      return Level::pu;
    case BindTo::core:
      return Level::core;
    case BindTo::l3:
      return Level::l3;
    case BindTo::numa:
      return Level::numa;
    case BindTo::package:
      return Level::package;
  }
  return Level::machine;
}

Status check_level(const Node& node, const char* option, Level level) {
  if (node.has(level)) return {};
  std::vector<const char*> names;
  for (Level each : node.levels) names.push_back(level_name(each));
  return error(SGLCOLL_ERR_ARG, "{} {}: {} reports no such level, only {}", option,
               level_name(level), node.name, fmt::join(names, ", "));
}

Status check_request(const Node& node, const PlacementRequest& request) {
  if (request.ranks < 1)
    return error(SGLCOLL_ERR_ARG, "{} ranks cannot be placed: at least 1 is needed", request.ranks);
  SGL_TRY(check_level(node, "--map-by", map_level(request.map_by)));
  SGL_TRY(check_level(node, "--bind-to", bind_level(request.bind_to)));
  const size_t cores = node.at(Level::core).size(), pus = node.pus.size();
  const auto ranks = static_cast<size_t>(request.ranks);
  if (request.bind_to == BindTo::core && ranks > cores)
    return error(SGLCOLL_ERR_ARG,
                 "--bind-to core: {} ranks need a core each, but only {} may be used; use {} "
                 "ranks or fewer, or {}--bind-to none",
                 ranks, cores, cores, ranks <= pus ? "--bind-to pu or " : "");
  if (request.bind_to == BindTo::pu && ranks > pus)
    return error(
        SGLCOLL_ERR_ARG,
        "--bind-to pu: {} ranks need a PU (hardware thread) each, but only {} may be used; "
        "use {} ranks or fewer, or --bind-to none",
        ranks, pus, pus);
  return {};
}

// The PUs of a domain in the order that ranks take them: the first PU of every core, then
// the second of every core ... so that cores are shared only when they must be.
std::vector<int> seats_of(const Node& node, const Domain& domain) {
  struct Seat {
    int thread, position;
  };
  std::vector<Seat> seats;
  for (const Domain& core : node.at(Level::core))
    for (int thread = 0; thread < core.pu_count; ++thread)
      if (domain.contains(core.first_pu + thread))
        seats.push_back({thread, core.first_pu + thread});
  std::ranges::stable_sort(seats, {}, &Seat::thread);
  std::vector<int> positions;
  positions.reserve(seats.size());
  for (const Seat& seat : seats) positions.push_back(seat.position);
  return positions;
}

// Cores of a domain, or its PUs: what one rank can have for itself there.
size_t own_seats(const Node& node, std::span<const int> seats, BindTo bind_to) {
  if (bind_to == BindTo::pu) return seats.size();
  std::vector<int> cores;
  for (int seat : seats) cores.push_back(node.pus[seat].domain[static_cast<size_t>(Level::core)]);
  std::ranges::sort(cores);
  return static_cast<size_t>(std::unique(cores.begin(), cores.end()) - cores.begin());
}

// Positions of the ranks: domains in turn, in each the next seat. A domain whose own seats
// are taken is passed over until that is so everywhere; then a next round begins, on the
// cores' other PUs as far as there are any.
std::vector<int> map_ranks(const Node& node, const PlacementRequest& request) {
  struct Table {
    std::vector<int> seats;
    size_t own, quota = 0, taken = 0;
  };
  std::vector<Table> tables;
  for (const Domain& domain : node.at(map_level(request.map_by))) {
    std::vector<int> seats = seats_of(node, domain);
    const size_t own = own_seats(node, seats, request.bind_to);
    tables.push_back({std::move(seats), own});
  }
  size_t open_seats = 0;
  std::vector<int> positions;
  for (size_t turn = 0; positions.size() < static_cast<size_t>(request.ranks); ++turn) {
    if (open_seats == 0)
      for (Table& table : tables) table.quota += table.own, open_seats += table.own;
    Table& table = tables[turn % tables.size()];
    if (table.taken == table.quota) continue;
    positions.push_back(table.seats[table.taken++ % table.seats.size()]);
    --open_seats;
  }
  return positions;
}

std::vector<int> pus_of_domain_around(const Node& node, int position, Level level) {
  const int index = node.pus[position].domain[static_cast<size_t>(level)];
  const Domain own = {.first_pu = position, .pu_count = 1};
  const Domain& domain = index < 0 ? own : node.at(level)[index];
  std::vector<int> pus;
  pus.reserve(static_cast<size_t>(domain.pu_count));
  for (int i = 0; i < domain.pu_count; ++i) pus.push_back(node.pus[domain.first_pu + i].os_index);
  std::ranges::sort(pus);
  return pus;
}

}  // namespace

Result<MapBy> parse_map_by(std::string_view word) {
  Result<int> index = parse_word("--map-by", kMapWords, word);
  if (!index.ok()) return std::move(index.status());
  return static_cast<MapBy>(index.value());
}

Result<BindTo> parse_bind_to(std::string_view word) {
  Result<int> index = parse_word("--bind-to", kBindWords, word);
  if (!index.ok()) return std::move(index.status());
  return static_cast<BindTo>(index.value());
}

const char* map_by_name(MapBy map_by) {
  return kMapWords[static_cast<size_t>(map_by)];
}
const char* bind_to_name(BindTo bind_to) {
  return kBindWords[static_cast<size_t>(bind_to)];
}

Result<std::vector<RankPlacement>> place_ranks(const Node& node, const PlacementRequest& request) {
  SGL_TRY(check_request(node, request));
  std::vector<RankPlacement> placements;
  for (int position : map_ranks(node, request)) {
    RankPlacement placement;
    placement.home_pu = node.pus[position].os_index;
    if (request.bind_to != BindTo::none)
      placement.bind_set = pus_of_domain_around(node, position, bind_level(request.bind_to));
    placements.push_back(std::move(placement));
  }
  return placements;
}

std::string format_pu_set(std::span<const int> os_indexes) {
  if (os_indexes.empty()) return "any";
  std::string text;
  for (size_t begin = 0, end = 0; begin < os_indexes.size(); begin = end) {
    while (++end < os_indexes.size() && os_indexes[end] == os_indexes[end - 1] + 1) {
    }
    if (!text.empty()) text += ',';
    text += fmt::format("{}", os_indexes[begin]);
    if (end - begin > 1) text += fmt::format("-{}", os_indexes[end - 1]);
  }
  return text;
}

}  // namespace sgl
