// Lowering: by which path an edge's bytes move. Pure functions of both ends' layouts
// and the transport's limits, so that the executor and `explain` cannot differ.
#pragma once

#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"
#include "sgl/view.hpp"
#include "transport/transport.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sgl {

enum class Path : uint8_t {
  eager,       // inside the first message
  push,        // offered, then asked for as fragments
  map,         // the receiver reads the sender's memory by load instructions
  map_both,    // and the sender stores a part into the receiver's
  store,       // the sender stores all of it into the receiver's memory
  lists_both,  // the receiver reads a part and the sender writes the rest, with lists on both sides
  read_lists,  // the receiver reads, with lists on both sides
  read,        // the receiver reads one range of the sender into its list
  write,       // the sender writes its list into one range of the receiver
  write_lists,  // the sender writes, with lists on both sides
  send,         // the sender's list goes into a list that the receiver has posted
};
inline constexpr int kPathCount = 11;
const char* path_name(Path path);

// Whether the payload is sent before the peer has asked for it, in one message or several.
bool goes_at_once(const TransportLimits& limits, std::optional<int64_t> eager_bytes,
                  int64_t payload_bytes);
// Whether it travels inside the first message.
bool fits_in_message(const TransportLimits& limits, std::optional<int64_t> eager_bytes,
                     int64_t payload_bytes);

// Whether bulk transfers pay for the layout's runs. mappable: the memory can be read by
// load instructions, for which no run is too short.
bool runs_are_long(const TransportLimits& limits, const Layout& layout, bool mappable);

// What the two ends of a transfer have to do besides it.
enum class Flow : uint8_t {
  exchange,       // as much in the other direction
  apart,          // other bytes, to other peers or to the sender itself
  from_root,      // nothing
  to_root,        // the root copies its own block, the others have nothing to do
  operand,        // the bytes are combined with the receiver's own, from where they arrive
  many_operands,  // the same with those of several peers at a time
};
Flow flow_of(const Problem& problem, std::string_view algorithm);

// The receiver's choice for an offer whose layout it knows and whose memory it cannot map.
// `local` is where the bytes go, `remote` where they are; reachable: in bulk.
Path bulk_path(const TransportLimits& limits, Flow flow, const View& local, const View& remote,
               bool reachable);

// How many bytes at the end of a transfer the receiver has its sender store or write into its
// memory, so that two processors copy: all of a gather, a part of a bcast.
int64_t bytes_to_store(const TransportLimits& limits, Flow flow, int ranks, int64_t bytes);

// Whether an end would have the sender write them where the receiver's memory is private: one asks
// for it whose own layout is fit for that, and a sender declines whose own is not.
bool fit_to_write(const TransportLimits& limits, Flow flow, const Layout& layout, int64_t bytes);

// Whether a receiver that cannot map `source` would answer its offer by asking for messages, as
// far as the sender knows: if the layouts are alike.
bool would_ask_push(const TransportLimits& limits, Flow flow, const View& source);

// Whether the receiver needs to know the layout of the memory that a sender offers.
bool worth_describing(const TransportLimits& limits, const Layout& layout, bool mappable);
// Path::send: which end's side may have packed SGEs. At the receiver, `local` as above.
bool receiver_packs(const TransportLimits& limits, const View& local);

// Operands of reductions that are read or written come in pieces of this size, less what is no
// whole element: a few fit the second-level cache.
inline constexpr int64_t kOperandPieceBytes = 256 << 10;
// Whether one that lands in a place of its own, or where the result will be, is worth them.
bool comes_in_pieces(const Slice& operand, const Slice& result, int64_t piece_bytes);

// The shape of the batches of read_lists, read, write and send.
TransferShape shape_of(Path path);
// The rules that these batches are compiled by.
SglRules transfer_rules(const TransportLimits& limits);

}  // namespace sgl
