// The rows of sglsim: a line each for a pipe, for people, for programs, and plots.
#pragma once

#include "base/status.hpp"
#include "simgrid/replay.hpp"

#include <string>
#include <vector>

namespace sgl::net {

struct Row {
  std::string platform;
  int nodes = 0, per_node = 0;
  std::string placement, collective, algorithm;
  int64_t bytes = 0;
  Outcome flat, shaped;  // flat: of no messages where the algorithm is of two levels
};

std::string row_text(const Row& row);  // one line
Row parse_row(const std::string& text);

std::string table_head();
std::string table_line(const Row& row);
Status write_json(const std::vector<Row>& rows, const std::string& file);
// For each platform, placement and size: time by ranks, flat and shaped, of each algorithm that
// the machine shapes.
Status write_plots(const std::vector<Row>& rows, const std::string& folder);

}  // namespace sgl::net
