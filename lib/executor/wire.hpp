// The executor's messages: their kinds and payloads. See docs/protocols.md.
#pragma once

#include "transport/transport.hpp"

#include <cstdint>

namespace sgl {

enum class MessageKind : uint16_t {
  eager,         // sender: the whole payload (none for a signal)
  offer,         // sender: Offer; the data waits to be fetched or asked for
  ask_push,      // receiver's answer: send it as fragments
  ask_write,     // receiver's answer: Offer of the place to write to
  ask_store,     // receiver, also before an offer: Offer of the place to store its last bytes to
  declined,      // sender: the place asked for cannot be mapped; what the offer says holds
  ask_send,      // receiver's answer: Offer of the lists that posted sends will meet
  grant,         // receiver: Grant; the receives of one more batch are posted
  fetched,       // receiver's answer: it has read the data, the source is free
  fragment,      // sender: the next bytes, in order
  written,       // sender: all writes, or those of one more piece, are done and visible
  layout,        // LayoutFragment and bytes of a serialised layout
  abandon,       // the operation has failed here: AbandonHead and the text why
  hold_eager,    // too much has come for operations that have not started: only offer
  resume_eager,  // that is over
  abandoned,     // answer: nothing of this edge is on the way from here any more
  broken,        // a communicator cannot be used any more: AbandonHead and the text why
};

// Whether it comes from an edge's receiving end; all but ask_store to a send that has begun.
constexpr bool is_answer(MessageKind kind) {
  return kind == MessageKind::ask_push || kind == MessageKind::ask_write ||
         kind == MessageKind::ask_store || kind == MessageKind::ask_send ||
         kind == MessageKind::fetched;
}

enum class OfferedLayout : uint32_t {
  contiguous,  // one run: layout_hash is the offset of its first byte from the base
  announced,   // layout_hash names a layout that was sent before
  opaque,      // not to be had: only pushing or sending in fragments works
  pushed,      // not asked for: the fragments follow at once, without an answer
};

struct Offer {
  RemoteMemory memory;
  int64_t payload_offset;  // of the slice in the layout's payload
  int64_t length;          // of the slice
  uint64_t layout_hash;
  OfferedLayout layout;
  // ask_send: the receiver's side of the lists may have packed SGEs; ask_write: it wants to hear
  // of each piece (kOperandPieceBytes) that has been written, in turn.
  uint32_t flag;
};

struct Grant {
  uint32_t wrs;  // requests of the batch
};

// Why an operation failed first of all: not what the rank that passes it on made of it.
struct AbandonHead {
  int32_t code;
  int32_t world_rank;  // where it failed
  uint32_t text_bytes;
};
inline constexpr size_t kMaxAbandonText = 400;  // longer ones are cut

struct LayoutFragment {
  uint64_t hash;
  uint32_t total_bytes;
  uint32_t offset;
};

}  // namespace sgl
