#include "sglrun/job/placement_report.hpp"

#include "topology/placement.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace sgl::run {

std::string report_places(const std::vector<RankPlace>& ranks, bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      list.push_back(
          {{"rank", rank}, {"host", ranks[rank].host}, {"processors", ranks[rank].processors}});
    return nlohmann::ordered_json{{"ranks", std::move(list)}}.dump(2) + "\n";
  }
  size_t width = 4;
  for (const RankPlace& rank : ranks) width = std::max(width, rank.host.size());
  std::string text = fmt::format("{:>6}  {:<{}}  processors\n", "rank", "host", width);
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    text += fmt::format("{:>6}  {:<{}}  {}\n", rank, ranks[rank].host, width,
                        format_pu_set(ranks[rank].processors));
  return text;
}

}  // namespace sgl::run
