// EdgeModel: what moving one slice between two ranks takes, by compiling it as the executor
// would.
#pragma once

#include "executor/lowering.hpp"
#include "explain/query.hpp"
#include "explain/traffic.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sgl {

// One end of an edge.
struct EdgeEnd {
  View view;
  bool shared = false;      // memory of sglcoll_mem_alloc
  int64_t piece_bytes = 0;  // of an operand that comes piece by piece; 0: whole
};

double mean_run_bytes(const View& view);

// How edges of one kind move. Traffic is this end's, the times are of both ends.
struct Transfer {
  bool sends = false;
  bool signal = false;
  Path path = Path::eager;
  bool is_unasked = false;    // pushed without an answer to the offer
  bool is_declined = false;   // the receiver has asked for another way before
  int64_t parts_written = 1;  // each is told, where the sender writes
  int64_t bytes = 0;
  Traffic traffic;
  int least_sges = 0, most_sges = 0;  // of the local lists of the work requests, if this end posts
  int64_t posted_sges = 0;            // of those lists, all of them
  std::vector<std::string> requests;  // the first work requests, a line each
  int half_trips = 0;                 // messages that follow each other until the bytes are there
  double descriptor_ns = 0;           // doorbells, completions, work requests, SGEs
  double wire_ns = 0;
  double packing_ns = 0;
  double registration_ns = 0;
  // Within a node, by NodeModel: as an end that waits for it sees it, what of that combining
  // operands takes, and what a transfer of no bytes would take.
  double node_ns = 0, node_combining_ns = 0, node_start_ns = 0;
};

// Equal edges are compiled once; a loop over a million of them costs a hash each.
class EdgeModel {
 public:
  EdgeModel(const PlanQuery& query, std::string_view algorithm)
      : query_(query), flow_(flow_of(query.problem, algorithm)) {}

  // An index into transfers(). `mine` and `theirs` are of equal length.
  int move(bool sends, const EdgeEnd& mine, const EdgeEnd& theirs);
  int signal(bool sends);
  const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  // Where in its layout a view starts, as far as the compiler's output depends on it.
  struct Phase {
    uint64_t layout;
    int64_t within, alignment;
    bool operator==(const Phase&) const = default;
  };
  struct Key {
    bool sends, my_memory_shared, their_memory_shared;
    Phase mine, theirs;
    int64_t bytes, piece_bytes;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  static Phase phase_of(const View& view);
  Transfer compile(bool sends, const EdgeEnd& mine, const EdgeEnd& theirs);
  Path choose_path(const EdgeEnd& source, const EdgeEnd& target);
  bool asks_to_write(const EdgeEnd& source, const EdgeEnd& target);
  bool goes_unasked(const EdgeEnd& source) const;
  bool can_announce(const Layout& layout);
  void count_messages(Transfer* transfer) const;
  void count_device_messages(int64_t sent, int64_t received, int64_t payload_bytes,
                             Transfer* transfer) const;
  void count_device(Transfer* transfer) const;
  void count_bytes(int64_t packed, bool packs_here, Transfer* transfer) const;
  int64_t own_bytes(const Transfer& transfer) const;
  // Gives the bytes that one of the ends packs.
  int64_t count_requests(const View& local, const View& remote, Transfer* transfer) const;
  int64_t count_pieces(const View& source, const EdgeEnd& target, Transfer* transfer) const;
  int64_t count_lists(const View& source, const View& target, Transfer* transfer) const;
  // turned_around: this end posts the lists of the compiler's remote side.
  int64_t count_batches(BatchCompiler& compiler, bool turned_around, Transfer* transfer) const;
  void count_registrations(const EdgeEnd& mine, Transfer* transfer) const;
  void predict(const EdgeEnd& source, const EdgeEnd& target, Transfer* transfer) const;
  void predict_on_node(const EdgeEnd& source, const EdgeEnd& target, bool operand,
                       Transfer* transfer) const;

  const PlanQuery& query_;
  Flow flow_;
  std::vector<Transfer> transfers_;
  std::unordered_map<Key, int, KeyHash> known_;
  std::unordered_map<uint64_t, bool> announceable_;  // by layout hash
  int signals_[2] = {-1, -1};
};

}  // namespace sgl
