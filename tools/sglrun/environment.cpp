#include "sglrun/environment.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

extern char** environ;

namespace sgl::run {
namespace {

constexpr std::string_view kOfAHost[] = {
    "HOSTNAME",        "HOST",           "SSH_CLIENT",        "SSH_CONNECTION",
    "SSH_TTY",         "SSH_AUTH_SOCK",  "DISPLAY",           "XAUTHORITY",
    "XDG_RUNTIME_DIR", "XDG_SESSION_ID", "XDG_SESSION_CLASS", "DBUS_SESSION_BUS_ADDRESS"};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool is_of_a_host(const std::string& variable) {
  return std::ranges::find(kOfAHost, name_of(variable)) != std::end(kOfAHost);
}

}  // namespace

Environment own_environment() {
  Environment all;
  for (char** variable = environ; *variable; ++variable) all.emplace_back(*variable);
  return all;
}

Environment merge(const Environment& base, const Environment& added) {
  std::unordered_map<std::string_view, size_t> last;
  for (size_t i = 0; i < added.size(); ++i) last[name_of(added[i])] = i;
  Environment all;
  for (const std::string& variable : base)
    if (!last.contains(name_of(variable))) all.push_back(variable);
  for (size_t i = 0; i < added.size(); ++i)
    if (last[name_of(added[i])] == i) all.push_back(added[i]);
  return all;
}

std::optional<std::string> value_in(const Environment& environment, std::string_view name) {
  for (const std::string& variable : environment)
    if (name_of(variable) == name && variable.size() > name.size())
      return variable.substr(name.size() + 1);
  return std::nullopt;
}

Environment without_outer_launcher(const Environment& environment) {
  Environment kept = environment;
  std::erase_if(kept, [](const std::string& variable) {
    return variable.starts_with("PMIX_") && !variable.starts_with("PMIX_MCA_");
  });
  return kept;
}

Environment on_this_host(const Environment& sent) {
  Environment kept = sent;
  std::erase_if(kept, is_of_a_host);
  for (std::string& variable : own_environment())
    if (is_of_a_host(variable)) kept.push_back(std::move(variable));
  return kept;
}

}  // namespace sgl::run
