// Races: steps of one rank that touch the same bytes without an order between them.
#pragma once

#include "base/status.hpp"
#include "schedule/verifier/program.hpp"

namespace sgl::verifier {

// For every rank. A send reads, and an operand's landing place is written, as long as
// its step runs. O(n^2 / 64 * deps + overlapping pairs) for the n steps of a rank.
Status check_races(const Program& program);

}  // namespace sgl::verifier
