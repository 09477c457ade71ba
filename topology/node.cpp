#include "topology/node.hpp"

#include "topology/node_build.hpp"

#include <algorithm>
#include <cassert>

namespace sgl {
namespace {

constexpr const char* kLevelNames[kLevelCount] = {"machine", "package", "numa", "l3",
                                                  "l2",      "core",    "pu"};

// Tables by OS index stay small, whatever a forged model says.
constexpr int kLargestOsIndex = (1 << 20) - 1;

int largest_pu_count(std::span<const Domain> domains) {
  int largest = 0;
  for (const Domain& domain : domains) largest = std::max(largest, domain.pu_count);
  return largest;
}

bool is_range_of(const Domain& domain, int pus) {
  return domain.first_pu >= 0 && domain.pu_count >= 1 && domain.pu_count <= pus &&
         domain.first_pu <= pus - domain.pu_count;
}

Status check_os_indexes(const std::vector<Pu>& pus) {
  std::vector<int> indexes;
  indexes.reserve(pus.size());
  for (const Pu& pu : pus) indexes.push_back(pu.os_index);
  std::ranges::sort(indexes);
  if (indexes.empty()) return error(SGLCOLL_ERR_ARG, "the machine has no PU");
  for (int index : {indexes.front(), indexes.back()})
    if (index < 0 || index > kLargestOsIndex)
      return error(SGLCOLL_ERR_ARG, "a PU has the OS index {}, which is not in 0 to {}", index,
                   kLargestOsIndex);
  auto twice = std::ranges::adjacent_find(indexes);
  if (twice != indexes.end())
    return error(SGLCOLL_ERR_ARG, "two PUs have the same OS index {}", *twice);
  return {};
}

// Ranges of PUs, ascending and apart; at the ends of the tree exactly those there can be.
Status check_domains(const Node& node, Level level) {
  const int pus = static_cast<int>(node.pus.size());
  const auto domains = node.at(level);
  int end = 0;
  for (size_t i = 0; i < domains.size(); ++i) {
    const Domain& domain = domains[i];
    if (!is_range_of(domain, pus) || domain.first_pu < end)
      return error(SGLCOLL_ERR_ARG,
                   "{} {} has the PUs {} to {}, which are not in order within the {} PUs",
                   level_name(level), i, domain.first_pu,
                   int64_t{domain.first_pu} + domain.pu_count - 1, pus);
    end = domain.first_pu + domain.pu_count;
  }
  const size_t needed = level == Level::machine ? 1 : level == Level::pu ? node.pus.size() : 0;
  if (needed != 0 && (domains.size() != needed || end != pus || domains.front().first_pu != 0))
    return error(SGLCOLL_ERR_ARG, "level {} has {} domains that do not cover the {} PUs",
                 level_name(level), domains.size(), pus);
  return {};
}

void index_domains(Node* node) {
  for (Pu& pu : node->pus) pu.domain.fill(-1);
  for (int level = 0; level < kLevelCount; ++level) {
    const auto& domains = node->domains[level];
    for (size_t i = 0; i < domains.size(); ++i)
      for (int pu = 0; pu < domains[i].pu_count; ++pu)
        node->pus[domains[i].first_pu + pu].domain[level] = static_cast<int>(i);
  }
}

// Which of an L3 and a NUMA node holds the other differs by machine, so the order of the
// levels follows the sizes of their domains.
void order_levels(Node* node) {
  node->levels.clear();
  for (int level = 0; level < kLevelCount; ++level)
    if (!node->domains[level].empty()) node->levels.push_back(static_cast<Level>(level));
  std::ranges::stable_sort(node->levels.begin() + 1, node->levels.end() - 1, std::greater<>(),
                           [&](Level level) { return largest_pu_count(node->at(level)); });
}

// `domain` as a range of the PUs that are kept: kept_before[i] of the first i PUs are.
Domain restricted(const Domain& domain, const std::vector<int>& kept_before) {
  Domain rest = domain;
  rest.first_pu = kept_before[domain.first_pu];
  rest.pu_count = kept_before[domain.first_pu + domain.pu_count] - rest.first_pu;
  return rest;
}

}  // namespace

const char* level_name(Level level) {
  return kLevelNames[static_cast<size_t>(level)];
}

int Node::position_of(int os_index) const {
  auto found = std::ranges::find(pus, os_index, &Pu::os_index);
  return found == pus.end() ? -1 : static_cast<int>(found - pus.begin());
}

std::vector<int> Node::positions_by_os_index() const {
  std::vector<int> positions(std::ranges::max(pus, {}, &Pu::os_index).os_index + 1, -1);
  for (size_t i = 0; i < pus.size(); ++i) positions[pus[i].os_index] = static_cast<int>(i);
  return positions;
}

Level Node::shared_level(int a, int b) const {
  for (size_t i = levels.size(); i-- > 0;) {
    const auto level = static_cast<size_t>(levels[i]);
    if (pus[a].domain[level] >= 0 && pus[a].domain[level] == pus[b].domain[level]) return levels[i];
  }
  return Level::machine;
}

int Node::distance(int a, int b) const {
  const auto shared = std::ranges::find(levels, shared_level(a, b));
  return static_cast<int>(levels.end() - shared) - 1;
}

int Node::distance(int position, const NearDevice& device) const {
  return device.locality.contains(position) ? 0 : distance(position, device.locality.first_pu);
}

Status finish_node(Node* node) {
  SGL_TRY(check_os_indexes(node->pus));
  for (int level = 0; level < kLevelCount; ++level)
    SGL_TRY(check_domains(*node, static_cast<Level>(level)));
  for (const NearDevice& device : node->devices)
    if (!is_range_of(device.locality, static_cast<int>(node->pus.size())))
      return error(SGLCOLL_ERR_ARG, "device {} is near {} PUs from {} on, of {} PUs", device.name,
                   device.locality.pu_count, device.locality.first_pu, node->pus.size());
  index_domains(node);
  order_levels(node);
  return {};
}

Result<Node> restrict_node(const Node& node, std::span<const int> os_indexes) {
  const std::vector<int> positions = node.positions_by_os_index();
  std::vector<char> keep(node.pus.size(), 0);
  for (int os_index : os_indexes)
    if (os_index >= 0 && os_index < static_cast<int>(positions.size()) && positions[os_index] >= 0)
      keep[positions[os_index]] = 1;

  Node rest;
  rest.name = node.name;
  std::vector<int> kept_before(1, 0);
  for (size_t i = 0; i < node.pus.size(); ++i) {
    kept_before.push_back(kept_before.back() + keep[i]);
    if (keep[i]) rest.pus.push_back(node.pus[i]);
  }
  if (rest.pus.empty())
    return error(SGLCOLL_ERR_ARG, "none of the PUs {} is on the machine ({} PUs)",
                 fmt::join(os_indexes, ","), node.pus.size());
  for (int level = 0; level < kLevelCount; ++level)
    for (const Domain& domain : node.domains[level])
      if (Domain part = restricted(domain, kept_before); part.pu_count > 0)
        rest.domains[level].push_back(part);
  for (const NearDevice& device : node.devices) {
    Domain near = restricted(device.locality, kept_before);
    if (near.pu_count == 0) near = rest.at(Level::machine).front();
    rest.devices.push_back({device.name, near});
  }
  SGL_TRY(finish_node(&rest));
  return rest;
}

}  // namespace sgl
