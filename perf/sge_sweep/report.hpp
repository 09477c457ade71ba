// Results as JSON and back, as a text that says where which way wins, and as plots.
#pragma once

#include "perf/sge_sweep/storage.hpp"

#include <nlohmann/json.hpp>

namespace sge_sweep {

struct PiecesRow {  // 1 MB scattered in `pieces`
  uint32_t pieces;
  Row copied, listed;  // listed: WRs of up to 8 SGEs
};

struct Results {
  sgl::DeviceStamp device;
  std::string over;  // "loopback", or the host
  bool quick = false;
  std::vector<Row> rows;
  std::vector<PiecesRow> pieces;
  std::vector<StorageRow> storage;
  std::optional<sgl::CostModel> model;  // when what it needs was measured
};

nlohmann::json to_json(const Results& results);
Result<Results> from_json(const nlohmann::json& document);
std::string report(const Results& results);
// Writes data, a gnuplot script and, where gnuplot is, SVG files into an existing folder.
Status plot(const Results& results, const std::string& folder);

}  // namespace sge_sweep
