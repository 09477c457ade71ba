#include "transport/verbs/module.hpp"

#include "base/log.hpp"
#include "transport/verbs/cm_wireup.hpp"
#include "transport/verbs/device.hpp"

namespace {

sgl::Result<sgl::RcDevices> open(const sgl::VerbsWishes& wishes, int rank) {
  auto rails = sgl::VerbsDevice::open(wishes, rank);
  if (!rails.ok()) return std::move(rails.status());
  sgl::RcDevices devices{rails.take(), nullptr, "its port has no IPv4 address"};
  const auto& first = static_cast<const sgl::VerbsDevice&>(*devices.rails.front());
  if (!first.internet_address() || !wishes.connect_by_cm) return devices;
  auto wireup = sgl::CmWireup::open(*first.internet_address());
  if (wireup.ok())
    devices.wireup = wireup.take();
  else
    devices.why_no_wireup = wireup.status().text();
  return devices;
}

sgl::Result<sgl::PortChoices> choose(const sgl::VerbsWishes& wishes) {
  auto ports = sgl::discover_ports();
  if (!ports.ok()) return std::move(ports.status());
  return sgl::choose_ports(ports.value(), wishes);
}

const sgl::VerbsModule kModule{sgl::kVerbsModuleVersion, open, choose};

}  // namespace

extern "C" __attribute__((visibility("default"))) const sgl::VerbsModule* sglcoll_verbs_module() {
  return &kModule;
}
