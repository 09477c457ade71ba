// Interpreter: runs a program of all ranks on symbolic contents, each edge by the
// micro-steps of a protocol.
#pragma once

#include "base/status.hpp"
#include "schedule/protocol.hpp"
#include "schedule/verifier/contents.hpp"
#include "schedule/verifier/program.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sgl::verifier {

// buffers[rank][buffer]
using Memory = std::vector<std::vector<Contents>>;

class Interpreter {
 public:
  // shape_of: of an edge of the program. All arguments must outlive the interpreter.
  Interpreter(const Program& program, int64_t grain, const std::function<Shape(int edge)>& shape_of,
              Terms* terms, Memory* memory);

  // Until nothing moves; an error when steps are left then (the text shows the cycle of
  // waiting steps) or when a reduction meets parts of elements.
  Status run();
  // The steps in the order in which they completed.
  const std::vector<int>& completed() const { return completed_; }

 private:
  // One end of an edge: how many micro-steps it has passed; -1 before its step starts.
  struct End {
    int passed = -1;
  };
  struct EdgeState {
    const Protocol* protocol = nullptr;
    End sender, receiver;
    bool available = false;  // counted in the receiving reduction's operands
  };
  struct StepState {
    int deps_left = 0;
    int operands_left = 0;  // incoming ones that cannot be read yet
    int edges_left = 0;     // incoming ones whose protocol has not ended
    bool reduced = false, completed = false;
  };

  void start(int step);
  void complete(int step);
  void advance(int edge);
  bool advance_end(int edge, bool at_sender);
  bool may_pass(const EdgeState& state, MicroStep step, bool at_sender) const;
  bool reads_in_place(int edge) const;
  void move(int edge);
  void end_reached(int edge, bool at_sender);
  void operand_available(int edge);
  void reduce(int step);
  void finish_reduction(int step);
  Pieces load(int rank, const Slice& slice) const;
  void store(int rank, const Slice& slice, const Pieces& pieces);
  void check_whole_elements(int step, const Pieces& pieces);
  Status deadlock() const;
  int blocker(int step) const;

  const Program& program_;
  int64_t grain_;
  Terms& terms_;
  Memory& memory_;
  std::vector<EdgeState> edges_;
  std::vector<StepState> steps_;
  std::vector<int> ready_steps_, ready_edges_;
  std::vector<int> completed_;
  Status failure_;
};

}  // namespace sgl::verifier
