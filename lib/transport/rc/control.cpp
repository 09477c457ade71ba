#include "transport/rc/control.hpp"

#include "sgl/copy.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {

// Most messages are an answer or an offer.
constexpr int kInlineBytes = 128;

int64_t ControlChannel::inline_payload_bytes(const DeviceLimits& limits) {
  const int64_t bytes = std::min(kInlineBytes, limits.inline_bytes);
  return std::max<int64_t>(bytes - static_cast<int64_t>(sizeof(WireHeader)), -1);
}

ControlChannel::ControlChannel(Device& device, const ControlSizes& sizes)
    : device_(device),
      sizes_(sizes),
      slot_bytes_(slot_aligned(sizes.message_bytes + static_cast<int64_t>(sizeof(WireHeader)))),
      credits_(sizes.slots) {}

Result<std::unique_ptr<ControlChannel>> ControlChannel::open(Device& device,
                                                             const ControlSizes& sizes) {
  if (sizes.slots < 1 || sizes.message_bytes < 1 || sizes.message_bytes > UINT16_MAX)
    return error(
        SGLCOLL_ERR_ARG,
        "{} message slots (SGLCOLL_MESSAGE_SLOTS) of {} bytes: at least 1, of 1 to {} bytes",
        sizes.slots, sizes.message_bytes, UINT16_MAX);
  std::unique_ptr<ControlChannel> channel(new ControlChannel(device, sizes));
  SGL_TRY(channel->set_up());
  return channel;
}

Status ControlChannel::set_up() {
  const int slots = sizes_.slots + kReservedSlots;
  const int64_t bytes = int64_t{2} * slots * slot_bytes_;
  memory_.reset(new std::byte[static_cast<size_t>(bytes)]);
  Result<MemoryKeys> keys = device_.register_memory(memory_.get(), bytes, RemoteAccess::none);
  if (!keys.ok()) return std::move(keys.status());
  keys_ = keys.value();
  Result<QpNumber> qp = device_.create_qp({slots, slots, 1, 1, kInlineBytes});
  if (!qp.ok()) return std::move(qp.status());
  qp_ = qp.value();
  for (int i = 0; i < slots; ++i) {
    SGL_TRY(post_receive(static_cast<uint64_t>(i)));
    free_slots_.push_back(static_cast<uint64_t>(slots + i));
  }
  return {};
}

ControlChannel::~ControlChannel() {
  if (keys_.local != 0) device_.deregister_memory(keys_);
}

Result<Post> ControlChannel::send(const MessageHeader& header, const View* payload) {
  if (header.bytes > sizes_.message_bytes) return Post::failed;
  if (credits_ == 0 || free_slots_.size() <= kReservedSlots) return Post::busy;
  SGL_TRY(post_slot(header, false, payload));
  --credits_;
  return Post::done;
}

Status ControlChannel::return_credits() {
  if (owed_ < (sizes_.slots + 1) / 2 || free_slots_.empty()) return {};
  SGL_TRY(post_slot(MessageHeader{}, true, nullptr));
  ++credits_sent_;
  return {};
}

Status ControlChannel::post_slot(const MessageHeader& header, bool credits_only,
                                 const View* payload) {
  const uint64_t index = free_slots_.back();
  std::byte* place = slot(index);
  const WireHeader wire{header, static_cast<uint32_t>(owed_), credits_only};
  std::memcpy(place, &wire, sizeof wire);
  if (header.bytes > 0) pack(*payload, place + sizeof wire);
  const DeviceSge sge{place, static_cast<int64_t>(sizeof wire) + header.bytes, keys_.local};
  const SendRequest request{index, SendKind::send, true, {&sge, 1}, 0, 0};
  SGL_TRY(device_.post_send(qp_, {&request, 1}));
  free_slots_.pop_back();
  owed_ = 0;
  return {};
}

Status ControlChannel::post_receive(uint64_t index) {
  const DeviceSge sge{slot(index), slot_bytes_, keys_.local};
  return device_.post_receive(qp_, {index, {&sge, 1}});
}

void ControlChannel::sent(const DeviceCompletion& completion) {
  free_slots_.push_back(completion.id);
}

ControlChannel::Message ControlChannel::received(const DeviceCompletion& completion) {
  WireHeader wire;
  std::memcpy(&wire, slot(completion.id), sizeof wire);
  credits_ += static_cast<int>(wire.credits);
  return {
      wire.header, {slot(completion.id) + sizeof wire, wire.header.bytes}, wire.credits_only == 0};
}

Status ControlChannel::recycle(const DeviceCompletion& completion) {
  WireHeader wire;
  std::memcpy(&wire, slot(completion.id), sizeof wire);
  SGL_TRY(post_receive(completion.id));
  if (wire.credits_only == 0)
    ++owed_;
  else
    ++credits_received_;
  return {};
}

}  // namespace sgl
