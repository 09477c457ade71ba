#include "transport/rc/registration_cache.hpp"

#include <algorithm>

#include <unistd.h>

namespace sgl {
namespace {

bool covers(const RegistrationCache::Entry& entry, const AddressRange& range) {
  return entry.begin <= range.begin && range.end <= entry.end;
}

}  // namespace

RegistrationCache::RegistrationCache(Device& device, int64_t budget_bytes)
    : device_(device),
      budget_bytes_(budget_bytes),
      page_bytes_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {
  if (budget_bytes_ == 0) {
    why_off_ = "its budget is 0 bytes";
  } else if (Status hooks = install_memory_hooks(); !hooks.ok()) {
    budget_bytes_ = 0;
    why_off_ = hooks.text();
  }
}

RegistrationCache::~RegistrationCache() {
  for (Entry& entry : entries_) device_.deregister_memory(entry.keys);
}

std::string RegistrationCache::describe() const {
  if (budget_bytes_ == 0) return "off: " + why_off_;
  return fmt::format("{} bytes", budget_bytes_);
}

Result<RegistrationCache::Entry*> RegistrationCache::acquire(std::byte* begin, std::byte* end,
                                                             RemoteAccess access) {
  AddressRange range{reinterpret_cast<uint64_t>(begin), reinterpret_cast<uint64_t>(end)};
  if (reader_.pending()) take_events();
  Entry* entry = find(range, access);
  if (entry) {
    ++counters_.hits;
  } else {
    // The rest of a page is in the same mapping, and of use to its neighbours. Peers get no
    // more than they are to have.
    if (access == RemoteAccess::none && budget_bytes_ > 0)
      range = {range.begin / page_bytes_ * page_bytes_,
               (range.end + page_bytes_ - 1) / page_bytes_ * page_bytes_};
    Result<Entry*> added = add(range, access);
    if (!added.ok()) return added;
    entry = added.value();
  }
  ++entry->users;
  return entry;
}

RegistrationCache::Entry* RegistrationCache::find(const AddressRange& range, RemoteAccess access) {
  auto look = [&](Index& index) -> Entry* {
    auto after = index.upper_bound(range.begin);
    if (after == index.begin()) return nullptr;
    Entry* entry = std::prev(after)->second;
    return covers(*entry, range) && entry->access >= access ? entry : nullptr;
  };
  if (access == RemoteAccess::none)
    if (Entry* entry = look(indexes_[0])) return entry;
  return look(indexes_[1]);
}

// Ranges that overlap become one, so that the ranges of an index are disjoint.
Result<RegistrationCache::Entry*> RegistrationCache::add(AddressRange range, RemoteAccess access) {
  Index& index = index_of(access);
  AddressRange whole = range;
  RemoteAccess most = access;
  if (budget_bytes_ > 0) {
    auto at = index.upper_bound(range.begin);
    if (at != index.begin() && std::prev(at)->second->end > range.begin) --at;
    for (; at != index.end() && at->second->begin < range.end; ++at) {
      whole = {std::min(whole.begin, at->second->begin), std::max(whole.end, at->second->end)};
      most = std::max(most, at->second->access);
    }
  }
  Result<MemoryKeys> keys = register_range(whole, most);
  if (!keys.ok() && (whole.begin != range.begin || whole.end != range.end)) {
    whole = range;
    most = access;
    keys = register_range(whole, most);
  }
  if (!keys.ok()) return std::move(keys.status());
  ++counters_.registrations;
  counters_.pinned_bytes += static_cast<int64_t>(whole.end - whole.begin);
  Entry& entry =
      entries_.emplace_back(Entry{whole.begin, whole.end, keys.value(), most, 0, false, {}});
  entry.self = std::prev(entries_.end());
  if (budget_bytes_ == 0 || !keys.value().may_be_kept) return &entry;
  forget(index, whole, nullptr);
  index[whole.begin] = &entry;
  entry.kept = true;
  ++entry.users;  // not to be evicted for itself
  shrink(budget_bytes_);
  --entry.users;
  return &entry;
}

// What is kept must not be the reason that something cannot be registered.
Result<MemoryKeys> RegistrationCache::register_range(const AddressRange& range,
                                                     RemoteAccess access) {
  auto* begin = reinterpret_cast<std::byte*>(range.begin);  // NOLINT(performance-no-int-to-ptr)
  const auto bytes = static_cast<int64_t>(range.end - range.begin);
  Result<MemoryKeys> keys = device_.register_memory(begin, bytes, access);
  if (keys.ok() || keys.status().code() != SGLCOLL_ERR_NO_MEMORY || counters_.pinned_bytes == 0)
    return keys;
  shrink(0);
  return device_.register_memory(begin, bytes, access);
}

void RegistrationCache::release(Entry* entry) {
  --entry->users;
  if (entry->users == 0 && !entry->kept) return drop(entry);
  entries_.splice(entries_.end(), entries_, entry->self);
}

void RegistrationCache::drop(Entry* entry) {
  device_.deregister_memory(entry->keys);
  counters_.pinned_bytes -= static_cast<int64_t>(entry->end - entry->begin);
  entries_.erase(entry->self);
}

void RegistrationCache::forget(Index& index, const AddressRange& range, uint64_t* counter) {
  auto at = index.upper_bound(range.begin);
  if (at != index.begin() && std::prev(at)->second->end > range.begin) --at;
  while (at != index.end() && at->second->begin < range.end) {
    Entry* entry = at->second;
    at = index.erase(at);
    entry->kept = false;
    if (counter) ++*counter;
    if (entry->users == 0) drop(entry);
  }
}

void RegistrationCache::take_events() {
  unmapped_.clear();
  if (!reader_.read(&unmapped_)) unmapped_.assign(1, {0, UINT64_MAX});
  for (const AddressRange& range : unmapped_)
    for (Index& index : indexes_) forget(index, range, &counters_.unmapped);
}

void RegistrationCache::shrink(int64_t to_bytes) {
  for (auto at = entries_.begin(); at != entries_.end() && counters_.pinned_bytes > to_bytes;) {
    Entry& entry = *at++;
    if (entry.users > 0) continue;
    index_of(entry.access).erase(entry.begin);
    ++counters_.evicted;
    drop(&entry);
  }
}

}  // namespace sgl
