// One direction between two processes: a ring of header lines and a ring of payload bytes.
//
// The channel lies in the consumer's segment. A message costs the transfer of one cache
// line when its payload fits in the line, else of that line and of the payload's lines.
// A line is valid when its stamp equals its position + 1, so neither side polls a
// counter of the other; the producer looks at the consumer's credit only when it
// believes the ring full. Stamps are released and acquired, nothing is fenced.
//
// Both sides place payloads by the same rule, so no position travels and the consumer
// need check nothing but a length. A producer that dies half-way leaves no stamp and so
// no message.
#pragma once

#include "transport/transport.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sgl {

inline constexpr uint32_t kLineBytes = 64;
// The adjacent-line prefetcher works on pairs of lines.
inline constexpr uint32_t kPadBytes = 128;

struct RingLine {
  std::atomic<uint32_t> stamp;
  MessageHeader header;
  std::byte payload[kLineBytes - sizeof(uint32_t) - sizeof(MessageHeader)];
};
static_assert(sizeof(RingLine) == kLineBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

inline constexpr uint32_t kInlineBytes = sizeof(RingLine::payload);

// Both are powers of two. One message may take at most a quarter of the payload ring.
struct RingGeometry {
  uint32_t lines = 256;
  uint32_t data_bytes = 256 << 10;

  uint32_t units() const { return data_bytes / kLineBytes; }
  uint32_t max_message_bytes() const { return data_bytes / 4; }
  size_t channel_bytes() const { return kPadBytes + size_t{lines} * kLineBytes + data_bytes; }
  bool operator==(const RingGeometry&) const = default;
};

// Where the two ends stand: lines and 64-byte payload units since the start, modulo 2^32.
struct RingPosition {
  uint32_t line = 0;
  uint32_t unit = 0;

  uint64_t packed() const { return uint64_t{line} << 32 | unit; }
  static RingPosition unpacked(uint64_t value) {
    return {static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value)};
  }
};

// The addresses of a channel's parts and the placement rule that both ends share.
class RingChannel {
 public:
  RingChannel() = default;
  RingChannel(std::byte* memory, const RingGeometry& geometry)
      : credit_(reinterpret_cast<std::atomic<uint64_t>*>(memory)),
        lines_(reinterpret_cast<RingLine*>(memory + kPadBytes)),
        data_(memory + kPadBytes + size_t{geometry.lines} * kLineBytes),
        geometry_(geometry) {}

  const RingGeometry& geometry() const { return geometry_; }
  std::span<std::byte> payload_ring() const { return {data_, geometry_.data_bytes}; }

 protected:
  RingLine& line(uint32_t position) const { return lines_[position & (geometry_.lines - 1)]; }
  std::byte* unit(uint32_t position) const {
    return data_ + size_t{position & (geometry_.units() - 1)} * kLineBytes;
  }
  static uint32_t units_of(uint32_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes; }
  // Units left out so that `count` units from `position` on do not wrap.
  uint32_t skipped_before(uint32_t position, uint32_t count) const {
    uint32_t to_end = geometry_.units() - (position & (geometry_.units() - 1));
    return count > to_end ? to_end : 0;
  }

  std::atomic<uint64_t>* credit_ = nullptr;
  RingLine* lines_ = nullptr;
  std::byte* data_ = nullptr;
  RingGeometry geometry_;
};

// Starts to take a line from the other processor, before the stores that need it: they would
// wait for it one after the other, and what follows them for room in the store buffer.
inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)  // the builtin is a prefetch for reading unless the build is for newer ones
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

// The sending end. One thread of one process.
class RingProducer : public RingChannel {
 public:
  using RingChannel::RingChannel;

  // Room for a payload of `bytes` (at most max_message_bytes()), to be filled before
  // commit(); null when the ring is full.
  std::byte* reserve(uint32_t bytes) {
    uint32_t count = bytes > kInlineBytes ? units_of(bytes) : 0;
    uint32_t skipped = skipped_before(next_.unit, count);
    if (!has_room(skipped + count)) {
      consumed_ = RingPosition::unpacked(credit_->load(std::memory_order_acquire));
      if (!has_room(skipped + count)) return nullptr;
    }
    reserved_units_ = skipped + count;
    if (count == 0) return line(next_.line).payload;
    return unit(next_.unit + skipped);
  }

  // Publishes the message whose payload is in the place that reserve(header.bytes) gave.
  void commit(const MessageHeader& header) {
    RingLine& target = line(next_.line);
    target.header = header;
    next_.unit += reserved_units_;
    target.stamp.store(++next_.line, std::memory_order_release);
    fetch_to_write(&line(next_.line + 1));  // the next one may be the one that is looked at
    if (reserved_units_ <= kFewUnits)       // the next message is often like this one
      for (uint32_t i = 0; i < reserved_units_; ++i) fetch_to_write(unit(next_.unit + i));
  }

  // Whether the consumer has published credit that the last reserve() did not know.
  bool credit_came() const {
    return credit_->load(std::memory_order_acquire) != consumed_.packed();
  }

 private:
  bool has_room(uint32_t wanted_units) const {
    return next_.line - consumed_.line < geometry_.lines &&
           next_.unit + wanted_units - consumed_.unit <= geometry_.units();
  }

  static constexpr uint32_t kFewUnits = 4;  // with 16 an exchange of 1 KiB becomes slower

  RingPosition next_, consumed_;
  uint32_t reserved_units_ = 0;
};

// The receiving end. One thread of one process.
class RingConsumer : public RingChannel {
 public:
  using RingChannel::RingChannel;

  bool ready() const {
    return line(next_.line).stamp.load(std::memory_order_acquire) == next_.line + 1;
  }

  // The message at the head, valid until pop(); needs ready(). False when its length cannot be
  // right: the peer's memory is corrupt. The header is copied before it is checked, so that a peer
  // cannot change it in between.
  bool front(Arrival* message) {
    RingLine& source = line(next_.line);
    message->header = source.header;
    uint32_t bytes = message->header.bytes;
    if (bytes > geometry_.max_message_bytes()) return false;
    uint32_t count = bytes > kInlineBytes ? units_of(bytes) : 0;
    uint32_t skipped = skipped_before(next_.unit, count);
    front_units_ = skipped + count;
    message->payload = {count == 0 ? source.payload : unit(next_.unit + skipped), bytes};
    return true;
  }

  // Takes the head off. True when credit was published, which a blocked producer may be
  // asleep for. Credit goes out once a quarter of either ring was consumed: seldom
  // enough to leave the line alone, and a producer facing a drained ring still finds
  // more than the largest message needs.
  bool pop() {
    ++next_.line;
    next_.unit += front_units_;
    if (next_.line - published_.line < geometry_.lines / 4 &&
        next_.unit - published_.unit < geometry_.units() / 4)
      return false;
    published_ = next_;
    credit_->store(next_.packed(), std::memory_order_release);
    return true;
  }

 private:
  RingPosition next_, published_;
  uint32_t front_units_ = 0;
};

}  // namespace sgl
