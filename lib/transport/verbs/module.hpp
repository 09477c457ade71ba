// What the verbs component gives to the library that loads it. The component is a file of
// its own, since it needs libibverbs, which not every node has.
#pragma once

#include "transport/rc/rc_transport.hpp"
#include "transport/verbs/choice.hpp"

#include <memory>

namespace sgl {

// Both sides are of one build of the library: the loader compares `version` and refuses
// another.
struct VerbsModule {
  uint64_t version;
  Result<RcDevices> (*open)(const VerbsWishes& wishes, int rank);
  // The ports of this node, and which of them the wishes lead to.
  Result<PortChoices> (*choose)(const VerbsWishes& wishes);
};

inline constexpr uint64_t kVerbsModuleVersion =
    (SGLCOLL_VERSION_MAJOR * 1'000'000ull + SGLCOLL_VERSION_MINOR * 1'000ull +
     SGLCOLL_VERSION_PATCH)
        << 32 |
    sizeof(QpAddress) << 16 | sizeof(DeviceLimits) << 8 | sizeof(VerbsWishes);

inline constexpr char kVerbsModuleEntry[] = "sglcoll_verbs_module";
using VerbsModuleEntry = const VerbsModule* (*)();

}  // namespace sgl
