// NodeChoices: within one node, from where on, or up to where, one way pays more than another.
// The defaults were measured on one machine; sglcoll-tune measures this one.
#pragma once

#include <cstdint>

namespace sgl {

struct NodeChoices {
  static constexpr int64_t kNever = int64_t{1} << 62;

  int64_t eager_bytes = 32 << 10;     // up to here payloads are sent before they are asked for
  int64_t read_run_bytes = 16 << 10;  // runs worth reading, with a processor for each rank
  int64_t shared_read_run_bytes = 4 << 10;     // and for ranks that share processors
  int64_t read_bytes = 512 << 10;              // transfers worth reading, with a processor each
  int64_t read_apart_bytes = 128 << 10;        // the same of what goes to one rank only
  int64_t stream_bytes = 0;                    // results go past the cache; 0: its second level
  int64_t cooperative_bytes = 64 << 10;        // a broadcast or reduction is shared among all ranks
  int64_t shared_cooperative_bytes = 1 << 20;  // and where ranks share processors
  int64_t whole_bytes = 32 << 10;              // an allreduce is done in one step up to here
  int64_t whole_from_bytes = 2 << 20;          // and from here on between two ranks

  // For ranks that share processors, or have one each.
  NodeChoices among(bool processor_each) const {
    NodeChoices these = *this;
    if (!processor_each) {
      these.cooperative_bytes = shared_cooperative_bytes;
      these.whole_from_bytes = kNever;
    }
    return these;
  }
  bool operator==(const NodeChoices&) const = default;
};

}  // namespace sgl
