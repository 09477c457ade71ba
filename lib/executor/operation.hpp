// Operation: one collective of one rank, from its start to its completion.
//
// A state machine over a Plan: steps become ready as their dependencies end,
// their edges run the protocols of docs/protocols.md, and nothing in it blocks.
// An Operation can be run again and again (persistent requests, the plan cache's
// pool) without allocating.
#pragma once

#include "base/status.hpp"
#include "datatype/type.hpp"
#include "executor/failure_cause.hpp"
#include "executor/lowering.hpp"
#include "executor/operation_table.hpp"
#include "executor/plan.hpp"
#include "executor/wire.hpp"
#include "op/op.hpp"
#include "sgl/compiled_transfer.hpp"
#include "sgl/view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sgl {

class Engine;
struct Context;

// A buffer of the plan bound to memory: `layout` is of its whole payload. `blocks`, where
// they are given, are the layouts of its blocks one by one, so that what concerns one rank
// costs nothing that grows with the number of the others.
struct Binding {
  std::byte* base = nullptr;
  Layout layout;
  std::vector<Layout> blocks;
};

// How two elements are combined; what is unset is not needed (no reduction).
struct Reduction {
  OpKind kind = OpKind::user;
  std::optional<Basic> basic;              // predefined operations
  sglcoll_op_function function = nullptr;  // user operations
  void* context = nullptr;
  sglcoll_type type_handle = nullptr;
  int64_t element_bytes = 1;  // payload bytes of one element
  int64_t element_extent = 1;
  int64_t element_true_lb = 0;
  Layout element_layout;
  bool user() const { return function != nullptr; }
};

// Whether this thread is inside a user's reduction function.
bool in_user_function();

enum class EdgePhase : uint8_t {
  idle,              // the step has not started (a receiving edge may hold an early arrival)
  sending,           // send: eager payload or offer to be sent
  awaiting_answer,   // send: offered
  pushing,           // send: fragments going out
  writing,           // send: batches to the receiver's memory
  writing_pieces,    // send: the same piece by piece, each of which is told
  posting_sends,     // send: a batch for each grant
  notifying,         // send: `written` to be sent, after writes or stores
  awaiting_data,     // receive: nothing has come yet
  answering,         // receive: an answer to the offer is to be sent
  receiving,         // receive: fragments, or the peer's writes or stores, are coming
  reading,           // receive: batches from the sender's memory
  posting_receives,  // receive: receives are posted and granted, the peer sends into them
  streaming,         // receive, operand: pieces are read and reduced in turn
  landing,           // receive, operand: pieces are reduced as the peer has written them
  available,         // receive, operand: the bytes can be read in place (eager or mapped)
  releasing,         // receive: `fetched` to be sent
  done,
};

// An operand that is read or written piece by piece.
struct Stream {
  int64_t posted = 0;     // pieces of which all batches are posted
  int64_t told = 0;       // pieces that the receiver knows to be written
  bool compiled = false;  // the batches of the next one
  int in_flight[2] = {};  // batches of pieces in turn: over several rails they end in any order
};

// One edge's progress. Early arrivals are kept here until the step starts.
struct EdgeState {
  EdgePhase phase = EdgePhase::idle;
  MessageKind answer = MessageKind::fetched;  // what to send when answering
  bool has_offer = false;
  bool has_payload = false;  // early eager payload in `early`
  bool exposed = false;
  bool answer_ready = false;       // answering with lists: they are compiled
  bool holds_source = false;       // available: in the sender's memory, which waits for `fetched`
  bool consumed = false;           // the reduction has read it
  bool invited = false;            // send: the receiver has asked to store there
  bool declined = false;           // receive: the sender cannot reach the place it was to store to
  bool stored = false;             // receive: the sender has stored its part
  bool abandoned_by_peer = false;  // the peer waits to hear that nothing is on the way
  int in_flight = 0;               // posted batches
  int64_t moved = 0;               // payload bytes
  Path path = Path::read;          // by which the bytes move, from the phases of moving them on
  Offer offer{};
  RemoteMemory memory{};  // ours, exposed
  View in_place;          // available: where the operand's bytes are; of both: what to load
  Stream stream;
  Layout remote_layout;
  std::vector<std::byte> early;  // of an eager payload or of fragments that were not asked for
  CompiledTransfer transfer;
  std::vector<CompiledTransfer> pieces;
  const CompiledTransfer::Item* next = nullptr;  // a batch that waits for room

  // False: the transfer has no batch left.
  bool has_next(CompiledTransfer& of) { return next || (next = of.next()); }

  bool is_pushed() const { return has_offer && offer.layout == OfferedLayout::pushed; }
  // Both ends copy a part.
  bool is_shared() const { return path == Path::map_both || path == Path::lists_both; }
  // Before the step has started.
  bool has_all_fragments() const { return is_pushed() && std::ssize(early) == offer.length; }
  // Whether anything still has to come from the peer, or to reach it.
  bool needs_peer() const {
    const bool all_came = phase == EdgePhase::idle ? has_payload || has_all_fragments()
                                                   : phase == EdgePhase::available && !holds_source;
    return phase != EdgePhase::done && !all_came;
  }
};

class Operation {
 public:
  Operation(Engine& engine, std::shared_ptr<const Plan> plan, Context& context);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Sets the user's buffers; not while running.
  void bind(Binding send, Binding recv, const Reduction& reduction);
  // Other memory for the same layouts.
  void rebind(std::byte* send, std::byte* recv);
  std::byte* send_base() const { return bindings_[kSend].base; }
  std::byte* recv_base() const { return bindings_[kRecv].base; }
  const Reduction& reduction() const { return reduction_; }
  const Layout& send_layout() const { return bindings_[kSend].layout; }
  const Layout& recv_layout() const { return bindings_[kRecv].layout; }
  // Begins a run; messages carry `sequence`. The engine then drives it.
  void start(uint32_t sequence);
  // The same for a caller that waits for the end at once and is the only thread: short runs
  // are often over on return.
  void run(uint32_t sequence);

  // Until the run has ended and nothing of it touches the user's memory any more.
  bool running() const { return running_; }
  // Outcome of the last run.
  const Status& status() const { return status_; }
  const Plan& plan() const { return *plan_; }
  Context& context() const { return context_; }
  uint32_t sequence() const { return sequence_; }

  // Called by the engine.
  void deliver(int peer, const MessageHeader& header, std::span<const std::byte> payload);
  // place: as post_next() was given it.
  void on_complete(int edge, int place, Status status);
  // Posts the batch of `wrs` requests whose receives the peer has granted. Failed: it can
  // not be, and the operation has failed.
  Post post_granted(int world_rank, uint32_t tag, uint32_t wrs);
  // Goes on with edges that had no room; returns whether any moved.
  bool advance();
  // Ends the run with an error that began here. It goes on `running` while transfers are on
  // the way.
  void fail(Status why);
  // Ends the run if the peer still has a part in it. If others cannot go on without it, they
  // say so.
  void on_peer_failed(int world_rank, const Status& why);
  // The communicator has failed elsewhere, in whatever operation.
  void on_broken(const FailureCause& cause);
  void on_abandon(int world_rank, const MessageHeader& header, FailureCause cause);
  // The first step that is under way with the peer (any peer: -1), for messages.
  std::string describe_waiting(int peer) const;

  TableEntry table_entry;
  uint64_t memo_serial = 0;  // the call memo's

 private:
  // operation.cpp
  bool live() const { return running_ && status_.ok(); }
  void start_step(int step);
  void finish_step(int step);
  void run_ready();
  void finish();
  View view(const Slice& slice) const;
  View block_view(const Slice& slice) const;
  // Into memory that this operation does not read again.
  void copy_to(const View& to, const View& from);
  void unpack_to(const View& to, const std::byte* packed);
  std::byte* temp_memory(Buffer buffer);
  int world_peer(int edge) const;
  Transport& transport(int edge) const;
  MessageHeader header(int edge, MessageKind kind, int64_t bytes) const;
  Post send(int edge, MessageKind kind, const View* payload, int64_t bytes);
  Post send_struct(int edge, MessageKind kind, const void* data, int64_t bytes);
  // Now or later, but before what is sent to the peer in this way after it.
  void send_in_order(int edge, MessageKind kind, const void* data, int64_t bytes);
  // Goes on with an edge; polls it later when there is no room now.
  void drive(int edge);
  // True: this phase needs no more polling.
  bool advance_edge(int edge);
  void complete_edge(int edge);

  void reset(uint32_t sequence);
  void launch();

  // short_run.cpp
  bool short_runs_fit() const;
  size_t run_short();
  bool make_move(const ShortMove& move);
  bool await(int peer, Arrival* arrival);
  bool is_expected(int edge, const MessageHeader& came) const;
  void fold(const ShortMove& move, const Arrival& arrival);
  void go_on_after(size_t moves);

  // failure.cpp
  void fail_edge(int edge, Status why);
  FailureCause cause_here(const Status& why) const;
  void fail(Status why, FailureCause cause);
  void tell_abandon();
  bool needs(int rank) const;
  bool peer_may_write(const EdgeState& edge) const;
  void deliver_to_failed(int edge, MessageKind kind);
  void answer_abandon(int edge);
  void finish_failed();
  bool advance_failed();

  // send_edge.cpp
  void start_send(int edge);
  Post send_eager(int edge);
  bool send_first(int edge);
  bool mappable(int edge);
  bool push_unasked(int edge);
  Post send_offer(int edge);
  Status expose(int edge, const View& memory, bool write);
  // Names the layout in the offer, sending it first if need be; false: no room.
  bool describe_layout(int edge, const Layout& layout, Offer* offer);
  bool push(int edge);
  bool read_place(int edge, std::span<const std::byte> payload);
  void take_answer(int edge, MessageKind kind, std::span<const std::byte> payload);
  bool notify(int edge);

  // receive_edge.cpp
  void start_receive(int edge);
  void take_eager(int edge, std::span<const std::byte> payload);
  bool has_expected_length(int edge, int64_t bytes);
  void take_fragment(int edge, std::span<const std::byte> payload);
  void take_offer(int edge);
  void keep_fragment(int edge, std::span<const std::byte> payload);
  void take_kept_fragments(int edge);
  bool remote_layout_known(int edge);  // sets remote_layout
  View remote_view(int edge) const;
  bool try_map(int edge);
  void begin_read(int edge, Path path);
  // A part of the edge's bytes.
  void compile(int edge, Path path, int64_t from, int64_t bytes);
  Post post_next(int edge, const View& local, int place = 0);
  bool post_batches(int edge);
  void count_batch(int edge);
  void begin_ask(int edge, MessageKind kind);
  bool send_answer(int edge);
  bool answer_with_place(int edge);
  void take_written(int edge);
  bool release_source(int edge);
  void data_landed(int edge);

  // store_edge.cpp
  int64_t stored_bytes(int edge) const;
  bool can_ask_to_store(int edge);
  void invite(int edge);
  void ask_to_store(int edge, Path path, const View& own);
  bool answer_with_store(int edge);
  void take_declined(int edge);
  void take_otherwise(int edge);
  void take_place(int edge, std::span<const std::byte> payload);
  bool store(int edge);
  bool store_mapped(int edge);
  bool write_lists(int edge);

  // two_sided.cpp
  void compile_lists(int edge);
  bool answer_with_lists(int edge);
  bool push_instead(int edge);
  Result<Post> post_receive(int edge);
  void grant(int edge);
  bool post_receives(int edge);
  bool finish_sends(int edge);

  // reduce_step.cpp
  bool operands_ready(const PlanStep& step) const;
  bool streams(const PlanStep& step) const;
  void try_reduce(int step);
  int64_t readable_bytes(const PlanStep& step) const;
  View operand_part(const PlanOperand& operand, int64_t from, int64_t bytes) const;
  void reduce_part(const PlanStep& step, int64_t from, int64_t bytes);
  bool reduces_fragments(const Edge& edge) const;
  void reduce_fragment(int edge, std::span<const std::byte> payload);
  struct TypedScratch {
    Layout layout;
    std::unique_ptr<std::byte[]> memory;
    std::byte* base = nullptr;
  };
  TypedScratch typed_scratch(int64_t count) const;
  bool typed(const View& view) const;
  void reduce_by_user(const View& to, std::span<const View> sources);

  // pieces.cpp
  int64_t element_bytes() const;  // of a reduction, else 1
  int64_t piece_bytes() const;
  bool worth_streaming(const Edge& edge) const;
  void begin_pieces(int edge, EdgePhase phase, Path path);
  Post post_piece(int edge, const View& local);
  void begin_stream(int edge, Path path);
  View piece_place(int edge, int64_t piece, int64_t bytes) const;
  int64_t landed_pieces(const Stream& stream, int64_t reduced) const;
  bool stream(int edge);
  void begin_writing_pieces(int edge);
  bool write_pieces(int edge);
  void take_piece(int edge);

  Engine& engine_;
  std::shared_ptr<const Plan> plan_;
  Context& context_;
  Flow flow_;
  std::vector<Binding> bindings_;
  std::vector<std::unique_ptr<std::byte[]>> temps_;
  Reduction reduction_;
  uint32_t sequence_ = 0;
  bool running_ = false;
  bool is_short_ = false;  // short_run.cpp may run it
  bool streams_ = false;   // what it moves does not fit into the cache
  bool draining_ = false;  // inside run_ready
  int64_t failed_at_ns_ = 0;
  int steps_left_ = 0;
  std::vector<int> dependencies_;  // left, a step
  std::vector<int> edges_left_;    // not done, a step
  std::vector<int64_t> reduced_;   // bytes, a step
  std::vector<EdgeState> edges_;
  std::vector<Layout> packed_;  // contiguous layout of each receiving edge's bytes
  std::vector<int> ready_;      // first in, first out; next_ready_ is the first
  size_t next_ready_ = 0;
  std::vector<int> polled_;    // edges to go on with
  std::vector<View> sources_;  // scratch of reduce
  Status status_;
  FailureCause cause_;  // of status_
};

}  // namespace sgl
