// PeerSlices: where the other end of an edge lies, found in the peer's own schedule.
#pragma once

#include "explain/query.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace sgl {

// Whether an operand comes piece by piece, where it is read or written.
bool in_pieces(const PlanQuery& query, const Slice& operand, const Slice& result);

struct PeerSlice {
  Slice slice;
  bool in_pieces = false;  // an operand that comes piece by piece
};

class PeerSlices {
 public:
  PeerSlices(const PlanQuery& query, const Builder& builder) : query_(query), builder_(builder) {}

  // The slice of the step of `peer` that sends (or receives) message `tag` to (or from) this
  // rank; nothing when it is not within reach. Builders keep the two ends in equal or
  // neighbouring rounds, so the search starts at `round`. Costs the steps of the rounds that
  // it generates.
  std::optional<PeerSlice> find(int peer, uint32_t tag, bool peer_sends, int64_t round);
  // The bytes of each temporary of the peer that was found last.
  const std::vector<int64_t>& temp_bytes() const { return last_->schedule.temp_bytes; }
  int64_t steps_looked_at() const { return steps_; }

 private:
  struct Known {
    int peer = -1;
    Schedule schedule;
    Round round;
    bool generated = false;
  };
  Known& schedule_of(int peer);
  std::optional<PeerSlice> look_in(Known& known, int64_t round, uint32_t tag, bool peer_sends);

  const PlanQuery& query_;
  const Builder& builder_;
  std::array<Known, 4> known_;
  size_t next_ = 0;
  Known* last_ = known_.data();
  int64_t steps_ = 0;
};

}  // namespace sgl
