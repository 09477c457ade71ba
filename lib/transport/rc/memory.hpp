// MemoryTable: which memory of this rank its device knows.
#pragma once

#include "transport/rc/registration_cache.hpp"

#include <map>
#include <unordered_map>

namespace sgl {

// A local key for a range; give it back when nothing uses it any more.
struct LocalMemory {
  MemoryKeys keys;
  RegistrationCache::Entry* entry = nullptr;  // none: of allocate()
};

// Memory from allocate() and from keep() is registered once; other memory when it is used,
// and then as long as the cache keeps it. One thread at a time per object; the device must
// outlive it.
class MemoryTable {
 public:
  MemoryTable(Device& device, int64_t cache_bytes) : device_(device), cache_(device, cache_bytes) {}
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // Zeroed and registered; null when the device or the system has no more.
  void* allocate(size_t bytes);
  // Registers memory that another table has allocated; false when the device has no more.
  bool adopt(void* memory, size_t bytes);
  // False: of neither.
  bool deallocate(void* memory);

  // Registers a user's memory until forget(). Once for each begin.
  Status keep(std::byte* begin, std::byte* end);
  void forget(std::byte* begin);

  Result<LocalMemory> use(std::byte* begin, std::byte* end);
  void done(const LocalMemory& memory);

  // Gives the remote key.
  Result<uint32_t> expose(std::byte* begin, std::byte* end, RemoteAccess access);
  void release(uint32_t remote_key);

  const RegistrationCache& cache() const { return cache_; }

 private:
  struct Block {
    size_t bytes;
    MemoryKeys keys;
    bool owned;
  };
  struct Exposed {
    uint32_t remote_key;
    RegistrationCache::Entry* entry;
    int times;
  };
  const Block* find_block(std::byte* begin, std::byte* end) const;

  Device& device_;
  RegistrationCache cache_;
  std::map<std::byte*, Block> blocks_;  // of allocate(), by address
  std::vector<Exposed> exposed_;        // none of blocks_
  std::unordered_map<std::byte*, RegistrationCache::Entry*> kept_;
};

}  // namespace sgl
