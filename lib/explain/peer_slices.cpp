#include "explain/peer_slices.hpp"

#include "executor/lowering.hpp"

namespace sgl {
namespace {

constexpr int64_t kMostSteps = 1 << 20;  // of one search

}  // namespace

bool in_pieces(const PlanQuery& query, const Slice& operand, const Slice& result) {
  return !query.user_element && comes_in_pieces(operand, result, kOperandPieceBytes);
}

PeerSlices::Known& PeerSlices::schedule_of(int peer) {
  for (Known& known : known_)
    if (known.peer == peer) return known;
  Known& known = known_[next_++ % known_.size()];
  known.peer = peer;
  known.schedule = builder_.build(problem_of_peer(query_.problem, peer));
  known.generated = false;
  return known;
}

std::optional<PeerSlice> PeerSlices::look_in(Known& known, int64_t round, uint32_t tag,
                                             bool peer_sends) {
  if (round < 0 || round >= known.schedule.rounds) return std::nullopt;
  if (!known.generated || known.round.number() != round) {
    known.round.reset(round);
    known.schedule.generate(known.round);
    known.generated = true;
  }
  const int self = query_.problem.rank;
  for (const Step& step : known.round.steps()) {
    ++steps_;
    const bool sends = step.kind == StepKind::send;
    const bool exchanges = sends || step.kind == StepKind::recv;
    if (exchanges && sends == peer_sends && step.peer == self && step.tag == tag)
      return PeerSlice{step.slice};
    if (peer_sends) continue;
    for (const Operand& operand : known.round.operands(step)) {
      ++steps_;
      if (operand.incoming() && operand.peer == self && operand.tag == tag)
        return PeerSlice{operand.slice, in_pieces(query_, operand.slice, step.slice)};
    }
  }
  return std::nullopt;
}

std::optional<PeerSlice> PeerSlices::find(int peer, uint32_t tag, bool peer_sends, int64_t round) {
  Known& known = schedule_of(peer);
  last_ = &known;
  const int64_t limit = steps_ + kMostSteps;
  for (int64_t distance = 0; distance < known.schedule.rounds + round && steps_ < limit;
       ++distance) {
    std::optional<PeerSlice> found = look_in(known, round + distance, tag, peer_sends);
    if (!found && distance > 0) found = look_in(known, round - distance, tag, peer_sends);
    if (found) return found;
    if (round - distance < 0 && round + distance >= known.schedule.rounds) break;
  }
  return std::nullopt;
}

}  // namespace sgl
