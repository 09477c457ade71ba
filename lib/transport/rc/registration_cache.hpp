// RegistrationCache: registered ranges of memory, kept after their use for the next one.
//
// A range stays registered until the bytes kept exceed the budget (the one unused longest
// goes first), or until it is unmapped: install_memory_hooks() tells. A registration whose
// range is unmapped while it is in use is given up when that use ends.
#pragma once

#include "transport/rc/device.hpp"
#include "transport/rc/memory_events.hpp"

#include <array>
#include <list>
#include <map>
#include <vector>

namespace sgl {

struct RegistrationCounters {
  uint64_t registrations = 0;
  uint64_t hits = 0;
  uint64_t unmapped = 0;  // given up since the memory was
  uint64_t evicted = 0;   // given up for the budget
  int64_t pinned_bytes = 0;
};

class RegistrationCache {
 public:
  struct Entry {
    uint64_t begin, end;
    MemoryKeys keys;
    RemoteAccess access;
    int users = 0;
    bool kept = false;  // in an index: may serve further uses
    std::list<Entry>::iterator self;
  };

  // A budget of 0 keeps nothing; nor does a process whose hooks do not work.
  RegistrationCache(Device& device, int64_t budget_bytes);
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  // A registration that covers the range; give it back once for each call. With
  // RemoteAccess::none it may cover more, up to whole pages.
  Result<Entry*> acquire(std::byte* begin, std::byte* end, RemoteAccess access);
  void release(Entry* entry);

  const RegistrationCounters& counters() const { return counters_; }
  bool keeps() const { return budget_bytes_ > 0; }
  // Whether registrations are kept, and why not.
  std::string describe() const;

 private:
  // Disjoint ranges by their begin: those for local use, and those that peers may use.
  using Index = std::map<uint64_t, Entry*>;
  Index& index_of(RemoteAccess access) { return indexes_[access == RemoteAccess::none ? 0 : 1]; }
  Entry* find(const AddressRange& range, RemoteAccess access);
  Result<Entry*> add(AddressRange range, RemoteAccess access);
  Result<MemoryKeys> register_range(const AddressRange& range, RemoteAccess access);
  void forget(Index& index, const AddressRange& range, uint64_t* counter);
  void drop(Entry* entry);
  void take_events();
  void shrink(int64_t to_bytes);

  Device& device_;
  int64_t budget_bytes_;
  uint64_t page_bytes_;
  std::string why_off_;
  std::list<Entry> entries_;  // that unused longest first
  std::array<Index, 2> indexes_;
  UnmapReader reader_;
  std::vector<AddressRange> unmapped_;  // scratch
  RegistrationCounters counters_;
};

}  // namespace sgl
