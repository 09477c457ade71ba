// The measurements that make a NodeModel, as jobs of sglcoll-tune's own ranks.
#pragma once

#include "base/status.hpp"
#include "sgl/node_model.hpp"

#include <functional>
#include <string>

namespace sgl::tune {

struct RunOptions {
  bool quick = false;    // a third of the samples
  std::string launcher;  // sglrun
  std::string program;   // this one
  std::function<void(const std::string& text)> tell = [](const std::string&) {};
};

// Takes about 30 s, a third with `quick`, on an idle machine with two processors or more.
Result<NodeModel> measure_node(const RunOptions& options);

}  // namespace sgl::tune
