// The processes below this one.
#pragma once

namespace sgl::run {

// Makes orphaned descendants children of this process, so that none is lost.
void adopt_orphans();

// Kills and reaps all descendants, those that changed their session or process
// group included. Needs adopt_orphans(). Returns when none is left.
void kill_all_descendants();

}  // namespace sgl::run
