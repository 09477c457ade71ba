// Whether one process may read another's memory, tried between siblings as ranks are.
#pragma once

namespace sgl::info {

// 0 when a child of this process could read its sibling's memory by
// process_vm_readv, else the errno.
int probe_sibling_read();

}  // namespace sgl::info
