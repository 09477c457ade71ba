#include "transport/verbs/discover.hpp"

#include "base/processors.hpp"
#include "transport/verbs/locality.hpp"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>

namespace sgl {
namespace {

struct ListFreer {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};
using DeviceList = std::unique_ptr<ibv_device*[], ListFreer>;

int64_t lane_megabits(uint8_t speed) {
  switch (speed) {
    case 1:
      return 2500;
    case 2:
      return 5000;
    case 4:
    case 8:
      return 10000;
    case 16:
      return 14000;
    case 32:
      return 25000;
    case 64:
      return 50000;
    case 128:
      return 100000;
    default:
      return 0;
  }
}

int lane_count(uint8_t width) {
  switch (width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 1;
  }
}

LinkLayer link_of(const ibv_port_attr& port, const ibv_device& device) {
  if (device.transport_type != IBV_TRANSPORT_IB) return LinkLayer::other;
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) return LinkLayer::ethernet;
  return LinkLayer::infiniband;  // unspecified: of old kernels, which had no other
}

GidKind kind_of(uint32_t type) {
  switch (type) {
    case IBV_GID_TYPE_ROCE_V1:
      return GidKind::roce_v1;
    case IBV_GID_TYPE_ROCE_V2:
      return GidKind::roce_v2;
    default:
      return GidKind::infiniband;
  }
}

void add_gids(ibv_context* context, const ibv_port_attr& port, PortEntry* entry) {
  for (int index = 0; index < port.gid_tbl_len; ++index) {
    ibv_gid_entry found{};
    if (ibv_query_gid_ex(context, static_cast<uint32_t>(entry->port), static_cast<uint32_t>(index),
                         &found, 0) != 0)
      continue;
    GidEntry gid{index, kind_of(found.gid_type), {}};
    std::memcpy(gid.gid.data(), found.gid.raw, gid.gid.size());
    if (gid.gid == Gid{}) continue;
    entry->gids.push_back(gid);
  }
}

void add_pkeys(ibv_context* context, const ibv_port_attr& port, PortEntry* entry) {
  for (int index = 0; index < port.pkey_tbl_len; ++index) {
    __be16 key = 0;
    if (ibv_query_pkey(context, static_cast<uint8_t>(entry->port), index, &key) != 0) key = 0;
    entry->pkeys.push_back(ntohs(key));
  }
}

PortEntry examine(ibv_context* context, int number) {
  PortEntry entry;
  entry.device = ibv_get_device_name(context->device);
  entry.port = number;
  entry.distance = distance_to_device("/sys", entry.device, allowed_processors());
  ibv_port_attr port{};
  if (int failure = ibv_query_port(context, static_cast<uint8_t>(number), &port); failure != 0) {
    entry.unusable = fmt::format("it cannot be queried: {}", strerror(failure));
    return entry;
  }
  entry.active = port.state == IBV_PORT_ACTIVE;
  entry.state = ibv_port_state_str(port.state);
  entry.link = link_of(port, *context->device);
  entry.lid = port.lid;
  entry.mtu_bytes = 128 << port.active_mtu;
  entry.megabits = lane_megabits(port.active_speed) * lane_count(port.active_width);
  add_gids(context, port, &entry);
  add_pkeys(context, port, &entry);
  return entry;
}

PortEntry unusable_device(const std::string& device, std::string why) {
  PortEntry entry;
  entry.device = device;
  entry.unusable = std::move(why);
  return entry;
}

Result<OpenContext> open_device(ibv_device* device) {
  errno = 0;
  OpenContext context(ibv_open_device(device));
  if (context) return context;
  return error(SGLCOLL_ERR_SYSTEM,
               "it cannot be opened: {} (is /dev/infiniband/uverbs* there and readable?)",
               strerror(errno));
}

Result<DeviceList> list_devices(int* count) {
  errno = 0;
  DeviceList list(ibv_get_device_list(count));
  if (list) return list;
  return error(
      SGLCOLL_ERR_UNSUPPORTED,
      "no RDMA device can be used: the kernel has no RDMA support loaded ({}); for soft-RoCE "
      "load rdma_rxe and ib_uverbs",
      strerror(errno));
}

}  // namespace

Result<std::vector<PortEntry>> discover_ports() {
  int count = 0;
  Result<DeviceList> devices = list_devices(&count);
  if (!devices.ok()) return std::move(devices.status());
  std::vector<PortEntry> ports;
  for (int i = 0; i < count; ++i) {
    ibv_device* device = devices.value()[static_cast<size_t>(i)];
    const std::string name = ibv_get_device_name(device);
    Result<OpenContext> context = open_device(device);
    ibv_device_attr attributes{};
    if (!context.ok())
      ports.push_back(unusable_device(name, context.status().text()));
    else if (int failure = ibv_query_device(context.value().get(), &attributes); failure != 0)
      ports.push_back(
          unusable_device(name, fmt::format("it cannot be queried: {}", strerror(failure))));
    else
      for (int port = 1; port <= attributes.phys_port_cnt; ++port)
        ports.push_back(examine(context.value().get(), port));
  }
  return ports;
}

Result<OpenContext> open_context(const std::string& device) {
  int count = 0;
  Result<DeviceList> devices = list_devices(&count);
  if (!devices.ok()) return std::move(devices.status());
  for (int i = 0; i < count; ++i) {
    ibv_device* candidate = devices.value()[static_cast<size_t>(i)];
    if (ibv_get_device_name(candidate) == device) return open_device(candidate);
  }
  return error(SGLCOLL_ERR_SYSTEM, "the device {} has gone", device);
}

}  // namespace sgl
