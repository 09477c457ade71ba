#include "schedule/verifier/form.hpp"

namespace sgl::verifier {
namespace {

bool overlap(const Slice& a, const Slice& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

class StepForm {
 public:
  StepForm(const Program& program, int index, const Problem& problem, const Spec& spec,
           const std::vector<int64_t>& sizes)
      : program_(program),
        index_(index),
        step_(program.steps[index]),
        problem_(problem),
        spec_(spec),
        sizes_(sizes) {}

  Status check() const {
    switch (step_.kind) {
      case StepKind::send:
        return check_message(step_.peer, step_.slice, false);
      case StepKind::recv:
        return check_message(step_.peer, step_.slice, true);
      case StepKind::copy:
        return check_copy();
      case StepKind::reduce:
        return check_reduce();
    }
    return {};
  }

 private:
  template <class... Args>
  Status bad(fmt::format_string<Args...> format, Args&&... args) const {
    return error(SGLCOLL_ERR_INTERNAL, "{}: {}", describe(program_, index_),
                 fmt::format(format, std::forward<Args>(args)...));
  }

  Status check_peer(int peer) const {
    if (peer < 0 || peer >= program_.ranks())
      return bad("peer {} is not one of the ranks 0 to {}", peer, program_.ranks() - 1);
    if (peer == step_.rank) return bad("the peer is the rank itself");
    return {};
  }

  Status check_message(int peer, const Slice& slice, bool writes) const {
    SGL_TRY(check_peer(peer));
    return is_signal(slice) ? Status() : check_slice(slice, writes);
  }

  Status check_slice(const Slice& slice, bool writes) const {
    if (slice.length < 0) return bad("{} has a negative length", describe(slice));
    if (slice.length == 0) return {};
    if (slice.buffer < 0 || slice.buffer >= static_cast<int>(sizes_.size()))
      return bad("there is no buffer {}", slice.buffer);
    const int64_t size = sizes_[slice.buffer];
    if (slice.offset < 0 || slice.length > size || slice.offset > size - slice.length)
      return bad("{} is outside the {} bytes of its buffer", describe(slice), size);
    if (!writes) return {};
    if (slice.buffer == kSend || (slice.buffer == kRecv && spec_.recv_is_input_only))
      return bad("{} is input and must not be written", describe(slice));
    return {};
  }

  Status check_copy() const {
    if (step_.operand_count != 1) return bad("a copy has one source, not {}", step_.operand_count);
    const Operand& from = program_.operands_of(step_)[0].operand;
    if (from.incoming()) return bad("a copy's source is local, not from rank {}", from.peer);
    SGL_TRY(check_slice(step_.slice, true));
    SGL_TRY(check_slice(from.slice, false));
    return check_operand_slice(from.slice);
  }

  // Of the operand against the result.
  Status check_operand_slice(const Slice& slice) const {
    if (slice.length != step_.slice.length)
      return bad("operand {} has another length than the result", describe(slice));
    if (slice != step_.slice && overlap(slice, step_.slice))
      return bad("operand {} overlaps the result in part", describe(slice));
    return {};
  }

  Status check_elements(const Slice& slice) const {
    if (slice.length > 0 && (slice.offset % problem_.grain || slice.length % problem_.grain))
      return bad("{} cuts elements of {} bytes", describe(slice), problem_.grain);
    return {};
  }

  Status check_reduce() const {
    const std::span<const ProgramOperand> operands = program_.operands_of(step_);
    if (operands.empty()) return bad("a reduction has at least one operand");
    SGL_TRY(check_slice(step_.slice, true));
    SGL_TRY(check_elements(step_.slice));
    for (const ProgramOperand& each : operands) {
      const Operand& operand = each.operand;
      if (operand.incoming()) SGL_TRY(check_peer(operand.peer));
      SGL_TRY(check_slice(operand.slice, operand.incoming()));
      SGL_TRY(check_elements(operand.slice));
      SGL_TRY(check_operand_slice(operand.slice));
    }
    return check_landings(operands);
  }

  // An operand that arrives must not land on another one.
  Status check_landings(std::span<const ProgramOperand> operands) const {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].operand.incoming()) continue;
      for (size_t j = 0; j < operands.size(); ++j)
        if (i != j && overlap(operands[i].operand.slice, operands[j].operand.slice))
          return bad("the operand from rank {} lands in {}, on operand {}",
                     operands[i].operand.peer, describe(operands[i].operand.slice),
                     describe(operands[j].operand.slice));
    }
    return {};
  }

  const Program& program_;
  int index_;
  const ProgramStep& step_;
  const Problem& problem_;
  const Spec& spec_;
  const std::vector<int64_t>& sizes_;
};

}  // namespace

std::vector<int64_t> buffer_sizes(const Spec& spec, const Schedule& schedule) {
  std::vector<int64_t> sizes{spec.send_bytes, spec.recv_bytes};
  sizes.insert(sizes.end(), schedule.temp_bytes.begin(), schedule.temp_bytes.end());
  return sizes;
}

namespace {

// In an alltoall both ranks of a pair have to know the same.
Status check_pairs(std::span<const Problem> problems) {
  if (!is_alltoall(problems[0].collective)) return {};
  const int size = static_cast<int>(problems.size());
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to) {
      const int64_t sent = problems[from].outgoing().bytes(to);
      const int64_t taken = problems[to].blocks.bytes(from);
      if (sent != taken)
        return error(SGLCOLL_ERR_INTERNAL, "rank {} has {} bytes for rank {}, which expects {}",
                     from, sent, to, taken);
    }
  return {};
}

}  // namespace

Status check_problems(std::span<const Problem> problems) {
  if (problems.empty()) return error(SGLCOLL_ERR_INTERNAL, "there are no ranks to verify");
  const Problem& first = problems[0];
  const int size = static_cast<int>(problems.size());
  for (int rank = 0; rank < size; ++rank) {
    const Problem& problem = problems[rank];
    if (problem.rank != rank || problem.size != size)
      return error(SGLCOLL_ERR_INTERNAL, "problem {} of {} is of rank {} of {}", rank, size,
                   problem.rank, problem.size);
    if (problem.collective != first.collective || problem.root != first.root ||
        problem.grain != first.grain || problem.commutative != first.commutative)
      return error(SGLCOLL_ERR_INTERNAL, "rank {}'s problem is of another collective than rank 0's",
                   rank);
  }
  if (first.root < 0 || first.root >= size || first.grain <= 0)
    return error(SGLCOLL_ERR_INTERNAL, "root {} or grain {} is not valid for {} ranks", first.root,
                 first.grain, size);
  return check_pairs(problems);
}

Status check_form(const Program& program, std::span<const Problem> problems,
                  std::span<const Spec> specs, std::span<const std::vector<int64_t>> sizes) {
  for (int index = 0; index < static_cast<int>(program.steps.size()); ++index) {
    const int rank = program.steps[index].rank;
    SGL_TRY(StepForm(program, index, problems[rank], specs[rank], sizes[rank]).check());
  }
  return {};
}

}  // namespace sgl::verifier
