// The private directory of a job, for the PMIx server's files.
#pragma once

#include "base/status.hpp"

#include <string>

namespace sgl::run {

// Makes a new directory that only this user may enter, in $TMPDIR or /tmp.
Result<std::string> make_scratch_dir();

// Removes it with all that is in it. Does nothing when it is gone.
void remove_scratch_dir(const std::string& path);

}  // namespace sgl::run
