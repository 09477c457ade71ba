// MemoryTable: which memory of this rank its device knows.
#pragma once

#include "transport/rc/device.hpp"

#include <map>
#include <unordered_map>

namespace sgl {

// A local key for one batch; give it back when the batch is complete.
struct LocalMemory {
  MemoryKeys keys;
  bool temporary = false;  // registered for this batch
};

// Memory from allocate() is registered once; other memory for as long as it is exposed or
// in a batch. One thread at a time per object; the device must outlive it.
class MemoryTable {
 public:
  explicit MemoryTable(Device& device) : device_(device) {}
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // Zeroed and registered; null when the device or the system has no more.
  void* allocate(size_t bytes);
  bool deallocate(void* memory);

  Result<LocalMemory> use(std::byte* begin, std::byte* end);
  void done(const LocalMemory& memory);

  // Gives the remote key.
  Result<uint32_t> expose(std::byte* begin, std::byte* end, RemoteAccess access);
  void release(uint32_t remote_key);

 private:
  struct Block {
    size_t bytes;
    MemoryKeys keys;
  };
  const Block* find_block(std::byte* begin, std::byte* end) const;

  Device& device_;
  std::map<std::byte*, Block> blocks_;                // of allocate(), by address
  std::unordered_map<uint32_t, MemoryKeys> exposed_;  // by remote key; none of blocks_
};

}  // namespace sgl
