#include "boot/node_identity.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace sgl {
namespace {

// Compared and sent as bytes, so without padding and zeroed before it is filled.
struct Identity {
  char host[64];
  char kernel_boot[40];  // differs between machines that share a host name
  uint64_t process_namespace;
  uint64_t network_namespace;
};
static_assert(sizeof(Identity) == 120);

// 0 where /proc is not to be had: such ranks then compare by host and boot alone.
uint64_t namespace_id(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 ? info.st_ino : 0;
}

Identity my_identity() {
  Identity identity;
  memset(&identity, 0, sizeof identity);
  gethostname(identity.host, sizeof identity.host - 1);
  if (FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    size_t length = std::fread(identity.kernel_boot, 1, sizeof identity.kernel_boot - 1, file);
    static_cast<void>(length);  // shorter than 36 still compares
    std::fclose(file);
  }
  identity.process_namespace = namespace_id("/proc/self/ns/pid");
  identity.network_namespace = namespace_id("/proc/self/ns/net");
  return identity;
}

}  // namespace

Result<std::vector<int>> ranks_on_my_node(Boot& boot) {
  Identity mine = my_identity();
  std::vector<std::byte> all;
  SGL_TRY(boot.allgather(std::as_bytes(std::span(&mine, 1)), &all));
  std::vector<int> ranks;
  for (int rank = 0; rank < boot.size(); ++rank) {
    const std::byte* theirs = all.data() + static_cast<size_t>(rank) * sizeof mine;
    if (memcmp(theirs, &mine, sizeof mine) == 0) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace sgl
