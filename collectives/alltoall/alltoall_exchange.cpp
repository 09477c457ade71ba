#include "collectives/alltoall/alltoall_exchange.hpp"

#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/ring.hpp"
#include "collectives/patterns/slices.hpp"
#include "collectives/patterns/tournament.hpp"

#include <algorithm>
#include <limits>

namespace sgl {
namespace {

int most_outstanding(Pace pace) {
  switch (pace) {
    case Pace::one_by_one:
      return 1;
    case Pace::bounded:
      return kOutstandingExchanges;
    case Pace::all_at_once:
      break;
  }
  return std::numeric_limits<int>::max();
}

// Round r sends to the rank at distance r + 1 and takes from the one at distance -(r + 1), so
// that no rank is everybody's first target; one by one, a power of two of ranks meets in pairs.
void generate(const Problem& problem, Pace pace, Round& round) {
  constexpr int kSteps = 2;  // of an exchange
  const int rank = problem.rank, size = problem.size;
  const int r = static_cast<int>(round.number());
  const int outstanding = most_outstanding(pace);
  if (r + 1 < size) {
    const bool pairs = pace == Pace::one_by_one && is_power_of_two(size);
    const int to = pairs ? tournament_partner(rank, r, size) : shifted(rank, r + 1, size);
    const int from = pairs ? to : shifted(rank, -(r + 1), size);
    Deps earlier;
    for (int step = 0; step < kSteps; ++step)
      earlier.add_if(r >= outstanding, {r - outstanding, step});
    round.send(to, 0, one_block(kSend, problem.outgoing(), to), earlier);
    round.recv(from, 0, one_block(kRecv, problem.blocks, from), earlier);
  }
  if (r == 0)
    round.copy(one_block(kRecv, problem.blocks, rank), one_block(kSend, problem.outgoing(), rank));
}

// In place, what comes takes the place of what goes to the same rank. Of each pair one rank
// sends from the place and receives when that is done, the other one sets its bytes aside,
// piece by piece, so that it can receive at once. Every rank is the one to set aside for
// about half of its partners.
class InPlace {
 public:
  InPlace(Pace pace, const Problem& problem) : problem_(problem) {
    const int64_t largest = problem.blocks.largest();
    const bool cuts = problem.chunk_bytes < largest;
    // No block has a longer piece, though each is cut into a number of its own.
    const int64_t units = cuts ? (problem.chunk_bytes + kCopyUnitBytes - 1) / kCopyUnitBytes : 0;
    piece_bytes_ = cuts ? std::min(largest, std::max<int64_t>(units, 1) * kCopyUnitBytes) : largest;
    places_ = cuts ? 2 : 1;  // the next piece is put aside meanwhile
    const int64_t fit = kAsideBytes / std::max<int64_t>(places_ * piece_bytes_, 1);
    outstanding_ = static_cast<int>(std::clamp<int64_t>(
        std::min<int64_t>(fit, most_outstanding(pace)), 1, std::max(rounds(), 1)));
  }

  int rounds() const { return tournament_rounds(problem_.size); }
  std::vector<int64_t> temp_bytes() const { return {outstanding_ * places_ * piece_bytes_}; }

  void generate(Round& round) const {
    const int r = static_cast<int>(round.number());
    const int partner = partner_in(r);
    const Pieces pieces = pieces_of(partner);
    const Deps earlier = end_of(r - outstanding_);
    if (partner == problem_.rank) {
      round.copy({kFirstTemp, 0, 0}, {kFirstTemp, 0, 0}, earlier);  // keeps the order
      return;
    }
    for (int64_t piece = 0; piece < pieces.count(); ++piece)
      sets_aside(partner) ? set_aside(r, partner, pieces, piece, earlier, round)
                          : send_first(r, partner, pieces, piece, earlier, round);
  }

 private:
  static constexpr int kAsideSteps = 3, kFirstSteps = 2;  // of a piece

  int partner_in(int r) const { return tournament_partner(problem_.rank, r, problem_.size); }
  bool sets_aside(int partner) const {
    const long ahead = shifted(partner, -problem_.rank, problem_.size);
    return 2 * ahead == problem_.size ? problem_.rank < partner : 2 * ahead < problem_.size;
  }
  // Both ranks cut alike, as the block has the same size on both. One that is empty has a
  // piece of no bytes, whose steps hand the order on.
  Pieces pieces_of(int partner) const {
    return Pieces::of_size(problem_.blocks.bytes(partner), kCopyUnitBytes, problem_.chunk_bytes);
  }
  Slice place_of(int partner, const Pieces& pieces, int64_t piece) const {
    return {kRecv, problem_.blocks.start(partner) + pieces.start(piece), pieces.bytes(piece)};
  }
  Slice aside(int r, int64_t piece, int64_t bytes) const {
    const int64_t place = r % outstanding_ * places_ + piece % places_;
    return {kFirstTemp, place * piece_bytes_, bytes};
  }

  // After which nothing of the round is on the way.
  Deps end_of(int r) const {
    Deps steps;
    if (r < 0) return steps;
    const int partner = partner_in(r);
    if (partner == problem_.rank) {
      steps.add({r, 0});
      return steps;
    }
    const int count = static_cast<int>(pieces_of(partner).count());
    for (int piece = std::max(count - 2, 0); piece < count; ++piece) {
      const bool two_ends = sets_aside(partner);
      const int first = piece * (two_ends ? kAsideSteps : kFirstSteps);
      steps.add({r, first + 1});
      steps.add_if(two_ends, {r, first + 2});
    }
    return steps;
  }

  void set_aside(int r, int partner, const Pieces& pieces, int64_t piece, const Deps& earlier,
                 Round& round) const {
    const Slice place = place_of(partner, pieces, piece);
    const Slice copy = aside(r, piece, place.length);
    const uint32_t tag = static_cast<uint32_t>(piece);
    Deps before = piece < 2 ? earlier : Deps();
    before.add_if(piece >= 2, {r, static_cast<int>(piece - 2) * kAsideSteps + 1});
    before.add_if(piece >= 2, {r, static_cast<int>(piece - 2) * kAsideSteps + 2});
    const StepRef copied[] = {round.copy(copy, place, before)};
    round.recv(partner, tag, place, copied);
    round.send(partner, tag, copy, copied);
  }

  void send_first(int r, int partner, const Pieces& pieces, int64_t piece, const Deps& earlier,
                  Round& round) const {
    const Slice place = place_of(partner, pieces, piece);
    const uint32_t tag = static_cast<uint32_t>(piece);
    Deps before = piece < 2 ? earlier : Deps();
    before.add_if(piece >= 2, {r, static_cast<int>(piece - 2) * kFirstSteps + 1});
    const StepRef sent[] = {round.send(partner, tag, place, before)};
    round.recv(partner, tag, place, sent);
  }

  Problem problem_;
  int64_t piece_bytes_, places_;
  int outstanding_;
};

}  // namespace

Schedule build_exchange(const char* algorithm, Pace pace, const Problem& problem) {
  if (!problem.in_place)
    return {.algorithm = algorithm,
            .rounds = problem.size > 1 ? problem.size - 1 : 1,
            .temp_bytes = {},
            .generate = [problem, pace](Round& round) { generate(problem, pace, round); }};
  InPlace exchange(pace, problem);
  return {.algorithm = algorithm,
          .rounds = exchange.rounds(),
          .temp_bytes = exchange.temp_bytes(),
          .generate = [exchange](Round& round) { exchange.generate(round); }};
}

}  // namespace sgl
