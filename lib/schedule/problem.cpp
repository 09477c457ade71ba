#include "schedule/problem.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sgl {

const char* collective_name(Collective collective) {
  static constexpr const char* kNames[kCollectiveCount] = {
      "allgather",      "allgatherv", "reduce_scatter_block",
      "reduce_scatter", "allreduce",  "reduce",
      "bcast",          "gather",     "gatherv",
      "scatter",        "scatterv",   "alltoall",
      "alltoallv",      "alltoallw",  "barrier",
  };
  return kNames[static_cast<int>(collective)];
}

bool is_alltoall(Collective collective) {
  return collective == Collective::alltoall || collective == Collective::alltoallv ||
         collective == Collective::alltoallw;
}

bool is_rooted(Collective collective) {
  switch (collective) {
    case Collective::bcast:
    case Collective::reduce:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
      return true;
    default:
      return false;
  }
}

bool counts_are_private(Collective collective) {
  switch (collective) {
    case Collective::gatherv:
    case Collective::scatterv:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return true;
    default:
      return false;
  }
}

std::optional<Collective> find_collective(std::string_view name) {
  for (int i = 0; i < kCollectiveCount; ++i)
    if (name == collective_name(static_cast<Collective>(i))) return static_cast<Collective>(i);
  return std::nullopt;
}

std::string collective_names() {
  std::string names;
  for (int i = 0; i < kCollectiveCount; ++i) {
    if (i > 0) names += ", ";
    names += collective_name(static_cast<Collective>(i));
  }
  return names;
}

Blocks Blocks::uniform(int count, int64_t bytes) {
  Blocks blocks;
  blocks.count_ = count;
  blocks.bytes_ = bytes;
  return blocks;
}

Blocks Blocks::per_rank(std::vector<int64_t> bytes) {
  Blocks blocks;
  blocks.count_ = static_cast<int>(bytes.size());
  auto starts = std::make_shared<std::vector<int64_t>>(bytes.size() + 1);
  for (size_t i = 0; i < bytes.size(); ++i) {
    (*starts)[i + 1] = (*starts)[i] + bytes[i];
    blocks.bytes_ = std::max(blocks.bytes_, bytes[i]);
  }
  blocks.starts_ = std::move(starts);
  return blocks;
}

int Blocks::at(int64_t position) const {
  if (!starts_) return static_cast<int>(position / bytes_);
  const auto after = std::upper_bound(starts_->begin(), starts_->end(), position);
  return static_cast<int>(after - starts_->begin()) - 1;
}

int64_t Blocks::largest() const {
  return bytes_;
}

Buffer Problem::input_buffer() const {
  switch (collective) {
    case Collective::bcast:
      return kRecv;
    case Collective::reduce:
    case Collective::gather:
    case Collective::gatherv:
      return in_place && rank == root ? kRecv : kSend;
    case Collective::scatter:
    case Collective::scatterv:
      return kSend;
    default:
      return in_place ? kRecv : kSend;
  }
}

std::shared_ptr<const RankNodes> group_by_node(std::span<const int> node_of_rank,
                                               std::span<const int> device_steps) {
  auto nodes = std::make_shared<RankNodes>();
  std::unordered_map<int, int> number_of;
  for (size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const auto next = static_cast<int>(nodes->members.size());
    const auto [found, is_new] = number_of.try_emplace(node_of_rank[rank], next);
    const int node = found->second;
    if (is_new) nodes->members.emplace_back();
    if (!is_new && nodes->node_of.back() != node) nodes->consecutive = false;
    nodes->members[static_cast<size_t>(node)].push_back(static_cast<int>(rank));
    nodes->node_of.push_back(node);
  }
  auto steps = [&](int rank) {
    return device_steps.empty() ? 0 : device_steps[static_cast<size_t>(rank)];
  };
  for (const std::vector<int>& members : nodes->members)
    nodes->leaders.push_back(*std::ranges::min_element(members, {}, steps));
  const size_t count = nodes->members.size();
  return count > 1 && count < node_of_rank.size() ? nodes : nullptr;
}

}  // namespace sgl
