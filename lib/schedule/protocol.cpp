#include "schedule/protocol.hpp"

#include <algorithm>
#include <vector>

namespace sgl {
namespace {

using enum MicroStep;

constexpr MicroStep kEagerSender[] = {push};
constexpr MicroStep kEagerReceiver[] = {drain};
constexpr MicroStep kFragmentsSender[] = {expose, await_grant, push};
constexpr MicroStep kFragmentsReceiver[] = {await_expose, grant, drain};
constexpr MicroStep kGetSender[] = {expose, await_notify};
constexpr MicroStep kGetReceiver[] = {await_expose, read, notify};
constexpr MicroStep kPutSender[] = {expose, await_grant, write, notify};
constexpr MicroStep kPutReceiver[] = {await_expose, grant, await_notify};
constexpr MicroStep kTwoSidedSender[] = {expose, await_grant, post_send, await_completion};
constexpr MicroStep kTwoSidedReceiver[] = {await_expose, post_receive, grant, await_completion};
constexpr MicroStep kSignalSender[] = {notify};
constexpr MicroStep kSignalReceiver[] = {await_notify};

constexpr Protocol kProtocols[kShapeCount] = {
    {Shape::eager, "eager", kEagerSender, kEagerReceiver},
    {Shape::fragments, "fragments", kFragmentsSender, kFragmentsReceiver},
    {Shape::get, "get", kGetSender, kGetReceiver},
    {Shape::put, "put", kPutSender, kPutReceiver},
    {Shape::send_receive, "send_receive", kTwoSidedSender, kTwoSidedReceiver},
    {Shape::signal, "signal", kSignalSender, kSignalReceiver},
};

// Who must have allowed a move, and by which micro-step.
std::optional<MicroStep> permission_of(MicroStep move) {
  switch (move) {
    case read:
      return expose;
    case write:
      return grant;
    case post_send:
      return post_receive;
    default:
      return std::nullopt;  // drain: each end touches its own memory only
  }
}

// The order of passing micro-steps that the sequences and the waits enforce: the
// sender's are nodes 0 .. sender.size() - 1, then come the receiver's.
class Order {
 public:
  explicit Order(const Protocol& protocol)
      : sender_(protocol.sender),
        receiver_(protocol.receiver),
        count_(sender_.size() + receiver_.size()),
        before_(count_ * count_) {
    for (size_t node = 0; node < count_; ++node) add_rules(node);
    for (size_t middle = 0; middle < count_; ++middle)
      for (size_t a = 0; a < count_; ++a)
        for (size_t b = 0; b < count_; ++b)
          if (before(a, middle) && before(middle, b)) before_[a * count_ + b] = true;
  }

  size_t count() const { return count_; }
  bool at_sender(size_t node) const { return node < sender_.size(); }
  MicroStep step(size_t node) const {
    return at_sender(node) ? sender_[node] : receiver_[node - sender_.size()];
  }
  bool before(size_t a, size_t b) const { return before_[a * count_ + b]; }
  bool unmet() const { return unmet_; }  // a wait has no partner
  // count(): not there.
  size_t find(MicroStep wanted, bool sender) const {
    for (size_t node = 0; node < count_; ++node)
      if (at_sender(node) == sender && step(node) == wanted) return node;
    return count_;
  }

 private:
  bool is_first(size_t node) const { return node == 0 || node == sender_.size(); }
  void add_rules(size_t node) {
    if (!is_first(node)) before_[(node - 1) * count_ + node] = true;
    const std::optional<Wait> wait = wait_of(step(node), at_sender(node));
    if (!wait) return;
    const size_t partner = find(wait->partner, !at_sender(node));
    if (partner == count_)
      unmet_ = true;
    else if (wait->passed)
      before_[partner * count_ + node] = true;
    else if (!is_first(partner))
      before_[(partner - 1) * count_ + node] = true;
  }

  std::span<const MicroStep> sender_, receiver_;
  size_t count_;
  std::vector<bool> before_;
  bool unmet_ = false;
};

Status bad(const Protocol& protocol, const char* what, const char* which) {
  return error(SGLCOLL_ERR_INTERNAL, "protocol {}: {} {}", protocol.name, what, which);
}

Status check_move(const Protocol& protocol, const Order& order, size_t move) {
  const char* name = micro_step_name(order.step(move));
  if (const std::optional<MicroStep> needed = permission_of(order.step(move))) {
    const size_t permission = order.find(*needed, !order.at_sender(move));
    if (permission == order.count() || !order.before(permission, move))
      return bad(protocol, "nothing makes the peer allow", name);
  }
  // What is posted is not yet moved.
  const bool at_once = order.step(move) != post_send;
  for (size_t last : {protocol.sender.size() - 1, order.count() - 1})
    if (!(last == move && at_once) && !order.before(move, last))
      return bad(
          protocol,
          order.at_sender(last) ? "the sender may end before" : "the receiver may end before",
          name);
  return {};
}

}  // namespace

const Protocol& protocol_of(Shape shape) {
  return kProtocols[static_cast<int>(shape)];
}

const char* micro_step_name(MicroStep step) {
  static constexpr const char* kNames[kMicroStepCount] = {
      "expose",      "await_expose", "read",         "notify",    "await_notify",     "grant",
      "await_grant", "write",        "post_receive", "post_send", "await_completion", "push",
      "drain",
  };
  return kNames[static_cast<int>(step)];
}

std::optional<Wait> wait_of(MicroStep step, bool at_sender) {
  switch (step) {
    case await_expose:
      return Wait{expose, true};
    case await_notify:
      return Wait{notify, true};
    case await_grant:
      return Wait{grant, true};
    case await_completion:
      return Wait{at_sender ? post_receive : post_send, true};
    case push:
      return Wait{drain, true};
    case drain:
      return Wait{push, false};
    default:
      return std::nullopt;
  }
}

bool moves_payload(MicroStep step) {
  return step == read || step == write || step == post_send || step == drain;
}

Status check_protocol(const Protocol& protocol) {
  if (protocol.sender.empty() || protocol.receiver.empty())
    return bad(protocol, "an end has", "no micro-steps");
  const Order order(protocol);
  if (order.unmet()) return bad(protocol, "a micro-step waits for one that", "the peer lacks");
  int moves = 0;
  for (size_t node = 0; node < order.count(); ++node) {
    if (order.before(node, node))
      return bad(protocol, "deadlock at", micro_step_name(order.step(node)));
    if (!moves_payload(order.step(node))) continue;
    ++moves;
    SGL_TRY(check_move(protocol, order, node));
  }
  if (moves != (protocol.shape == Shape::signal ? 0 : 1))
    return bad(protocol, "the payload does not move", "exactly once");
  return {};
}

}  // namespace sgl
