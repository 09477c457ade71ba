#include "transport/verbs/module.hpp"

#include "transport/verbs/device.hpp"

namespace {

const sgl::VerbsModule kModule{sgl::kVerbsModuleVersion, sgl::VerbsDevice::open};

}  // namespace

extern "C" __attribute__((visibility("default"))) const sgl::VerbsModule* sglcoll_verbs_module() {
  return &kModule;
}
