// Lowering: by which path an edge's bytes move. Pure functions of both ends' layouts
// and the transport's limits, so that the executor and `explain` cannot differ.
#pragma once

#include "sgl/view.hpp"
#include "transport/transport.hpp"

#include <cstdint>

namespace sgl {

enum class Path : uint8_t {
  eager,       // inside the first message
  push,        // offered, then asked for as fragments
  map,         // the receiver reads the sender's memory by load instructions
  read_lists,  // the receiver reads, with lists on both sides
  read,        // the receiver reads ranges of the sender into its lists, a request for each
  write,       // the sender writes its list into one range of the receiver
};
inline constexpr int kPathCount = 6;
const char* path_name(Path path);

// Whether the payload travels inside the first message.
bool fits_in_message(const TransportLimits& limits, int64_t eager_bytes, int64_t payload_bytes);

// Whether bulk transfers pay for the layout's runs. mappable: the memory can be read by
// load instructions, for which no run is too short.
bool runs_are_long(const TransportLimits& limits, const Layout& layout, bool mappable);

// The receiver's choice for an offer whose layout it knows and whose memory it cannot map.
// `local` is where the bytes go, `remote` where they are; reachable: in bulk.
Path bulk_path(const TransportLimits& limits, const View& local, const View& remote,
               bool reachable);

// The shape of the batches of read_lists, read and write.
TransferShape shape_of(Path path);
// The rules that these batches are compiled by.
SglRules transfer_rules();

}  // namespace sgl
