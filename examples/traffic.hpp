// What a call moved, in words, from the library's counters before and after it.
#pragma once

#include <sglcoll/sglcoll.h>

#include <string>

#include <fmt/format.h>

namespace examples {

// Packed is what the library copied into buffers of its own to send it from there.
inline std::string traffic_between(const sglcoll_counters& before, const sglcoll_counters& after) {
  const auto received = static_cast<double>(after.bytes_received - before.bytes_received);
  const auto packed = static_cast<double>(after.bytes_packed - before.bytes_packed);
  return fmt::format("{:.1f} MB received, {}", received / 1e6,
                     packed > 0 ? fmt::format("{:.3f} MB packed", packed / 1e6) : "nothing packed");
}

}  // namespace examples
