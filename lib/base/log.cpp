#include "base/log.hpp"

#include <array>
#include <atomic>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace sgl {
namespace {

struct LevelName {
  std::string_view name;
  LogLevel level;
  spdlog::level::level_enum spd;
};
constexpr std::array<LevelName, 5> kLevels{{{"error", LogLevel::error, spdlog::level::err},
                                            {"warn", LogLevel::warn, spdlog::level::warn},
                                            {"info", LogLevel::info, spdlog::level::info},
                                            {"debug", LogLevel::debug, spdlog::level::debug},
                                            {"trace", LogLevel::trace, spdlog::level::trace}}};

std::atomic<LogLevel> current_level{LogLevel::warn};
std::mutex prefix_mutex;
std::string prefix;

spdlog::logger& logger() {
  // Never destroyed: a thread may still log while the process exits.
  static auto* instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto* made = new spdlog::logger("sglcoll", std::move(sink));
    made->set_pattern("[sglcoll %L] %v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

}  // namespace

bool log_enabled(LogLevel level) {
  return level <= current_level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) {
  if (!log_enabled(level)) return;
  std::lock_guard lock(prefix_mutex);
  logger().log(kLevels[static_cast<size_t>(level)].spd, "{}{}{}", prefix,
               prefix.empty() ? "" : ": ", text);
}

void set_log_prefix(std::string text) {
  std::lock_guard lock(prefix_mutex);
  prefix = std::move(text);
}

bool set_log_level(std::string_view name) {
  for (const LevelName& entry : kLevels) {
    if (entry.name != name) continue;
    current_level.store(entry.level, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace sgl
