// Starting a persistent request again: what it costs beside the transfer.
#pragma once

#include <sglcoll/sglcoll.h>

#include <functional>

namespace sgl::test {

// Collective over the ranks of `world`, each in a thread of its own that runs nothing else:
// runs persistent requests of several collectives and layouts again and again, and expects
// that this allocates nothing, plans nothing and registers nothing. meet(): the ranks meet
// without the library.
void check_starting_again(sglcoll_comm world, const std::function<void()>& meet);

}  // namespace sgl::test
