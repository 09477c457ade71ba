#include "comm/rank_card.hpp"

#include "base/log.hpp"
#include "base/processors.hpp"
#include "base/settings.hpp"
#include "topology/order.hpp"
#include "topology/placement.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

namespace sgl {
namespace {

// With one or two ranks no order differs from another.
constexpr int kFewestRanks = 3;
constexpr const char* kRanksPerNode = "SGLCOLL_RANKS_PER_NODE";

// The processors of this thread, none when they are all that there are.
std::vector<int> bound_processors() {
  std::vector<int> processors = allowed_processors();
  if (std::ssize(processors) >= sysconf(_SC_NPROCESSORS_ONLN)) processors.clear();
  return processors;
}

std::string first_device_wanted() {
  const std::string names = setting_text("SGLCOLL_DEVICE");
  return names.substr(0, names.find(','));
}

Result<RankPath> path_on_named_machine(const std::string& machine, int local_rank,
                                       int local_ranks) {
  Result<Node> node = load_node(machine);
  if (!node.ok()) return std::move(node.status());
  Result<MapBy> map_by = parse_map_by(setting_text("SGLCOLL_MAP_BY"));
  if (!map_by.ok()) return std::move(map_by.status());
  Result<std::vector<RankPlacement>> placed =
      place_ranks(node.value(), {local_ranks, map_by.value(), BindTo::none});
  if (!placed.ok()) return std::move(placed.status());
  return rank_path(node.value(), placed.value()[static_cast<size_t>(local_rank)].home_pu, 0,
                   first_device_wanted());
}

Result<RankPath> path_of_this_rank(const Boot& boot, std::span<const int> node_ranks) {
  const auto own = std::ranges::find(node_ranks, boot.rank());
  const int local_rank = static_cast<int>(own - node_ranks.begin());
  if (const int64_t per_node = setting_integer(kRanksPerNode); per_node < 0)
    return error(SGLCOLL_ERR_ARG, "{}={} is not valid: it takes 0 or more", kRanksPerNode,
                 per_node);
  if (const std::string machine = setting_text("SGLCOLL_TOPOLOGY"); !machine.empty())
    return path_on_named_machine(machine, local_rank, static_cast<int>(node_ranks.size()));
  const std::vector<int> processors = bound_processors();
  if (processors.empty()) return RankPath{};
  Result<Node> node = discover_node(Scope::machine);
  if (!node.ok()) {
    log(LogLevel::info, "the machine is not known: {}", node.status().text());
    return RankPath{};
  }
  return rank_path(node.value(), representative_pu(node.value(), processors), 0,
                   first_device_wanted());
}

std::vector<RankPath> paths_of_few(size_t size, bool on_one_node) {
  std::vector<RankPath> paths(size);
  if (!on_one_node)
    for (size_t rank = 0; rank < size; ++rank) paths[rank].node = static_cast<int32_t>(rank);
  return paths;
}

}  // namespace

ProcessorSet own_processors() {
  const std::vector<int> bound = bound_processors();
  if (bound.empty()) return {0, static_cast<int32_t>(sysconf(_SC_NPROCESSORS_ONLN))};
  return {bound.front(), static_cast<int32_t>(bound.size())};
}

bool have_processor_each(std::span<const ProcessorSet> ranks) {
  return std::ranges::all_of(
      ranks, [&](const ProcessorSet& set) { return std::ranges::count(ranks, set) <= set.count; });
}

Result<std::vector<RankPath>> exchange_rank_paths(Boot& boot, std::span<const int> node_ranks) {
  const auto size = static_cast<size_t>(boot.size());
  if (boot.size() < kFewestRanks) return paths_of_few(size, node_ranks.size() == size);
  Result<RankPath> path = path_of_this_rank(boot, node_ranks);
  // All ranks take part in the exchange, also one that fails afterwards.
  RankPath mine = path.ok() ? path.value() : RankPath{};
  const int64_t assumed_per_node = setting_integer(kRanksPerNode);
  mine.node = assumed_per_node > 0 ? static_cast<int32_t>(boot.rank() / assumed_per_node)
                                   : *std::ranges::min_element(node_ranks);
  std::vector<std::byte> all;
  SGL_TRY(boot.allgather(std::as_bytes(std::span(&mine, 1)), &all));
  if (!path.ok()) return std::move(path.status());
  std::vector<RankPath> paths(size);
  std::memcpy(paths.data(), all.data(), size * sizeof(RankPath));
  return paths;
}

}  // namespace sgl
