#include "transport/rc/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sgl {

MemoryTable::~MemoryTable() {
  for (const auto& [address, block] : blocks_) {
    device_.deregister_memory(block.keys);
    if (block.owned) std::free(address);
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
  blocks_[memory] = {bytes, keys.value(), true};
  return memory;
}

bool MemoryTable::adopt(void* memory, size_t bytes) {
  auto* begin = static_cast<std::byte*>(memory);
  Result<MemoryKeys> keys =
      device_.register_memory(begin, static_cast<int64_t>(bytes), RemoteAccess::read_write);
  if (keys.ok()) blocks_[begin] = {bytes, keys.value(), false};
  return keys.ok();
}

bool MemoryTable::deallocate(void* memory) {
  auto found = blocks_.find(static_cast<std::byte*>(memory));
  if (found == blocks_.end()) return false;
  device_.deregister_memory(found->second.keys);
  if (found->second.owned) std::free(found->first);
  blocks_.erase(found);
  return true;
}

const MemoryTable::Block* MemoryTable::find_block(std::byte* begin, std::byte* end) const {
  auto after = blocks_.upper_bound(begin);
  if (after == blocks_.begin()) return nullptr;
  const auto& [address, block] = *std::prev(after);
  return end <= address + block.bytes ? &block : nullptr;
}

Status MemoryTable::keep(std::byte* begin, std::byte* end) {
  Result<RegistrationCache::Entry*> entry = cache_.acquire(begin, end, RemoteAccess::read_write);
  if (!entry.ok()) entry = cache_.acquire(begin, end, RemoteAccess::read);  // may be constant
  if (!entry.ok()) return std::move(entry.status());
  kept_[begin] = entry.value();
  return {};
}

void MemoryTable::forget(std::byte* begin) {
  auto found = kept_.find(begin);
  if (found == kept_.end()) return;
  cache_.release(found->second);
  kept_.erase(found);
}

Result<LocalMemory> MemoryTable::use(std::byte* begin, std::byte* end) {
  if (!blocks_.empty())
    if (const Block* block = find_block(begin, end)) return LocalMemory{block->keys, nullptr};
  Result<RegistrationCache::Entry*> entry = cache_.acquire(begin, end, RemoteAccess::none);
  if (!entry.ok()) return std::move(entry.status());
  return LocalMemory{entry.value()->keys, entry.value()};
}

void MemoryTable::done(const LocalMemory& memory) {
  if (memory.entry) cache_.release(memory.entry);
}

Result<uint32_t> MemoryTable::expose(std::byte* begin, std::byte* end, RemoteAccess access) {
  if (const Block* block = find_block(begin, end)) return block->keys.remote;
  Result<RegistrationCache::Entry*> entry = cache_.acquire(begin, end, access);
  if (!entry.ok()) return std::move(entry.status());
  const uint32_t key = entry.value()->keys.remote;
  auto found = std::ranges::find(exposed_, key, &Exposed::remote_key);
  if (found == exposed_.end())
    exposed_.push_back({key, entry.value(), 1});
  else
    ++found->times;
  return key;
}

void MemoryTable::release(uint32_t remote_key) {
  auto found = std::ranges::find(exposed_, remote_key, &Exposed::remote_key);
  if (found == exposed_.end()) return;
  cache_.release(found->entry);
  if (--found->times > 0) return;
  *found = exposed_.back();
  exposed_.pop_back();
}

}  // namespace sgl
