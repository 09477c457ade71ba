// What a collective gives, gets and must move, in blocks of one layout.
#pragma once

#include <string>
#include <vector>

namespace perf {

// The collectives that can be measured.
const std::vector<std::string>& collective_names();

bool is_reduction(const std::string& collective);

// Blocks that a rank gives to and gets from a collective (bcast gives none: its data is in
// the receive buffer).
int blocks_sent(const std::string& collective, int rank, int size, int root);
int blocks_received(const std::string& collective, int rank, int size, int root);

// Algorithm bandwidth is this many blocks over the time, bus bandwidth that by the factor
// that a link must carry, both as nccl-tests define them.
double algorithm_blocks(const std::string& collective, int size);
double bus_factor(const std::string& collective, int size);

// The least that all ranks together must move, in copied blocks: each block that somebody
// needs is read once and each result written once; a copy is a read and a write.
double copied_blocks(const std::string& collective, int size);

}  // namespace perf
