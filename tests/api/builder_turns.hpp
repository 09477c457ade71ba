// Builders in groups that one world can run, for tests in which making worlds takes the time.
#pragma once

#include "collectives/builder.hpp"

#include <map>
#include <string>
#include <vector>

namespace sgl::test {

using BuilderTurn = std::vector<const Builder*>;

// The n-th wanted builder of every collective, for n = 0, 1, ...
template <class Wanted>
std::vector<BuilderTurn> builders_by_turn(Wanted wanted) {
  std::vector<BuilderTurn> turns;
  std::map<Collective, size_t> seen;
  for (const Builder& builder : all_builders()) {
    if (!wanted(builder)) continue;
    const size_t turn = seen[builder.collective]++;
    if (turn == turns.size()) turns.emplace_back();
    turns[turn].push_back(&builder);
  }
  return turns;
}

// What SGLCOLL_ALGORITHM forces them all by.
inline std::string forcing(const BuilderTurn& turn) {
  std::string text;
  for (const Builder* builder : turn)
    text += std::string(text.empty() ? "" : ",") + collective_name(builder->collective) + "=" +
            builder->name;
  return text;
}

}  // namespace sgl::test
