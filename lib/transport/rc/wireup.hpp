// Wireup: how two ranks of a running job tell each other their QPs, so that a connection is
// made when it is first used.
//
// A rank asks, the other connects its QPs to the card that came with that and answers with
// its own; the first connects too and confirms. When both ask at once, both answer.
#pragma once

#include "base/status.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace sgl {

inline constexpr size_t kMostRails = 2;

// Where a rank can be asked. All 0: nowhere.
struct WireupAddress {
  std::array<uint64_t, 4> words{};
  bool operator==(const WireupAddress&) const = default;
};

struct QpName {
  uint32_t qp = 0;
  uint32_t packet_sequence = 0;
};

// The QPs of one end. Fits the private data of a connection request, 56 bytes.
struct WireupCard {
  uint32_t job = 0;
  uint32_t rank = 0;
  QpName control;
  std::array<QpName, kMostRails> bulk;
};
static_assert(sizeof(WireupCard) == 32);

enum class WireupKind : uint8_t {
  asked,      // answer it
  answered,   // confirm it
  confirmed,  // of an answer
  failed,
};

struct WireupEvent {
  WireupKind kind;
  int peer;
  WireupCard card;
  Status why;
};

// Nothing blocks. One thread at a time per object.
class Wireup {
 public:
  virtual ~Wireup() = default;
  virtual WireupAddress address() const = 0;
  // The addresses of all ranks, before anything else.
  virtual void meet(std::vector<WireupAddress> addresses, uint32_t job) = 0;
  // What fails is told as an event.
  virtual void ask(int peer, const WireupCard& mine) = 0;
  virtual void answer(int peer, const WireupCard& mine) = 0;
  virtual void confirm(int peer) = 0;
  virtual std::optional<WireupEvent> poll() = 0;
  // Readable when poll() may give something; -1: only Device::wait() knows.
  virtual int descriptor() const { return -1; }
};

}  // namespace sgl
