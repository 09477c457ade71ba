#include "perf/sge_sweep/verbs.hpp"

#include "base/clock.hpp"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <sys/mman.h>

namespace sge_sweep {

namespace {

constexpr int kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
constexpr uint32_t kFirstPacket = 1000;
constexpr int64_t kPatience_ns = 20'000'000'000;
constexpr int kReadsInFlight = 16;

ibv_qp_init_attr init_attributes(const QueueSizes& sizes, ibv_cq* sends, ibv_cq* receives) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = sends;
  attributes.recv_cq = receives;
  attributes.cap.max_send_wr = sizes.send_wrs;
  attributes.cap.max_recv_wr = sizes.receive_wrs;
  attributes.cap.max_send_sge = sizes.send_sges;
  attributes.cap.max_recv_sge = sizes.receive_sges;
  return attributes;
}

}  // namespace

Status verbs_error(const char* what, int number) {
  if (number == ENOMEM && std::strcmp(what, "ibv_reg_mr") == 0) {
    return sgl::error(SGLCOLL_ERR_SYSTEM, "{}: {}; is `ulimit -l` too small?", what,
                      std::strerror(number));
  }
  return sgl::error(SGLCOLL_ERR_SYSTEM, "{}: {}", what, std::strerror(number));
}

Result<sgl::DeviceStamp> stamp_of(ibv_context* context) {
  ibv_device_attr attributes{};
  if (int number = ibv_query_device(context, &attributes)) {
    return verbs_error("ibv_query_device", number);
  }
  return sgl::DeviceStamp{.name = ibv_get_device_name(context->device),
                          .firmware = attributes.fw_ver,
                          .vendor_id = attributes.vendor_id,
                          .part_id = attributes.vendor_part_id};
}

void Memory::Unmapper::operator()(std::byte* memory) const {
  std::free(memory);
}

Result<Memory> Memory::make(ibv_pd* domain, size_t bytes) {
  constexpr size_t page = 4096;
  Memory memory;
  memory.bytes_ = (bytes + page - 1) / page * page;
  memory.data_.reset(static_cast<std::byte*>(std::aligned_alloc(page, memory.bytes_)));
  if (!memory.data_) return verbs_error("aligned_alloc", ENOMEM);
  std::memset(memory.data_.get(), 0, memory.bytes_);
  Result<Region> region = register_memory(domain, memory.data_.get(), memory.bytes_);
  if (!region.ok()) return std::move(region.status());
  memory.region_ = region.take();
  return memory;
}

Result<Region> register_memory(ibv_pd* domain, std::byte* begin, size_t bytes) {
  Region region(ibv_reg_mr(domain, begin, bytes, kAllAccess));
  if (!region) return verbs_error("ibv_reg_mr", errno);
  return region;
}

Result<Device> Device::open(const std::string& name) {
  int count = 0;
  std::unique_ptr<ibv_device*, Freer<ibv_free_device_list>> list(ibv_get_device_list(&count));
  std::string seen;
  for (int i = 0; list && i < count; i++) {
    const std::string here = ibv_get_device_name(list.get()[i]);
    seen += " " + here;
    if (!name.empty() && here != name) continue;
    Device device;
    device.context_.reset(ibv_open_device(list.get()[i]));
    if (!device.context_ || !device.find_port().ok()) continue;
    SGL_TRY(device.find_gid());
    device.domain_.reset(ibv_alloc_pd(device.context_.get()));
    if (!device.domain_) return verbs_error("ibv_alloc_pd", errno);
    return device;
  }
  return sgl::error(SGLCOLL_ERR_UNSUPPORTED, "no device{}{} with an active port; devices here:{}",
                    name.empty() ? "" : " ", name, seen.empty() ? " none" : seen);
}

Status Device::find_port() {
  ibv_device_attr attributes{};
  if (int number = ibv_query_device(context_.get(), &attributes)) {
    return verbs_error("ibv_query_device", number);
  }
  max_sge_ = attributes.max_sge;
  for (int port = 1; port <= attributes.phys_port_cnt; port++) {
    ibv_port_attr entry{};
    if (ibv_query_port(context_.get(), static_cast<uint8_t>(port), &entry) != 0) continue;
    if (entry.state != IBV_PORT_ACTIVE) continue;
    port_ = port;
    mtu_ = entry.active_mtu;
    lid_ = entry.lid;
    ethernet_ = entry.link_layer == IBV_LINK_LAYER_ETHERNET;
    return {};
  }
  return sgl::error(SGLCOLL_ERR_UNSUPPORTED, "no active port");
}

// Over Ethernet an address is a GID; the one of an IPv4 address is routable.
Status Device::find_gid() {
  if (!ethernet_) return {};
  std::array<ibv_gid_entry, 64> entries{};
  const ssize_t count = ibv_query_gid_table(context_.get(), entries.data(), entries.size(), 0);
  for (ssize_t i = 0; i < count; i++) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    if (entry.port_num != static_cast<uint32_t>(port_)) continue;
    if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    const auto* raw = reinterpret_cast<const in6_addr*>(entry.gid.raw);
    if (gid_index_ < 0 || IN6_IS_ADDR_V4MAPPED(raw)) gid_index_ = static_cast<int>(entry.gid_index);
    if (IN6_IS_ADDR_V4MAPPED(raw)) break;
  }
  if (gid_index_ >= 0) return {};
  return sgl::error(SGLCOLL_ERR_UNSUPPORTED,
                    "{} has no RoCE v2 address (GID); has its port an IP address?",
                    ibv_get_device_name(context_->device));
}

Result<Endpoint> Endpoint::open(const Device& device, const QueueSizes& sizes) {
  Endpoint endpoint;
  ibv_context* context = device.context();
  endpoint.sends_.reset(
      ibv_create_cq(context, static_cast<int>(sizes.send_wrs) + 1, nullptr, nullptr, 0));
  endpoint.receives_.reset(
      ibv_create_cq(context, static_cast<int>(sizes.receive_wrs) + 1, nullptr, nullptr, 0));
  if (!endpoint.sends_ || !endpoint.receives_) return verbs_error("ibv_create_cq", errno);
  ibv_qp_init_attr init = init_attributes(sizes, endpoint.sends_.get(), endpoint.receives_.get());
  endpoint.own_.reset(ibv_create_qp(device.domain(), &init));
  if (!endpoint.own_) return verbs_error("ibv_create_qp", errno);
  endpoint.qp_ = endpoint.own_.get();
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = static_cast<uint8_t>(device.port_);
  attributes.qp_access_flags = kAllAccess;
  const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (int number = ibv_modify_qp(endpoint.qp_, &attributes, mask)) {
    return verbs_error("ibv_modify_qp to INIT", number);
  }
  return endpoint;
}

Endpoint Endpoint::adopt(ibv_qp* qp) {
  Endpoint endpoint;
  endpoint.qp_ = qp;
  return endpoint;
}

Card Endpoint::card(const Device& device) const {
  Card card;
  card.qp_number = qp_->qp_num;
  card.lid = device.lid_;
  ibv_gid gid{};
  if (device.has_gid() && ibv_query_gid(device.context(), static_cast<uint8_t>(device.port_),
                                        device.gid_index_, &gid) == 0) {
    std::memcpy(card.gid.data(), gid.raw, card.gid.size());
  }
  return card;
}

Status Endpoint::connect(const Device& device, const Card& peer) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = device.mtu_;
  receive.dest_qp_num = peer.qp_number;
  receive.rq_psn = kFirstPacket;
  receive.max_dest_rd_atomic = kReadsInFlight;
  receive.min_rnr_timer = 12;
  receive.ah_attr.port_num = static_cast<uint8_t>(device.port_);
  receive.ah_attr.dlid = static_cast<uint16_t>(peer.lid);
  if (device.has_gid()) {
    receive.ah_attr.is_global = 1;
    receive.ah_attr.grh.hop_limit = 64;
    receive.ah_attr.grh.sgid_index = static_cast<uint8_t>(device.gid_index_);
    std::memcpy(receive.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
  }
  if (int number =
          ibv_modify_qp(qp_, &receive,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
    return verbs_error("ibv_modify_qp to RTR", number);
  }
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = 18;
  send.retry_cnt = 7;
  send.rnr_retry = 7;
  send.sq_psn = kFirstPacket;
  send.max_rd_atomic = kReadsInFlight;
  if (int number = ibv_modify_qp(qp_, &send,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)) {
    return verbs_error("ibv_modify_qp to RTS", number);
  }
  return {};
}

Status Endpoint::post(ibv_send_wr* first) {
  ibv_send_wr* refused = nullptr;
  if (int number = ibv_post_send(qp_, first, &refused)) return verbs_error("ibv_post_send", number);
  return {};
}

Status Endpoint::receive(ibv_recv_wr* first) {
  ibv_recv_wr* refused = nullptr;
  if (int number = ibv_post_recv(qp_, first, &refused)) return verbs_error("ibv_post_recv", number);
  return {};
}

Status Endpoint::await(ibv_cq* queue, int count, const char* what) {
  const int64_t deadline = sgl::now_ns() + kPatience_ns;
  std::array<ibv_wc, 16> entries;
  while (count > 0) {
    const int found = ibv_poll_cq(
        queue, static_cast<int>(std::min<size_t>(entries.size(), static_cast<size_t>(count))),
        entries.data());
    if (found < 0) return verbs_error("ibv_poll_cq", errno);
    for (int i = 0; i < found; i++) {
      const ibv_wc& entry = entries[static_cast<size_t>(i)];
      if (entry.status == IBV_WC_SUCCESS) continue;
      return sgl::error(SGLCOLL_ERR_SYSTEM, "a {} failed: {}", what,
                        ibv_wc_status_str(entry.status));
    }
    count -= found;
    if (found == 0 && sgl::now_ns() > deadline) {
      return sgl::error(SGLCOLL_ERR_SYSTEM, "{} {}s did not complete in 20 s", count, what);
    }
  }
  return {};
}

Status connect_pair(const Device& device, Endpoint& one, Endpoint& other) {
  SGL_TRY(one.connect(device, other.card(device)));
  return other.connect(device, one.card(device));
}

}  // namespace sge_sweep
