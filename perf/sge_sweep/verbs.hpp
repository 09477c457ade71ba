// The little of libibverbs that the sweep needs: an opened device, registered memory
// and RC queue pairs, each freed by its destructor.
#pragma once

#include "base/status.hpp"
#include "sgl/calibration.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace sge_sweep {

using sgl::Result;
using sgl::Status;

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using Context = std::unique_ptr<ibv_context, Freer<ibv_close_device>>;
using Domain = std::unique_ptr<ibv_pd, Freer<ibv_dealloc_pd>>;
using Queue = std::unique_ptr<ibv_cq, Freer<ibv_destroy_cq>>;
using Region = std::unique_ptr<ibv_mr, Freer<ibv_dereg_mr>>;
using QueuePair = std::unique_ptr<ibv_qp, Freer<ibv_destroy_qp>>;

// A failure of libibverbs: `what` failed, errno says why.
Status verbs_error(const char* what, int number);

// "firmware 1.2, vendor 0x2c9" and so on, as a calibration is stamped.
Result<sgl::DeviceStamp> stamp_of(ibv_context* context);

// Page-aligned memory, zeroed, registered for all accesses.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> make(ibv_pd* domain, size_t bytes);
  std::byte* data() const { return data_.get(); }
  size_t size() const { return bytes_; }
  uint32_t lkey() const { return region_->lkey; }
  uint32_t rkey() const { return region_->rkey; }

 private:
  struct Unmapper {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Unmapper> data_;
  size_t bytes_ = 0;
  Region region_;
};
Result<Region> register_memory(ibv_pd* domain, std::byte* begin, size_t bytes);

// Lengths of the queues and lists of one queue pair.
struct QueueSizes {
  uint32_t send_wrs = 256, receive_wrs = 256;
  uint32_t send_sges = 1, receive_sges = 1;
};

// What a peer must know to connect.
struct Card {
  std::array<uint8_t, 16> gid{};
  uint32_t qp_number = 0;
  uint32_t lid = 0;
};

// A port of a device by name ("": the first with an active port), one domain.
class Device {
 public:
  static Result<Device> open(const std::string& name);
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  int max_sge() const { return max_sge_; }
  bool has_gid() const { return gid_index_ >= 0; }

 private:
  friend class Endpoint;
  Status find_port();
  Status find_gid();
  Context context_;
  Domain domain_;
  int port_ = 0, gid_index_ = -1, max_sge_ = 0;
  ibv_mtu mtu_ = IBV_MTU_1024;
  bool ethernet_ = false;
  uint32_t lid_ = 0;
};

// A connected RC queue pair with a completion queue for each direction. The pair is
// its own, or, when a connection manager made it, somebody else's.
class Endpoint {
 public:
  static Result<Endpoint> open(const Device& device, const QueueSizes& sizes);
  static Endpoint adopt(ibv_qp* qp);
  Card card(const Device& device) const;
  Status connect(const Device& device, const Card& peer);

  Status post(ibv_send_wr* first);     // a chain, one doorbell
  Status receive(ibv_recv_wr* first);  // a chain
  // Poll until `count` completions came or something failed or 20 s passed.
  Status await_sends(int count) { return await(qp_->send_cq, count, "send"); }
  Status await_receives(int count) { return await(qp_->recv_cq, count, "receive"); }

 private:
  static Status await(ibv_cq* queue, int count, const char* what);
  Queue sends_, receives_;
  QueuePair own_;
  ibv_qp* qp_ = nullptr;
};

// Two endpoints of one device, connected with each other.
Status connect_pair(const Device& device, Endpoint& one, Endpoint& other);

}  // namespace sge_sweep
