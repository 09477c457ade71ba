// The link between two processes. librdmacm makes two connections: one carries the data
// that is measured, the other one command at a time and its answer.
#include "perf/sge_sweep/link.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

namespace sge_sweep {

namespace {

using Identifier = std::unique_ptr<rdma_cm_id, Freer<rdma_destroy_ep>>;
using Addresses = std::unique_ptr<rdma_addrinfo, Freer<rdma_freeaddrinfo>>;

enum class Verb : uint32_t { hello, prepare, finish, check, bye };
struct Command {
  Verb verb = Verb::bye;
  Case what;
  uint32_t seed = 0;
};
struct Answer {
  int32_t code = 0;
  char text[236] = {};
  RemoteMemory memory;
  uint32_t blocks = 0;
};

Status cm_error(const std::string& what) {
  return verbs_error(what.c_str(), errno);
}

Result<Addresses> resolve(const char* host, const std::string& port, int flags) {
  rdma_addrinfo hints{}, *found = nullptr;
  hints.ai_flags = flags;
  hints.ai_port_space = RDMA_PS_TCP;
  if (rdma_getaddrinfo(host, port.c_str(), &hints, &found) != 0) {
    return cm_error(fmt::format("no RDMA address for {} port {}", host ? host : "this host", port));
  }
  return Addresses(found);
}

ibv_qp_init_attr queue_attributes(uint32_t sges) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  const QueueSizes sizes;
  attributes.cap = {.max_send_wr = sizes.send_wrs,
                    .max_recv_wr = kMostReceives,
                    .max_send_sge = sges,
                    .max_recv_sge = sges,
                    .max_inline_data = 0};
  return attributes;
}

rdma_conn_param connection_parameters() {
  rdma_conn_param parameters{};
  parameters.responder_resources = parameters.initiator_depth = 16;
  parameters.retry_count = parameters.rnr_retry_count = 7;
  return parameters;
}

// Commands and answers over a connection, one of each at a time.
template <class Sent, class Received>
class Channel {
 public:
  Status open(rdma_cm_id* id) {
    id_ = id;
    sent_region_.reset(rdma_reg_msgs(id, &sent_, sizeof sent_));
    received_region_.reset(rdma_reg_msgs(id, &received_, sizeof received_));
    if (!sent_region_ || !received_region_) return cm_error("rdma_reg_msgs");
    return post();
  }
  Status post() {
    if (rdma_post_recv(id_, nullptr, &received_, sizeof received_, received_region_.get()) != 0) {
      return cm_error("rdma_post_recv");
    }
    return {};
  }
  Status send(const Sent& message) {
    sent_ = message;
    ibv_wc completion{};
    if (rdma_post_send(id_, nullptr, &sent_, sizeof sent_, sent_region_.get(), IBV_SEND_SIGNALED) !=
            0 ||
        rdma_get_send_comp(id_, &completion) != 1 || completion.status != IBV_WC_SUCCESS) {
      return sgl::error(SGLCOLL_ERR_PEER_FAILED, "the other process is gone");
    }
    return {};
  }
  Result<Received> receive() {
    ibv_wc completion{};
    if (rdma_get_recv_comp(id_, &completion) != 1 || completion.status != IBV_WC_SUCCESS) {
      return sgl::error(SGLCOLL_ERR_PEER_FAILED, "the other process is gone");
    }
    const Received message = received_;
    SGL_TRY(post());
    return message;
  }

 private:
  rdma_cm_id* id_ = nullptr;
  Sent sent_;
  Received received_;
  Region sent_region_, received_region_;
};

class RemoteTarget final : public Target {
 public:
  Status open(rdma_cm_id* id) { return channel_.open(id); }
  Result<Answer> ask(const Command& command) {
    SGL_TRY(channel_.send(command));
    Result<Answer> answer = channel_.receive();
    if (answer.ok() && answer.value().code != SGLCOLL_OK) {
      return Status(static_cast<sgl::Code>(answer.value().code), answer.value().text);
    }
    return answer;
  }
  Status prepare(const Case& what, uint32_t seed) override {
    return tell({Verb::prepare, what, seed});
  }
  Status finish(const Case& what) override {
    // One-sided operations are complete when their completions are here.
    return what.shape == Shape::both ? tell({Verb::finish, what, 0}) : Status();
  }
  Status check(const Case& what, uint32_t seed) override { return tell({Verb::check, what, seed}); }

 private:
  Status tell(const Command& command) {
    Result<Answer> answer = ask(command);
    return std::move(answer.status());
  }
  Channel<Command, Answer> channel_;
};

class RemoteLink final : public Link {
 public:
  ~RemoteLink() override {
    if (remote_.flat != 0) (void)target_.ask({});
  }
  Status open(const std::string& host, const std::string& port) {
    Result<Addresses> addresses = resolve(host.c_str(), port, 0);
    if (!addresses.ok()) return std::move(addresses.status());
    SGL_TRY(connect(addresses.value().get(), &control_, 1));
    Result<uint32_t> sges = usable_sges(control_->verbs);
    if (!sges.ok()) return std::move(sges.status());
    SGL_TRY(target_.open(control_.get()));
    SGL_TRY(connect(addresses.value().get(), &data_, sges.value()));
    Result<Buffers> buffers = Buffers::make(data_->pd);
    if (!buffers.ok()) return std::move(buffers.status());
    buffers_ = buffers.take();
    endpoint_ = Endpoint::adopt(data_->qp);
    Result<Answer> hello = target_.ask({Verb::hello, {}, 0});
    if (!hello.ok()) return std::move(hello.status());
    remote_ = hello.value().memory;
    blocks_ = hello.value().blocks;
    return {};
  }
  uint32_t blocks() const { return blocks_; }
  ibv_context* context() const override { return data_->verbs; }
  ibv_pd* domain() const override { return data_->pd; }
  Endpoint& endpoint() override { return endpoint_; }
  const Buffers& buffers() const override { return buffers_; }
  const RemoteMemory& remote() const override { return remote_; }
  Target& target() override { return target_; }

 private:
  static Status connect(rdma_addrinfo* address, Identifier* id, uint32_t sges) {
    ibv_qp_init_attr attributes = queue_attributes(sges);
    rdma_cm_id* made = nullptr;
    if (rdma_create_ep(&made, address, nullptr, &attributes) != 0)
      return cm_error("rdma_create_ep");
    id->reset(made);
    rdma_conn_param parameters = connection_parameters();
    if (rdma_connect(made, &parameters) != 0)
      return cm_error("rdma_connect; does --server run there?");
    return {};
  }

  Identifier control_, data_;  // before what is registered with their domains
  Buffers buffers_;
  RemoteTarget target_;
  Endpoint endpoint_;
  RemoteMemory remote_;
  uint32_t blocks_ = 0;
};

// The server's side of one connection.
class Session {
 public:
  Status open(rdma_cm_id* listener, uint32_t blocks) {
    SGL_TRY(get_request(listener, &control_));
    SGL_TRY(channel_.open(control_.get()));
    SGL_TRY(accept(control_.get()));
    SGL_TRY(get_request(listener, &data_));
    Result<Buffers> buffers = Buffers::make(data_->pd);
    if (!buffers.ok()) return std::move(buffers.status());
    buffers_ = buffers.take();
    Result<Memory> store = Memory::make(data_->pd, 2 * kStoreSlotBytes * blocks);
    if (!store.ok()) return std::move(store.status());
    store_ = store.take();
    blocks_ = blocks;
    endpoint_ = Endpoint::adopt(data_->qp);
    return accept(data_.get());
  }
  Status run() {
    LocalTarget target(endpoint_, buffers_);
    for (;;) {
      Result<Command> command = channel_.receive();
      if (!command.ok()) return std::move(command.status());
      const Answer answer = obey(target, command.value());
      SGL_TRY(channel_.send(answer));
      if (command.value().verb == Verb::bye) return {};
    }
  }

 private:
  static Status get_request(rdma_cm_id* listener, Identifier* id) {
    rdma_cm_id* made = nullptr;
    if (rdma_get_request(listener, &made) != 0) return cm_error("rdma_get_request");
    id->reset(made);
    Result<uint32_t> sges = usable_sges(made->verbs);
    if (!sges.ok()) return std::move(sges.status());
    ibv_qp_init_attr attributes = queue_attributes(sges.value());
    if (rdma_create_qp(made, nullptr, &attributes) != 0) return cm_error("rdma_create_qp");
    return {};
  }
  static Status accept(rdma_cm_id* id) {
    rdma_conn_param parameters = connection_parameters();
    return rdma_accept(id, &parameters) == 0 ? Status() : cm_error("rdma_accept");
  }
  Answer obey(LocalTarget& target, const Command& command) {
    Status status;
    if (command.verb == Verb::prepare) status = target.prepare(command.what, command.seed);
    if (command.verb == Verb::finish) status = target.finish(command.what);
    if (command.verb == Verb::check) status = target.check(command.what, command.seed);
    Answer answer;
    answer.code = status.code();
    std::snprintf(answer.text, sizeof answer.text, "%s", status.text().c_str());
    answer.memory = {.strided = reinterpret_cast<uint64_t>(buffers_.strided_memory.data()),
                     .flat = reinterpret_cast<uint64_t>(buffers_.flat_memory.data()),
                     .strided_rkey = buffers_.strided_memory.rkey(),
                     .flat_rkey = buffers_.flat_memory.rkey(),
                     .store = reinterpret_cast<uint64_t>(store_.data()),
                     .store_rkey = store_.rkey()};
    answer.blocks = blocks_;
    return answer;
  }

  Identifier control_, data_;  // before what is registered with their domains
  Buffers buffers_;
  Memory store_;
  uint32_t blocks_ = 0;
  Channel<Answer, Command> channel_;
  Endpoint endpoint_;
};

}  // namespace

Result<std::unique_ptr<Link>> connect_to(const std::string& host, const std::string& port,
                                         uint32_t blocks) {
  auto link = std::make_unique<RemoteLink>();
  SGL_TRY(link->open(host, port));
  if (link->blocks() < blocks) {
    return sgl::error(SGLCOLL_ERR_ARG, "--blocks {}: the server has {}; both need the same value",
                      blocks, link->blocks());
  }
  return std::unique_ptr<Link>(std::move(link));
}

Status serve(const std::string& port, uint32_t blocks) {
  Result<Addresses> addresses = resolve(nullptr, port, RAI_PASSIVE);
  if (!addresses.ok()) return std::move(addresses.status());
  rdma_cm_id* made = nullptr;
  if (rdma_create_ep(&made, addresses.value().get(), nullptr, nullptr) != 0) {
    return cm_error("rdma_create_ep");
  }
  const Identifier listener(made);
  if (rdma_listen(made, 4) != 0) return cm_error("rdma_listen");
  std::fprintf(stderr, "sge_sweep: waiting on port %s\n", port.c_str());
  Session session;
  SGL_TRY(session.open(made, blocks));
  return session.run();
}

}  // namespace sge_sweep
