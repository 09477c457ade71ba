// Operands that come piece by piece, so that each one is reduced while it is in the cache and the
// next one is on the way: read into two places in turn, or written by the sender.
#include "executor/engine.hpp"
#include "executor/lowering.hpp"
#include "executor/operation.hpp"

#include <algorithm>

namespace sgl {
namespace {

// Those whose compiled batches are kept for the next run.
constexpr int64_t kMostKeptPieces = 16;

}  // namespace

int64_t Operation::element_bytes() const {
  return reduction_.basic ? basic_info(*reduction_.basic).size : 1;
}

int64_t Operation::piece_bytes() const {
  return kOperandPieceBytes / element_bytes() * element_bytes();
}

bool Operation::worth_streaming(const Edge& edge) const {
  return edge.operand >= 0 && !reduction_.user() &&
         comes_in_pieces(edge.slice, plan_->steps[edge.step].slice, piece_bytes());
}

void Operation::begin_pieces(int edge, EdgePhase phase, Path path) {
  EdgeState& state = edges_[edge];
  const int64_t pieces = (plan_->edges[edge].slice.length - 1) / piece_bytes() + 1;
  state.pieces.resize(static_cast<size_t>(std::min(pieces, kMostKeptPieces)));
  state.phase = phase;
  state.path = path;
  state.stream = {};
}

// What has not been posted of the next piece, which is `local` here.
Post Operation::post_piece(int edge, const View& local) {
  EdgeState& state = edges_[edge];
  Stream& stream = state.stream;
  CompiledTransfer& transfer =
      state.pieces[static_cast<size_t>(stream.posted) % state.pieces.size()];
  if (!stream.compiled) {
    const TransportLimits& limits = transport(edge).limits();
    transfer.begin(local, remote_view(edge).part(stream.posted * piece_bytes(), local.length),
                   shape_of(state.path), limits.sgl, transfer_rules(limits));
    stream.compiled = true;
  }
  const auto place = static_cast<int>(stream.posted % 2);
  while (state.has_next(transfer)) {
    ++stream.in_flight[place];  // before posting: it may be done at once
    const Post posted = post_next(edge, local, place);
    if (posted == Post::done) continue;
    --stream.in_flight[place];
    return posted;
  }
  stream.compiled = false;
  ++stream.posted;
  return Post::done;
}

// ---- Read by the receiver

void Operation::begin_stream(int edge, Path path) {
  begin_pieces(edge, EdgePhase::streaming, path);
  edges_[edge].holds_source = true;
  const Edge& planned = plan_->edges[edge];
  const bool in_result = planned.slice == plan_->steps[planned.step].slice;
  const int64_t used =
      in_result ? planned.slice.length : std::min(planned.slice.length, 2 * piece_bytes());
  transport(edge).will_use(view(planned.slice).part(0, used));
}

// Two places in turn, or where the result will be if the operand lands there.
View Operation::piece_place(int edge, int64_t piece, int64_t bytes) const {
  const Edge& planned = plan_->edges[edge];
  const bool in_result = planned.slice == plan_->steps[planned.step].slice;
  return view(planned.slice).part((in_result ? piece : piece % 2) * piece_bytes(), bytes);
}

// Pieces from the start of the operand on; those that have been reduced are among them.
int64_t Operation::landed_pieces(const Stream& stream, int64_t reduced) const {
  int64_t landed = reduced / piece_bytes();
  while (landed < stream.posted && stream.in_flight[landed % 2] == 0) ++landed;
  return landed;
}

// Reads as far ahead of the reduction as there are places. Ends when the step does.
bool Operation::stream(int edge) {
  const Edge& planned = plan_->edges[edge];
  const int64_t piece = piece_bytes();
  for (;;) {
    const int64_t number = edges_[edge].stream.posted;
    const int64_t from = number * piece;
    if (from >= std::min(planned.slice.length, reduced_[planned.step] + 2 * piece)) return false;
    const View place = piece_place(edge, number, std::min(piece, planned.slice.length - from));
    if (Post posted = post_piece(edge, place); posted != Post::done) return posted == Post::failed;
  }
}

// ---- Written by the sender

void Operation::begin_writing_pieces(int edge) {
  begin_pieces(edge, EdgePhase::writing_pieces, Path::write);
  transport(edge).will_use(view(plan_->edges[edge].slice));
}

// Two at a time; the receiver hears of each in turn. False: some are left.
bool Operation::write_pieces(int edge) {
  const View source = view(plan_->edges[edge].slice);
  Stream& stream = edges_[edge].stream;
  const int64_t piece = piece_bytes();
  for (;;) {
    while (stream.told < stream.posted && stream.in_flight[stream.told % 2] == 0) {
      if (send(edge, MessageKind::written, nullptr, 0) != Post::done) return false;
      ++stream.told;
    }
    if (stream.told * piece >= source.length) break;
    const int64_t from = stream.posted * piece;
    if (from >= source.length || stream.posted - stream.told == 2) return false;
    const View local = source.part(from, std::min(piece, source.length - from));
    if (Post posted = post_piece(edge, local); posted != Post::done) return posted == Post::failed;
  }
  engine_.counters().bytes_sent += static_cast<uint64_t>(source.length);
  complete_edge(edge);
  return true;
}

// The next piece is all there.
void Operation::take_piece(int edge) {
  ++edges_[edge].stream.told;
  try_reduce(plan_->edges[edge].step);
}

}  // namespace sgl
