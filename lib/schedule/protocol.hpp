// Protocols: how an edge (a send of one rank and the receive of its peer) becomes
// steps of a transport. Kept as data, so that the verifier interprets what the
// executor does.
//
// A protocol is two short sequences of micro-steps, one for each end. An end runs
// its sequence in order, from the start of its step; the step is done when the
// sequence is. Control messages (expose, grant, notify) are buffered and
// never block. Payload is not buffered.
#pragma once

#include "base/status.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace sgl {

enum class MicroStep : uint8_t {
  expose,            // sender: the source may be read from now on, and is described
  await_expose,      // receiver
  read,              // receiver reads the peer's source
  notify,            // the bytes have been moved
  await_notify,      // until then the bytes may be on the move
  grant,             // receiver: the landing place may be written from now on
  await_grant,       // sender
  write,             // sender writes the peer's landing place
  post_receive,      // receiver: the transport may put the next message here
  post_send,         // sender: the transport sends from the source
  await_completion,  // of what this end has posted
  push,              // sender: payload inside messages
  drain,             // receiver copies it out
};
inline constexpr int kMicroStepCount = 13;

enum class Shape : uint8_t {
  eager,         // payload at once, inside messages
  fragments,     // payload inside messages, once it has been asked for
  get,           // the receiver reads the source; a reduction may read it in place
  put,           // the sender writes the landing place
  send_receive,  // a posted send meets a posted receive
  signal,        // no payload: only orders
};
inline constexpr int kShapeCount = 6;
inline constexpr int kPayloadShapeCount = 5;  // all but signal, which comes last

struct Protocol {
  Shape shape;
  const char* name;
  std::span<const MicroStep> sender, receiver;
};

const Protocol& protocol_of(Shape shape);

const char* micro_step_name(MicroStep step);

// What the peer must have done before an end may pass a micro-step.
struct Wait {
  MicroStep partner;
  // The peer has passed `partner`, or else has only come to it (it waits there).
  bool passed;
};
std::optional<Wait> wait_of(MicroStep step, bool at_sender);

bool moves_payload(MicroStep step);

// Whether the sequences are safe by themselves, whatever the speed of the two ends:
// they end, the payload moves exactly once and not before the end whose memory the peer
// touches has allowed it, and each end's last micro-step comes after the move (so that
// "the step is done" means that its slice is its rank's again).
Status check_protocol(const Protocol& protocol);

}  // namespace sgl
