// CmWireup: ranks ask each other through librdmacm, whose connection requests carry a card.
#pragma once

#include "transport/rc/wireup.hpp"

#include <memory>
#include <unordered_map>

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

namespace sgl {

struct CmIdFreer {
  void operator()(rdma_cm_id* id) const { rdma_destroy_id(id); }
};
struct CmChannelFreer {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};

class CmWireup final : public Wireup {
 public:
  // Listens at an address of this rank's port.
  static Result<std::unique_ptr<Wireup>> open(in_addr address);

  WireupAddress address() const override;
  void meet(std::vector<WireupAddress> addresses, uint32_t job) override;
  void ask(int peer, const WireupCard& mine) override;
  void answer(int peer, const WireupCard& mine) override;
  void confirm(int peer) override;
  std::optional<WireupEvent> poll() override;
  int descriptor() const override { return channel_->fd; }

 private:
  using Id = std::unique_ptr<rdma_cm_id, CmIdFreer>;
  // What this rank asked of a peer, or was asked.
  struct Talk {
    Id id;
    WireupCard card;
  };
  CmWireup() = default;
  bool has_event();
  WireupEvent failure(int peer, std::string why) const;
  std::optional<WireupEvent> take(const rdma_cm_event& event, const WireupCard& card);
  std::optional<WireupEvent> take_request(rdma_cm_id* id, const WireupCard& card);
  std::optional<WireupEvent> go_on(int peer, const rdma_cm_event& event, const WireupCard& card);

  std::unique_ptr<rdma_event_channel, CmChannelFreer> channel_;
  Id listener_;
  in_addr own_{};
  std::vector<WireupAddress> addresses_;
  uint32_t job_ = 0;
  std::unordered_map<int, Talk> asked_, answered_;  // by peer
  std::unordered_map<rdma_cm_id*, int> peer_of_;    // of those in asked_
  std::vector<WireupEvent> failed_at_once_;
  int64_t looked_at_ns_ = 0;
  bool more_events_ = false;
};

}  // namespace sgl
