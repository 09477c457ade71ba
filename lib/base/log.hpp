// Log lines on standard error, through spdlog. The level comes from
// SGLCOLL_LOG_LEVEL (error, warn, info, debug, trace; default warn).
//
// Rules: nothing is logged on a hot path above `trace`, and a line that costs
// work to format is guarded by enabled(); a message names the rank and the
// remedy where there is one.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sgl {

enum class LogLevel { error, warn, info, debug, trace };

bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);
// The prefix of every later line of this process, e.g. "rank 3".
void set_log_prefix(std::string prefix);
// Takes a level by name; false when there is no such level.
bool set_log_level(std::string_view name);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sgl
