// ControlChannel: messages to and from one peer over a QP of its own.
//
// Each side posts `slots` receives for messages, and kReservedSlots more for messages
// that only return credits. A sender spends a credit for each message; the receiver
// gives it back, once the message is used and its receive posted again, with its next
// message or, when half of all are owed, in a message of its own. Such a message carries
// at least half of the `slots` credits that exist, so no more than two of them can be on
// the way: the reserved receives always suffice, no message ever meets an empty receive
// queue, and returning credits needs no credit, so waiting for one ends.
#pragma once

#include "transport/rc/device.hpp"
#include "transport/transport.hpp"

#include <memory>
#include <vector>

namespace sgl {

inline constexpr int kReservedSlots = 2;

struct ControlSizes {
  int slots = 32;                   // messages on the way, each direction, at least 1
  int64_t message_bytes = 4 << 10;  // payload of one, at most 65,535
};

class ControlChannel {
 public:
  struct Message {
    MessageHeader header;
    std::span<const std::byte> payload;
    bool delivers;  // false: it only returned credits
  };

  // Creates the QP and posts its receives; the QP is to be connected by the caller.
  static Result<std::unique_ptr<ControlChannel>> open(Device& device, const ControlSizes& sizes);
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // Entries of the completion queue that the channel may fill.
  static int completions(const ControlSizes& sizes) { return 2 * (sizes.slots + kReservedSlots); }
  // Longest payload of a message that a device with this limit takes inside the request, or -1.
  static int64_t inline_payload_bytes(const DeviceLimits& limits);

  QpNumber qp() const { return qp_; }
  Result<Post> send(const MessageHeader& header, const View* payload);

  // For completions of the QP that succeeded. The message is valid until recycle().
  void sent(const DeviceCompletion& completion);
  Message received(const DeviceCompletion& completion);
  Status recycle(const DeviceCompletion& completion);
  // Returns credits if enough are owed. Call it often.
  Status return_credits();
  // Messages that did nothing else.
  uint64_t credits_sent() const { return credits_sent_; }
  uint64_t credits_received() const { return credits_received_; }

 private:
  struct WireHeader {
    MessageHeader header;
    uint32_t credits;
    uint32_t credits_only;
  };
  ControlChannel(Device& device, const ControlSizes& sizes);
  Status set_up();
  std::byte* slot(size_t index) { return memory_.get() + index * static_cast<size_t>(slot_bytes_); }
  Status post_slot(const MessageHeader& header, bool credits_only, const View* payload);
  Status post_receive(uint64_t index);

  Device& device_;
  ControlSizes sizes_;
  int64_t slot_bytes_;
  std::unique_ptr<std::byte[]> memory_;  // slots to receive into, then slots to send from
  MemoryKeys keys_{};
  QpNumber qp_ = 0;
  std::vector<uint64_t> free_slots_;  // to send from
  int credits_;                       // messages that the peer has room for
  int owed_ = 0;                      // credits to give back
  uint64_t credits_sent_ = 0, credits_received_ = 0;
};

}  // namespace sgl
