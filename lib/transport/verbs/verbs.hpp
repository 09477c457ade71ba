// The transport over RDMA devices: the RC transport on a device that the verbs component
// opens.
#pragma once

#include "transport/rc/rc_transport.hpp"
#include "transport/verbs/choice.hpp"

#include <memory>

namespace sgl {

// Loads the component, the first time, and opens a device. The error says what was looked
// at, be it that libibverbs is missing or that no port is active.
Result<RcDevices> open_verbs_devices(const VerbsWishes& wishes, int rank);

// The ports of this node, and which of them would be used.
Result<PortChoices> choose_verbs_ports(const VerbsWishes& wishes);

// The wishes that the settings express.
Result<VerbsWishes> verbs_wishes();

// Collective over all ranks: all succeed, or all fail, and those without a device say why.
Result<std::unique_ptr<Transport>> make_verbs_transport(const RcBootstrap& bootstrap);

}  // namespace sgl
