// Copies and sums of runs, as a careful hand would write them for this processor.
#pragma once

#include "floor/runs.hpp"

#include <cstddef>

namespace perf {

// loops: memcpy a run, loops with the block's size known to the compiler for short ones.
// ahead: those with the lines to come asked for. lines: several blocks of a line at once by
// masks. streaming: stores past the caches. string: rep movsb.
enum class Kind { loops, ahead, lines, streaming, string };

const char* name_of(Kind kind);
// Whether these runs can be copied, or summed, that way.
bool can_copy(Kind kind, const Runs& runs);
bool can_sum(Kind kind, const Runs& runs);

// A packed side holds nothing but the payload, and has kSlack bytes more at its end; the others
// have the layout's gaps, which are never written.
inline constexpr int64_t kSlack = 64;
void move(std::byte* to, const std::byte* from, const Runs& runs, Kind kind);
void pack(std::byte* to_packed, const std::byte* from, const Runs& runs, Kind kind);
void unpack(std::byte* to, const std::byte* from_packed, const Runs& runs, Kind kind);

// to = a + b of int32. `to` may be `a`.
void sum(std::byte* to, const std::byte* a, const std::byte* b, const Runs& runs, Kind kind);
void sum_packed(std::byte* to, const std::byte* a, const std::byte* b_packed, const Runs& runs,
                Kind kind);

}  // namespace perf
