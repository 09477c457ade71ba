// The check of an option that takes seconds.
#pragma once

#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace sgl {

// A number of seconds. CLI11's own ranges take nan, and print their ends with 300 digits.
inline CLI::Validator seconds_between(double least, double most) {
  auto check = [least, most](const std::string& text) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && seconds >= least && seconds <= most) return std::string();
    return fmt::format("{} is not a number of seconds from {} to {}", text, least, most);
  };
  return {check, "SECONDS"};
}

}  // namespace sgl
