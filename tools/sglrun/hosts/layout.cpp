#include "sglrun/hosts/layout.hpp"

namespace sgl::run {

Result<Layout> lay_out(const HostList& hosts, int ranks, HostOrder order, bool oversubscribe) {
  int64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  if (ranks > slots && !oversubscribe) {
    std::string where = hosts.size() == 1 ? fmt::format("host {} has", hosts.front().name)
                                          : fmt::format("the {} hosts have", hosts.size());
    return error(SGLCOLL_ERR_ARG,
                 "-n {}: {} {} slots; raise the slots, lower -n, or give --oversubscribe", ranks,
                 where, slots);
  }
  std::vector<int> given(hosts.size()), host_of_rank;
  size_t host = 0;
  for (int64_t round = 1; static_cast<int>(host_of_rank.size()) < ranks;) {
    if (slots * round <= static_cast<int64_t>(host_of_rank.size())) {
      ++round;
      host = 0;
    }
    if (given[host] < hosts[host].slots * round) {
      ++given[host];
      host_of_rank.push_back(static_cast<int>(host));
      if (order == HostOrder::fill) continue;
    }
    host = (host + 1) % hosts.size();
  }
  // The hosts that have none are not asked for anything.
  Layout layout;
  std::vector<int> index(hosts.size(), -1);
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (given[i] == 0) continue;
    index[i] = static_cast<int>(layout.hosts.size());
    layout.hosts.push_back(hosts[i].name);
  }
  for (int each : host_of_rank) layout.host_of_rank.push_back(index[static_cast<size_t>(each)]);
  return layout;
}

}  // namespace sgl::run
