// The variables of the ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgl::run {

using Environment = std::vector<std::string>;  // "NAME=VALUE"

Environment own_environment();

// `base` with the variables of `added` in place of its own of the same name; of several
// in `added` the last counts.
Environment merge(const Environment& base, const Environment& added);

std::optional<std::string> value_in(const Environment& environment, std::string_view name);

// Without what a launcher around this one told this process.
Environment without_outer_launcher(const Environment& environment);

// An environment that was sent here from another host, with this host's own of the
// variables that describe a host or a login on it (HOSTNAME, SSH_CONNECTION, ...).
Environment on_this_host(const Environment& sent);

}  // namespace sgl::run
