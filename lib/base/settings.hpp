// The one table of environment variables that the library reads.
//
// Every variable is declared in settings.cpp with its default, its form and one
// line of help; `sglcoll-info --settings` prints the table. Code asks for a
// value by name through the functions below and nowhere calls getenv itself.
#pragma once

#include "base/status.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sgl {

// automatic: "auto" or a whole number, as of bytes or in hexadecimal (0x...).
enum class SettingKind { text, integer, bytes, boolean, choice, automatic };

struct Setting {
  const char* name;  // with the prefix SGLCOLL_
  SettingKind kind;
  const char* default_value;  // as a user would write it
  const char* choices;        // "a|b|c" for SettingKind::choice, else ""
  const char* help;
  int64_t least = 0, most = INT64_MAX;  // of a number
};

std::span<const Setting> all_settings();

// The value now in force as text, and whether the environment gave it. A name
// that is not in the table is a programming error (asserted).
std::string setting_text(std::string_view name);
bool setting_from_environment(std::string_view name);

// Typed access. A value that cannot be read was refused by check_settings() at
// init; without that check the default is returned.
int64_t setting_integer(std::string_view name);
int64_t setting_bytes(std::string_view name);  // "64K", "1M", "2G" and plain bytes
bool setting_boolean(std::string_view name);
std::optional<int64_t> setting_automatic(std::string_view name);  // none: "auto"

// "16", "64K", "1M", "2G" (powers of 1024); false when it is not of that form.
bool parse_bytes(std::string_view text, int64_t* bytes);

// Refuses a known variable whose value has the wrong form (its name, value and
// right forms are in the text) and returns one warning for each unknown
// SGLCOLL_* variable in the environment, with the nearest known name.
Status check_settings(std::vector<std::string>* warnings);

}  // namespace sgl
