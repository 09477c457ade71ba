// The logical schedule: what one rank does in a collective, as steps over byte
// ranges of buffers with dependencies. Independent of addresses, of layouts and
// of the transport.
//
// Buffers are linear spaces of payload bytes (the executor binds each to an
// address and a Layout), so a slice of a strided matrix tile and a slice of a
// plain array look the same here.
//
// A schedule is generated round by round by a pure function, so that a ring
// over a million ranks costs a few bytes until it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace sgl {

// Buffer 0 and 1 are the user's; the others are the schedule's own scratch.
using Buffer = int;
inline constexpr Buffer kSend = 0;
inline constexpr Buffer kRecv = 1;
inline constexpr Buffer kFirstTemp = 2;

// Payload bytes [offset, offset + length) of a buffer.
struct Slice {
  Buffer buffer = kSend;
  int64_t offset = 0;
  int64_t length = 0;
  bool operator==(const Slice&) const = default;
};

// An input of a copy or reduction. Local: the slice itself. Incoming (peer >= 0):
// the message (peer, tag), for which `slice` is the place where it may land when
// the transport cannot be read in place; only this step may use that place
// until the step is done.
struct Operand {
  Slice slice;
  int peer = -1;
  uint32_t tag = 0;
  bool incoming() const { return peer >= 0; }
};

// In the order in which an executor starts those that can start at once.
enum class StepKind : uint8_t {
  send,    // `slice` goes to `peer` as message `tag`
  recv,    // message (peer, tag) arrives in `slice`
  reduce,  // `slice` = operands[0] op operands[1] op ... in this order
  copy,    // `slice` = operands[0] (local)
};

// Names a step: the `index`-th of round `round`.
struct StepRef {
  int64_t round = 0;
  int index = 0;
  bool operator==(const StepRef&) const = default;
};

struct Step {
  StepKind kind = StepKind::send;
  int peer = -1;
  uint32_t tag = 0;  // unique per (sender, receiver) within a schedule
  Slice slice;
  int first_operand = 0, operand_count = 0;  // in Round::operands
  int first_dep = 0, dep_count = 0;          // in Round::deps
};

// One round's steps. Cleared and filled again by the generator, so a loop over
// rounds does not allocate once warm.
class Round {
 public:
  void reset(int64_t number);
  int64_t number() const { return number_; }

  // Each appends a step that starts once all of `deps` are done, and returns
  // its name. Steps without a path of dependencies between them may run in any
  // order or at once. A step of length 0 is legal and does nothing: a send of
  // length 0 puts no message on the wire, a recv of length 0 waits for none.
  StepRef send(int peer, uint32_t tag, Slice slice, std::span<const StepRef> deps = {});
  StepRef recv(int peer, uint32_t tag, Slice slice, std::span<const StepRef> deps = {});
  StepRef copy(Slice to, Slice from, std::span<const StepRef> deps = {});
  StepRef reduce(Slice to, std::span<const Operand> operands, std::span<const StepRef> deps = {});
  // An empty message, which only orders (barriers).
  StepRef send_signal(int peer, uint32_t tag, std::span<const StepRef> deps = {});
  StepRef recv_signal(int peer, uint32_t tag, std::span<const StepRef> deps = {});

  const std::vector<Step>& steps() const { return steps_; }
  std::span<const Operand> operands(const Step& step) const {
    return {operands_.data() + step.first_operand, static_cast<size_t>(step.operand_count)};
  }
  std::span<const StepRef> deps(const Step& step) const {
    return {deps_.data() + step.first_dep, static_cast<size_t>(step.dep_count)};
  }

 private:
  StepRef append(Step step, std::span<const StepRef> deps);
  int64_t number_ = 0;
  std::vector<Step> steps_;
  std::vector<Operand> operands_;
  std::vector<StepRef> deps_;
};

// A signal is a send or recv whose slice is this one.
inline constexpr Slice kSignal{-1, 0, 0};
inline bool is_signal(const Slice& slice) {
  return slice.buffer == -1;
}

struct Schedule {
  std::string algorithm;  // name of the builder, e.g. "ring"
  int64_t rounds = 0;
  std::vector<int64_t> temp_bytes;  // payload bytes of buffers kFirstTemp, kFirstTemp + 1, ...
  // Appends the steps of round.number() (already reset to it). Pure: the same
  // round always gives the same steps. Dependencies name this or earlier rounds.
  std::function<void(Round& round)> generate;
};

}  // namespace sgl
