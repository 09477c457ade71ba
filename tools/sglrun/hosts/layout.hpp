// Which host each rank goes to.
#pragma once

#include "base/status.hpp"
#include "sglrun/hosts/host_list.hpp"

#include <string>
#include <vector>

namespace sgl::run {

struct Layout {
  std::vector<std::string> hosts;  // those that have ranks
  std::vector<int> host_of_rank;   // index in hosts
};

enum class HostOrder {
  fill,   // a host's slots, then the next one's
  cycle,  // a rank a host in turn
};

// SGLCOLL_ERR_ARG when there are more ranks than slots, unless `oversubscribe` lets the
// hosts take further rounds of as many ranks as they have slots.
Result<Layout> lay_out(const HostList& hosts, int ranks, HostOrder order, bool oversubscribe);

}  // namespace sgl::run
