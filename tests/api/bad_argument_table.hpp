// The table of bad arguments: one row a function, argument and way to be wrong.
#pragma once

#include "api/world.hpp"

#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace sgl::test {

// Where results go that must not be written.
struct Outputs {
  sglcoll_comm comm;
  sglcoll_type type, types[4];
  sglcoll_op op;
  sglcoll_request request;
  void* memory;
  int number;
  int64_t bytes, more_bytes, integers[4];
  size_t needed;
  sglcoll_combiner combiner;
  sglcoll_counters counters;
  char text[8];
};

// What the rows take their arguments from: handles good and bad, all made before the
// first row, so that no dead handle's place is used again.
struct Site {
  int rank = 0, size = 0;
  sglcoll_comm world = nullptr, comm = nullptr;
  sglcoll_comm freed_comm = nullptr, finalized_comm = nullptr;
  sglcoll_type uncommitted = nullptr, freed_type = nullptr;
  sglcoll_type mixed = nullptr;   // an int and a double
  sglcoll_type far = nullptr;     // extent 2^60
  sglcoll_type past = nullptr;    // 4 elements end at 2^63 - 4
  sglcoll_type offset = nullptr;  // its first byte is not at its address
  sglcoll_op user_op = nullptr, freed_op = nullptr;
  sglcoll_request freed_request = nullptr, ended_request = nullptr;
  sglcoll_request nonblocking = nullptr;  // an ibarrier, not waited for
  sglcoll_request running = nullptr;      // persistent, cannot complete yet
  void* shared = nullptr;                 // from sglcoll_mem_alloc
  std::vector<int32_t> send, recv;
  std::vector<int64_t> counts, displacements;
  std::vector<sglcoll_type> types, bad_types;  // the latter for a row to fill
  Outputs outputs;
};

struct Row {
  std::string function, argument;
  std::string value;  // in the text of the failure, as the argument is
  sglcoll_status code;
  std::function<sglcoll_status(Site& site)> call;
};
using Table = std::vector<Row>;

void add_type_rows(Table* table);
void add_world_rows(Table* table);
void add_request_rows(Table* table);
void add_collective_rows(Table* table);

}  // namespace sgl::test
