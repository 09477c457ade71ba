// What ranks tell each other through the bootstrap before they share memory.
#pragma once

#include "base/status.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sgl {

// SGLCOLL_SHM_PATH.
enum class ShmPath : uint32_t { automatic, direct, cma, staged };
ShmPath shm_path_setting();
const char* shm_path_name(ShmPath path);

// A failure in the form in which it travels.
struct WireStatus {
  uint32_t code = 0;
  char text[180] = {};

  void set(const Status& status);
};

// First exchange. The size and the first three fields never change, so that builds of
// different versions can refuse each other by name.
struct ShmCard {
  uint64_t magic;
  uint32_t version;
  uint32_t abi;
  uint64_t socket_name;  // random part of the abstract socket's name
  uint64_t secret;       // proves to this rank that a visitor was told by the bootstrap
  uint64_t arena_bytes;  // 0: none
  uint64_t arena_base;   // in this rank's address space
  uint64_t probe_word;   // address of a private copy of `secret`
  ShmPath path;
  uint32_t node_size;
  WireStatus failure;
};
static_assert(sizeof(ShmCard) == 248);

// Second exchange: how setting up went, and whether reading the peers' memory worked.
struct ShmVerdict {
  WireStatus failure;
  int32_t denied_peer = -1;  // the first rank whose memory could not be read; -1: none
  int32_t denied_errno = 0;
};

// The error of the lowest rank that failed, if any.
Status first_failure(std::span<const ShmCard> cards);
Status first_failure(std::span<const ShmVerdict> verdicts);

// Refuses ranks of another build or with another path setting, by rank and value.
Status check_agreement(std::span<const ShmCard> cards);

}  // namespace sgl
