// SimWireup: letters between the ranks of one process.
#pragma once

#include "transport/rc/wireup.hpp"
#include "transport/sim/fabric.hpp"

#include <memory>

namespace sgl {

class SimWireup final : public Wireup {
 public:
  SimWireup(std::shared_ptr<SimFabric> fabric, int rank)
      : fabric_(std::move(fabric)), rank_(rank) {}
  WireupAddress address() const override { return {{1}}; }
  void meet(std::vector<WireupAddress>, uint32_t) override {}
  void ask(int peer, const WireupCard& mine) override { send(peer, WireupKind::asked, mine); }
  void answer(int peer, const WireupCard& mine) override { send(peer, WireupKind::answered, mine); }
  void confirm(int peer) override { send(peer, WireupKind::confirmed, {}); }
  std::optional<WireupEvent> poll() override {
    std::lock_guard lock(fabric_->mutex);
    auto& mail = fabric_->ports[static_cast<size_t>(rank_)].mail;
    if (mail.empty()) return std::nullopt;
    WireupEvent event = std::move(mail.front());
    mail.pop_front();
    return event;
  }

 private:
  void send(int peer, WireupKind kind, const WireupCard& card) {
    std::lock_guard lock(fabric_->mutex);
    if (fabric_->ports[static_cast<size_t>(peer)].closed)
      fabric_->ports[static_cast<size_t>(rank_)].mail.push_back(
          {WireupKind::failed, peer, {}, error(SGLCOLL_ERR_PEER_FAILED, "it has ended")});
    else
      fabric_->ports[static_cast<size_t>(peer)].mail.push_back({kind, rank_, card, {}});
    fabric_->arrival.notify_all();
  }

  std::shared_ptr<SimFabric> fabric_;
  int rank_;
};

}  // namespace sgl
