#include "tune/case.hpp"

#include <charconv>
#include <sstream>

namespace sgl::tune {
namespace {

std::optional<int64_t> number_of(const std::string& text) {
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string text_of(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& one : cases) {
    if (!text.empty()) text += ',';
    text += one.what + '/' + std::to_string(one.bytes) + '/' + std::to_string(one.run_bytes) +
            (one.shared ? "/shared" : "/private");
  }
  return text;
}

std::optional<std::vector<Case>> cases_of(const std::string& text) {
  std::vector<Case> cases;
  std::istringstream list(text);
  for (std::string entry; std::getline(list, entry, ',');) {
    std::istringstream parts(entry);
    Case one;
    std::string bytes, run, memory;
    std::getline(parts, one.what, '/');
    std::getline(parts, bytes, '/');
    std::getline(parts, run, '/');
    std::getline(parts, memory, '/');
    const auto bytes_read = number_of(bytes), run_read = number_of(run);
    if (!bytes_read || !run_read || (memory != "shared" && memory != "private"))
      return std::nullopt;
    one.bytes = *bytes_read;
    one.run_bytes = *run_read;
    one.shared = memory == "shared";
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace sgl::tune
