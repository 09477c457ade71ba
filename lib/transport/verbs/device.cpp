// Setting a device up: port, queues, connections, memory.
#include "transport/verbs/device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <ifaddrs.h>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace sgl {
namespace {

// More segments than that no provider of note takes.
constexpr int kMostSges = 30;
constexpr int kMostReads = 16;  // outstanding on one QP
constexpr uint32_t kPacketSequenceBits = 0xffffff;
// 4.096 us * 2^16 = 0.27 s before a packet is sent again: a peer that is gone is noticed after
// some 2 s, and a busy one is not taken for gone. (7 retries, the most, are endless on rxe.)
constexpr uint8_t kTimeoutExponent = 16;
constexpr uint8_t kRetries = 6;
// The credits of the control channel keep receives posted: a message that meets none is
// sent again, counted by the device, and is a bug.
constexpr uint8_t kReceiverNotReadyRetries = 6;
constexpr uint8_t kReceiverNotReadyTimer = 12;  // 0.64 ms
constexpr uint8_t kHopLimit = 64;

ibv_mtu mtu_code(int bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && 128 << (code + 1) <= bytes) ++code;
  return static_cast<ibv_mtu>(code);
}

uint32_t draw_packet_sequence() {
  static std::random_device random;
  return random() & kPacketSequenceBits;
}

// Then a parent keeps its registered pages, and nothing has to be done. Else libibverbs hides
// them from children, which tears mappings apart.
bool kernel_copies_pinned_pages() {
  utsname kernel{};
  int version = 0, patch = 0;
  if (uname(&kernel) != 0 || sscanf(kernel.release, "%d.%d", &version, &patch) != 2) return false;
  return version > 5 || (version == 5 && patch >= 12);
}

// InfiniBand ports have one if IP over InfiniBand is set up.
std::optional<in_addr> address_of_interface(const std::string& device) {
  std::error_code failure;
  std::filesystem::directory_iterator interfaces(
      fmt::format("/sys/class/infiniband/{}/device/net", device), failure);
  if (failure) return std::nullopt;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(all, freeifaddrs);
  for (const auto& interface : interfaces)
    for (const ifaddrs* entry = all; entry; entry = entry->ifa_next)
      if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET &&
          interface.path().filename() == entry->ifa_name)
        return reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr;
  return std::nullopt;
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit);
}

}  // namespace

template <class Wr>
void RequestRing<Wr>::open(int requests, int sges) {
  wrs.resize(static_cast<size_t>(requests));
  slots.resize(wrs.size());
  list_length = static_cast<size_t>(sges);
  sge.resize(wrs.size() * list_length);
}

// ---- Port

Result<std::vector<std::unique_ptr<Device>>> VerbsDevice::open(const VerbsWishes& wishes,
                                                               int rank) {
  // Before the first region.
  static const int fork_failure = kernel_copies_pinned_pages() ? 0 : ibv_fork_init();
  if (fork_failure != 0)
    return error(SGLCOLL_ERR_SYSTEM, "rank {}: registered memory cannot be kept through a fork: {}",
                 rank, strerror(fork_failure));
  Result<std::vector<PortEntry>> ports = discover_ports();
  if (!ports.ok()) return std::move(ports.status());
  const PortChoices choices = choose_ports(ports.value(), wishes);
  SGL_TRY(check_any_taken(choices));
  std::vector<std::unique_ptr<Device>> devices;
  for (const PortChoice& choice : choices.taken) {
    std::unique_ptr<VerbsDevice> device(new VerbsDevice(rank, wishes));
    SGL_TRY(device->open_port(ports.value()[choice.entry], choice));
    devices.push_back(std::move(device));
  }
  return devices;
}

Status VerbsDevice::open_port(const PortEntry& port, const PortChoice& choice) {
  Result<OpenContext> context = open_context(port.device);
  if (!context.ok()) return std::move(context.status());
  context_ = context.take();
  port_ = port.port;
  link_ = port.link;
  lid_ = port.lid;
  choice_ = choice;
  mtu_bytes_ = std::min(port.mtu_bytes, wishes_.mtu_bytes.value_or(port.mtu_bytes));
  chosen_ = choice.why;

  ibv_device_attr device{};
  ibv_port_attr attributes{};
  if (ibv_query_device(context_.get(), &device) != 0 ||
      ibv_query_port(context_.get(), static_cast<uint8_t>(port_), &attributes) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "{} cannot be queried", chosen_);
  needs_gid_ = link_ == LinkLayer::ethernet || (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  const int most = wishes_.max_sge > 0 ? wishes_.max_sge : kMostSges;
  limits_.max_send_wr = device.max_qp_wr;
  limits_.max_recv_wr = device.max_qp_wr;
  limits_.max_send_sge = std::min(device.max_sge, most);
  limits_.max_recv_sge = limits_.max_send_sge;
  limits_.max_read_sge = std::min(device.max_sge_rd > 0 ? device.max_sge_rd : device.max_sge, most);
  limits_.max_cqe = device.max_cqe;
  limits_.max_message_bytes = attributes.max_msg_sz;
  max_reads_ =
      std::clamp(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom), 1, kMostReads);

  domain_.reset(ibv_alloc_pd(context_.get()));
  channel_.reset(ibv_create_comp_channel(context_.get()));
  if (!domain_ || !channel_)
    return error(SGLCOLL_ERR_SYSTEM, "{}: no protection domain or completion channel: {}", chosen_,
                 strerror(errno));
  for (int descriptor : {context_->async_fd, channel_->fd})
    if (fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) != 0)
      return error(SGLCOLL_ERR_SYSTEM, "{}: its events cannot be read: {}", chosen_,
                   strerror(errno));
  not_ready_before_ = read_not_ready();
  return {};
}

VerbsDevice::~VerbsDevice() {
  if (queue_ && unacknowledged_ > 0) ibv_ack_cq_events(queue_.get(), unacknowledged_);
}

std::string VerbsDevice::describe() const {
  return fmt::format("{}, packets of {} bytes, lists of {} segments", chosen_, mtu_bytes_,
                     limits_.max_send_sge);
}

std::optional<in_addr> VerbsDevice::internet_address() const {
  if (link_ == LinkLayer::ethernet) return ipv4_of(choice_.gid);
  return address_of_interface(ibv_get_device_name(context_->device));
}

// Counted by the port, if its driver has that counter.
uint64_t VerbsDevice::read_not_ready() const {
  uint64_t sum = 0;
  for (const char* name : {"rnr_nak_retry_err", "rcvd_rnr_err", "send_rnr_err"}) {
    std::ifstream file(fmt::format("/sys/class/infiniband/{}/ports/{}/hw_counters/{}",
                                   ibv_get_device_name(context_->device), port_, name));
    uint64_t value = 0;
    if (file >> value) sum += value;
  }
  return sum;
}

DeviceCounters VerbsDevice::counters() const {
  DeviceCounters counters = counters_;
  counters.receiver_not_ready = read_not_ready() - not_ready_before_;
  return counters;
}

// ---- Queues

Status VerbsDevice::open_completion_queue(int entries) {
  queue_.reset(ibv_create_cq(context_.get(), entries, nullptr, channel_.get(), 0));
  if (queue_) return {};
  return error(SGLCOLL_ERR_SYSTEM, "rank {}: a completion queue of {} entries cannot be made: {}",
               rank_, entries, strerror(errno));
}

VerbsDevice::Qp* VerbsDevice::find_qp(QpNumber number) {
  return number >= 1 && number <= qps_.size() ? &qps_[number - 1] : nullptr;
}

Status VerbsDevice::no_such_qp(QpNumber number) const {
  return error(SGLCOLL_ERR_ARG, "rank {}: QP {} is not of this device", rank_, number);
}

Result<QpNumber> VerbsDevice::create_qp(const QueueSizes& sizes) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = queue_.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = static_cast<uint32_t>(std::max(sizes.send_wr, 1));
  wanted.cap.max_recv_wr = static_cast<uint32_t>(std::max(sizes.recv_wr, 1));
  wanted.cap.max_send_sge = static_cast<uint32_t>(std::max(sizes.send_sge, 1));
  wanted.cap.max_recv_sge = static_cast<uint32_t>(std::max(sizes.recv_sge, 1));
  wanted.cap.max_inline_data = static_cast<uint32_t>(sizes.inline_bytes);
  ibv_qp_init_attr got = wanted;
  ibv_qp* made = ibv_create_qp(domain_.get(), &got);
  if (!made && sizes.inline_bytes > 0) {  // a device need not have that much
    wanted.cap.max_inline_data = 0;
    got = wanted;
    made = ibv_create_qp(domain_.get(), &got);
  }
  if (!made)
    return error(
        SGLCOLL_ERR_SYSTEM,
        "rank {}: a QP of {} sends of {} segments and {} receives of {} cannot be made: {}", rank_,
        sizes.send_wr, sizes.send_sge, sizes.recv_wr, sizes.recv_sge, strerror(errno));
  Qp& qp = qps_.emplace_back();
  qp.handle.reset(made);
  qp.packet_sequence = draw_packet_sequence();
  qp.inline_bytes = std::min(got.cap.max_inline_data, static_cast<uint32_t>(sizes.inline_bytes));
  qp.send_sge = std::max(sizes.send_sge, 1);
  qp.recv_sge = std::max(sizes.recv_sge, 1);
  qp.sends.open(std::max(sizes.send_wr, 1), qp.send_sge);
  qp.receives.open(std::max(sizes.recv_wr, 1), qp.recv_sge);
  by_hardware_number_[made->qp_num] = static_cast<QpNumber>(qps_.size());
  SGL_TRY(initialise(qp));
  return static_cast<QpNumber>(qps_.size());
}

Status VerbsDevice::initialise(Qp& qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = static_cast<uint16_t>(choice_.pkey_index);
  attributes.port_num = static_cast<uint8_t>(port_);
  attributes.qp_access_flags =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  const int failure =
      ibv_modify_qp(qp.handle.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (failure == 0) return {};
  return error(SGLCOLL_ERR_SYSTEM, "rank {}: {}: a QP cannot be initialised: {}", rank_, chosen_,
               strerror(failure));
}

// ---- Connections

QpAddress VerbsDevice::address(QpNumber number) const {
  const Qp& qp = qps_[number - 1];
  QpAddress address = port_address();
  address.qp = qp.handle->qp_num;
  address.packet_sequence = qp.packet_sequence;
  return address;
}

QpAddress VerbsDevice::port_address() const {
  QpAddress address;
  std::memcpy(address.gid, choice_.gid.gid.data(), sizeof address.gid);
  address.mtu_bytes = static_cast<uint32_t>(mtu_bytes_);
  address.lid = static_cast<uint16_t>(lid_);
  address.link = static_cast<uint8_t>(link_);
  address.max_reads = static_cast<uint8_t>(max_reads_);
  return address;
}

Status VerbsDevice::connect(QpNumber number, const QpAddress& peer) {
  Qp* qp = find_qp(number);
  if (!qp) return no_such_qp(number);
  if (peer.link != static_cast<uint8_t>(link_))
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "rank {} uses {} over {} and its peer a port over {}: choose ports of one network "
                 "with SGLCOLL_DEVICE and SGLCOLL_PORT",
                 rank_, chosen_, link_ == LinkLayer::ethernet ? "Ethernet" : "InfiniBand",
                 link_ == LinkLayer::ethernet ? "InfiniBand" : "Ethernet");
  SGL_TRY(make_ready_to_receive(*qp, peer));
  return make_ready_to_send(*qp, peer);
}

Status VerbsDevice::make_ready_to_receive(Qp& qp, const QpAddress& peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtu_code(std::min(mtu_bytes_, static_cast<int>(peer.mtu_bytes)));
  attributes.dest_qp_num = static_cast<uint32_t>(peer.qp);
  attributes.rq_psn = peer.packet_sequence;
  attributes.max_dest_rd_atomic = static_cast<uint8_t>(max_reads_);
  attributes.min_rnr_timer = kReceiverNotReadyTimer;
  ibv_ah_attr& path = attributes.ah_attr;
  path.dlid = peer.lid;
  path.sl = static_cast<uint8_t>(wishes_.service_level);
  path.port_num = static_cast<uint8_t>(port_);
  const bool other_subnet = std::memcmp(peer.gid, choice_.gid.gid.data(), sizeof peer.gid[0]) != 0;
  if (choice_.gid.index >= 0 && (needs_gid_ || other_subnet)) {
    path.is_global = 1;
    std::memcpy(path.grh.dgid.raw, peer.gid, sizeof peer.gid);
    path.grh.sgid_index = static_cast<uint8_t>(choice_.gid.index);
    path.grh.hop_limit = kHopLimit;
    path.grh.traffic_class = static_cast<uint8_t>(wishes_.traffic_class);
  }
  const int failure =
      ibv_modify_qp(qp.handle.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (failure == 0) return {};
  GidEntry theirs{0, choice_.gid.kind, {}};
  std::memcpy(theirs.gid.data(), peer.gid, sizeof peer.gid);
  return error(SGLCOLL_ERR_SYSTEM,
               "rank {}: {}: no connection can be made to LID {}, {}: {} (is that address "
               "reachable from this port? SGLCOLL_GID_INDEX chooses another of ours)",
               rank_, chosen_, peer.lid, gid_text(theirs), strerror(failure));
}

Status VerbsDevice::make_ready_to_send(Qp& qp, const QpAddress& peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = kTimeoutExponent;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kReceiverNotReadyRetries;
  attributes.sq_psn = qp.packet_sequence;
  attributes.max_rd_atomic = static_cast<uint8_t>(std::clamp<int>(peer.max_reads, 1, max_reads_));
  const int failure = ibv_modify_qp(qp.handle.get(), &attributes,
                                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                        IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (failure == 0) return {};
  return error(SGLCOLL_ERR_SYSTEM, "rank {}: {}: a QP cannot be made ready to send: {}", rank_,
               chosen_, strerror(failure));
}

// ---- Memory

uint64_t VerbsDevice::registered_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [key, region] : regions_) bytes += region.end - region.begin;
  return bytes;
}

Result<MemoryKeys> VerbsDevice::register_memory(std::byte* begin, int64_t bytes,
                                                RemoteAccess access) {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  if (access >= RemoteAccess::read) flags |= IBV_ACCESS_REMOTE_READ;
  if (access == RemoteAccess::read_write) flags |= IBV_ACCESS_REMOTE_WRITE;
  errno = 0;
  ibv_mr* made = ibv_reg_mr(domain_.get(), begin, static_cast<size_t>(bytes), flags);
  // Memory that may only be read is good for sending, until it may be written.
  bool may_be_kept = true;
  if (!made && access != RemoteAccess::read_write && (errno == EFAULT || errno == EACCES)) {
    may_be_kept = false;
    made = ibv_reg_mr(domain_.get(), begin, static_cast<size_t>(bytes),
                      flags & ~IBV_ACCESS_LOCAL_WRITE);
  }
  if (!made) {
    const int failure = errno;
    rlimit lock{};
    getrlimit(RLIMIT_MEMLOCK, &lock);
    return error(failure == ENOMEM ? SGLCOLL_ERR_NO_MEMORY : SGLCOLL_ERR_SYSTEM,
                 "rank {}: {} bytes at {} could not be registered: {}{}", rank_, bytes,
                 static_cast<void*>(begin), strerror(failure),
                 failure == ENOMEM
                     ? fmt::format("; {} bytes more than the {} of now must be locked, and "
                                   "RLIMIT_MEMLOCK is {}: raise it (ulimit -l unlimited, or "
                                   "/etc/security/limits.conf)",
                                   bytes, registered_bytes(), limit_text(lock.rlim_cur))
                     : "");
  }
  const MemoryKeys keys{made->lkey, made->rkey, may_be_kept};
  const auto address = reinterpret_cast<uint64_t>(begin);
  Region& region = regions_[made->lkey];
  region.handle.reset(made);
  region.begin = address;
  region.end = address + static_cast<uint64_t>(bytes);
  region.access = access;
  return keys;
}

void VerbsDevice::deregister_memory(const MemoryKeys& keys) {
  regions_.erase(keys.local);
}

template struct RequestRing<ibv_send_wr>;
template struct RequestRing<ibv_recv_wr>;

}  // namespace sgl
