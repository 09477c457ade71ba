// The options of sglcoll-plan, and the query that they make.
#pragma once

#include "explain/query.hpp"

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace sgl::plan {

struct Options {
  std::string collective;
  int ranks = 0, rank = 0, root = 0;
  std::string algorithm;
  std::string layout = "contig", recv_layout;
  std::string bytes = "1M";
  std::string transport = "verbs";
  std::string memory = "private";
  bool no_cross_memory = false;
  int max_sge = 0, batch_wrs = 0;  // 0: the default
  std::string eager, chunk;
  std::string topology, map_by = "slot";
  int per_node = 0;  // 0: all on one
  bool in_place = false, not_commutative = false, reproducible = false;
  bool json = false, scale = false;
  int lines = 16;
};

void add_options(CLI::App* app, Options* options);

// SGLCOLL_ERR_ARG names the option, its value and what would be right.
Result<PlanQuery> make_query(const Options& options);

}  // namespace sgl::plan
