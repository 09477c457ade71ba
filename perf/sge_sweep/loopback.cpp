#include "perf/sge_sweep/link.hpp"

#include <algorithm>

namespace sge_sweep {

Result<uint32_t> usable_sges(ibv_context* context) {
  ibv_device_attr attributes{};
  if (int number = ibv_query_device(context, &attributes)) {
    return verbs_error("ibv_query_device", number);
  }
  return std::min(kMostSges, static_cast<uint32_t>(attributes.max_sge));
}

namespace {

class Loopback final : public Link {
 public:
  Loopback(Device device, Endpoint near, Endpoint far, Buffers near_buffers, Buffers far_buffers,
           Memory store)
      : device_(std::move(device)),
        near_buffers_(std::move(near_buffers)),
        far_buffers_(std::move(far_buffers)),
        store_(std::move(store)),
        near_(std::move(near)),
        far_(std::move(far)),
        target_(far_, far_buffers_) {
    remote_ = {.strided = reinterpret_cast<uint64_t>(far_buffers_.strided_memory.data()),
               .flat = reinterpret_cast<uint64_t>(far_buffers_.flat_memory.data()),
               .strided_rkey = far_buffers_.strided_memory.rkey(),
               .flat_rkey = far_buffers_.flat_memory.rkey(),
               .store = reinterpret_cast<uint64_t>(store_.data()),
               .store_rkey = store_.rkey()};
  }
  ibv_context* context() const override { return device_.context(); }
  ibv_pd* domain() const override { return device_.domain(); }
  Endpoint& endpoint() override { return near_; }
  const Buffers& buffers() const override { return near_buffers_; }
  const RemoteMemory& remote() const override { return remote_; }
  Target& target() override { return target_; }
  Status connect() { return connect_pair(device_, near_, far_); }

 private:
  Device device_;
  Buffers near_buffers_, far_buffers_;
  Memory store_;
  Endpoint near_, far_;
  LocalTarget target_;
  RemoteMemory remote_;
};

}  // namespace

Result<std::unique_ptr<Link>> open_loopback(const std::string& name, uint32_t blocks) {
  Result<Device> device = Device::open(name);
  if (!device.ok()) return std::move(device.status());
  Result<uint32_t> sges = usable_sges(device.value().context());
  if (!sges.ok()) return std::move(sges.status());
  QueueSizes sizes;
  sizes.receive_wrs = kMostReceives;
  sizes.send_sges = sizes.receive_sges = sges.value();
  ibv_pd* domain = device.value().domain();
  Result<Endpoint> near = Endpoint::open(device.value(), sizes);
  if (!near.ok()) return std::move(near.status());
  Result<Endpoint> far = Endpoint::open(device.value(), sizes);
  if (!far.ok()) return std::move(far.status());
  Result<Buffers> near_buffers = Buffers::make(domain), far_buffers = Buffers::make(domain);
  if (!near_buffers.ok()) return std::move(near_buffers.status());
  if (!far_buffers.ok()) return std::move(far_buffers.status());
  Result<Memory> store = Memory::make(domain, 2 * kStoreSlotBytes * blocks);
  if (!store.ok()) return std::move(store.status());
  auto link = std::make_unique<Loopback>(device.take(), near.take(), far.take(),
                                         near_buffers.take(), far_buffers.take(), store.take());
  SGL_TRY(link->connect());
  return std::unique_ptr<Link>(std::move(link));
}

}  // namespace sge_sweep
