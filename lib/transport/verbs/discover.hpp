// The ports of this node's RDMA devices.
#pragma once

#include "transport/verbs/choice.hpp"

#include <memory>

#include <infiniband/verbs.h>

namespace sgl {

struct ContextCloser {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using OpenContext = std::unique_ptr<ibv_context, ContextCloser>;

// Every port of every device; a device that cannot be opened gives one entry that says why.
// Fails when the kernel has no RDMA support at all.
Result<std::vector<PortEntry>> discover_ports();

Result<OpenContext> open_context(const std::string& device);

}  // namespace sgl
