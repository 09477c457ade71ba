#include "boot/boot.hpp"

#include <cstdlib>

namespace sgl {

// The two variables are PMIx's own protocol between launcher and client, not
// settings of this library, so they are not in the table of base/settings.cpp.
Result<std::unique_ptr<Boot>> boot_auto(const sglcoll_exchange* exchange) {
  if (exchange) return boot_exchange(*exchange);
  if (std::getenv("PMIX_NAMESPACE") && std::getenv("PMIX_RANK")) return boot_pmix();
  return boot_single();
}

}  // namespace sgl
