// Problem: everything that decides the logical schedule of a collective.
//
// Only what MPI makes equal on all ranks (besides the rank itself) is in here,
// so that all ranks choose the same algorithm and the same chunks.
#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sgl {

enum class Collective : uint8_t {
  allgather,
  allgatherv,
  reduce_scatter_block,
  reduce_scatter,
  allreduce,
  reduce,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  alltoall,
  alltoallv,
  alltoallw,
  barrier,
};
inline constexpr int kCollectiveCount = 15;
const char* collective_name(Collective collective);
bool is_alltoall(Collective collective);  // with its v and w forms
bool is_rooted(Collective collective);
// A rank knows its own counts only, so no other rank's schedule can be made here: the root of
// a gatherv or scatterv knows all blocks, each rank of an alltoallv or alltoallw its own.
bool counts_are_private(Collective collective);
std::optional<Collective> find_collective(std::string_view name);
std::string collective_names();  // "allgather, allgatherv, ..."

// Payload bytes of each rank's block and where it starts in the space of all
// blocks (rank order, without gaps). Uniform blocks need no memory.
class Blocks {
 public:
  Blocks() = default;
  static Blocks uniform(int count, int64_t bytes);
  static Blocks per_rank(std::vector<int64_t> bytes);

  int count() const { return count_; }
  bool is_uniform() const { return starts_ == nullptr; }
  int64_t bytes(int block) const {
    return starts_ ? (*starts_)[block + 1] - (*starts_)[block] : bytes_;
  }
  int64_t start(int block) const { return starts_ ? (*starts_)[block] : bytes_ * block; }
  int64_t total() const { return start(count_); }
  // The block that this byte of all blocks, of which there are some, is in. O(log count).
  int at(int64_t position) const;
  int64_t largest() const;

 private:
  int count_ = 0;
  int64_t bytes_ = 0;
  std::shared_ptr<const std::vector<int64_t>> starts_;  // count + 1
};

// Buffers by collective (payload spaces; P = size, B = blocks):
//   allgather(v)       kSend: own block (absent when in_place), kRecv: all blocks; in_place: own
//                      block already at its start in kRecv
//   reduce_scatter*    kSend: all blocks, kRecv: own block; in_place: kRecv holds all blocks, the
//                      result goes to its first bytes(rank) bytes, the rest may be overwritten
//   allreduce          kSend, kRecv: total(); in_place: input in kRecv
//   reduce             as allreduce, kRecv at root only; in_place matters at root only
//   bcast              kRecv: total() on every rank (input at root)
//   gather(v)          kSend: own block, kRecv: all blocks at root; in_place at root: own block
//                      already there
//   scatter(v)         kSend: all blocks at root, kRecv: own block; in_place at root: own block
//                      stays where it is
//   alltoall(v, w)     kSend: a block for each rank, kRecv: a block of each rank; in_place: what
//                      goes to a rank is where what comes from it will be, both of equal size
//   barrier            none
// For alltoallv and alltoallw, blocks are those that come, send_blocks those that go; no rank
// knows those of other pairs. For allreduce, reduce and bcast, blocks is uniform(1, total).
struct RankTree;  // topology/tree.hpp

// How ranks stand around rings and in the numbering of trees.
struct RankOrder {
  std::vector<int> rank_at;   // place to rank
  std::vector<int> place_of;  // rank to place
};

// Which ranks share a node.
struct RankNodes {
  std::vector<int> node_of;               // by rank; nodes are numbered by their first ranks
  std::vector<std::vector<int>> members;  // of each node, in rank order
  std::vector<int> leaders;               // the rank that speaks for each node
  bool consecutive = true;                // the ranks of each node follow each other
};
// From any numbers that are equal on one node. A node's leader is the rank nearest to its device,
// of equal ones, or where nothing is said of the distances, the first. Null where there are not
// several nodes of which one has several ranks: then two levels are one. O(P).
std::shared_ptr<const RankNodes> group_by_node(std::span<const int> node_of_rank,
                                               std::span<const int> device_steps = {});

struct Problem {
  Collective collective = Collective::barrier;
  int rank = 0;
  int size = 1;
  int root = 0;
  Blocks blocks;
  Blocks send_blocks;  // of no ranks where they are the same as `blocks`
  int64_t grain = 1;   // bytes of one element of a reduction: slices are cut at multiples of it
  bool in_place = false;
  bool commutative = true;
  int64_t chunk_bytes = 128 << 10;  // of one pipelined piece (rounded to whole grains)

  // The machine's order and, for bcast and reduce, its tree from the root; null: by rank
  // numbers. The same on all ranks. Operations that do not commute keep rank order.
  std::shared_ptr<const RankOrder> order;
  std::shared_ptr<const RankTree> tree;
  std::shared_ptr<const RankNodes> nodes;  // null: as group_by_node() says

  int place_of(int of_rank) const {
    return order ? order->place_of[static_cast<size_t>(of_rank)] : of_rank;
  }
  int rank_at(int place) const {
    return order ? order->rank_at[static_cast<size_t>(place)] : place;
  }

  // What goes to each rank of an alltoall.
  const Blocks& outgoing() const { return send_blocks.count() > 0 ? send_blocks : blocks; }

  // The buffer that holds this rank's input, and where its own block starts there.
  Buffer input_buffer() const;
};

}  // namespace sgl
