#include "transport/rc/memory.hpp"

#include <cstdlib>
#include <cstring>

namespace sgl {

MemoryTable::~MemoryTable() {
  for (const auto& [key, keys] : exposed_) device_.deregister_memory(keys);
  for (const auto& [address, block] : blocks_) {
    device_.deregister_memory(block.keys);
    std::free(address);
  }
}

void* MemoryTable::allocate(size_t bytes) {
  constexpr size_t kAlignment = 64;
  if (bytes == 0 || bytes > PTRDIFF_MAX - kAlignment) return nullptr;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
  if (!memory) return nullptr;
  Result<MemoryKeys> keys =
      device_.register_memory(memory, static_cast<int64_t>(bytes), RemoteAccess::read_write);
  if (!keys.ok()) {
    std::free(memory);
    return nullptr;
  }
  std::memset(memory, 0, bytes);
  blocks_[memory] = {bytes, keys.value()};
  return memory;
}

bool MemoryTable::deallocate(void* memory) {
  auto found = blocks_.find(static_cast<std::byte*>(memory));
  if (found == blocks_.end()) return false;
  device_.deregister_memory(found->second.keys);
  std::free(found->first);
  blocks_.erase(found);
  return true;
}

const MemoryTable::Block* MemoryTable::find_block(std::byte* begin, std::byte* end) const {
  auto after = blocks_.upper_bound(begin);
  if (after == blocks_.begin()) return nullptr;
  const auto& [address, block] = *std::prev(after);
  return end <= address + block.bytes ? &block : nullptr;
}

Result<LocalMemory> MemoryTable::use(std::byte* begin, std::byte* end) {
  if (const Block* block = find_block(begin, end)) return LocalMemory{block->keys, false};
  Result<MemoryKeys> keys = device_.register_memory(begin, end - begin, RemoteAccess::none);
  if (!keys.ok()) return std::move(keys.status());
  return LocalMemory{keys.value(), true};
}

void MemoryTable::done(const LocalMemory& memory) {
  if (memory.temporary) device_.deregister_memory(memory.keys);
}

Result<uint32_t> MemoryTable::expose(std::byte* begin, std::byte* end, RemoteAccess access) {
  if (const Block* block = find_block(begin, end)) return block->keys.remote;
  Result<MemoryKeys> keys = device_.register_memory(begin, end - begin, access);
  if (!keys.ok()) return std::move(keys.status());
  exposed_[keys.value().remote] = keys.value();
  return keys.value().remote;
}

void MemoryTable::release(uint32_t remote_key) {
  auto found = exposed_.find(remote_key);
  if (found == exposed_.end()) return;
  device_.deregister_memory(found->second);
  exposed_.erase(found);
}

}  // namespace sgl
