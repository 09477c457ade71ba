// Both sides of a measurement: two queue pairs of this process, or one here and one in
// another process that librdmacm connects with.
#pragma once

#include "perf/sge_sweep/cases.hpp"

#include <optional>

namespace sge_sweep {

// Where the passive side's memory is.
struct RemoteMemory {
  uint64_t strided = 0, flat = 0;
  uint32_t strided_rkey = 0, flat_rkey = 0;
  uint64_t store = 0;  // for the storage scenario
  uint32_t store_rkey = 0;
};

class Link {
 public:
  virtual ~Link() = default;
  virtual ibv_context* context() const = 0;
  virtual ibv_pd* domain() const = 0;
  virtual Endpoint& endpoint() = 0;
  virtual const Buffers& buffers() const = 0;
  virtual const RemoteMemory& remote() const = 0;
  virtual Target& target() = 0;
};

inline constexpr size_t kStoreSlotBytes = 64 + 4096;  // a command and a block
inline constexpr uint32_t kUsualBlocks = 16384, kMostBlocks = 1 << 20;

// The longest lists that the device takes, at most kMostSges.
Result<uint32_t> usable_sges(ibv_context* context);

Result<std::unique_ptr<Link>> open_loopback(const std::string& device, uint32_t blocks);
Result<std::unique_ptr<Link>> connect_to(const std::string& host, const std::string& port,
                                         uint32_t blocks);
// Serves one connection, until its other end closes it.
Status serve(const std::string& port, uint32_t blocks);

}  // namespace sge_sweep
