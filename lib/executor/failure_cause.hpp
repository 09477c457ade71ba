// Why an operation, or with it a communicator, has failed: as it goes from rank to rank.
#pragma once

#include "base/status.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sgl {

// Why it failed first of all, and on which rank of the world: not what the rank that passes
// it on made of it, so that texts do not grow on their way.
struct FailureCause {
  int world_rank = 0;
  Status why;

  std::string text() const;
  FailureCause copy() const { return {world_rank, why.copy()}; }
};

// The payload of `abandon` and `broken`. Long texts are cut.
std::vector<std::byte> to_payload(const FailureCause& cause);
// `from` is taken for the rank where it began if the payload is too short to say it.
FailureCause cause_from_payload(std::span<const std::byte> payload, int from);

}  // namespace sgl
