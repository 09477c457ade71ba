#include "collectives/select/table.hpp"

namespace sgl {
namespace {

std::string_view on_node_choice(const Problem&) {
  return "direct";
}

std::string_view network_choice(const Problem& problem) {
  switch (problem.collective) {
    case Collective::barrier:
      return "dissemination";
    case Collective::allgather:
    case Collective::allgatherv:
      return "ring";
    default:
      return "direct";
  }
}

}  // namespace

std::string_view table_choice(const Problem& problem, bool on_node) {
  return on_node ? on_node_choice(problem) : network_choice(problem);
}

}  // namespace sgl
