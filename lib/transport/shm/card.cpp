#include "transport/shm/card.hpp"

#include "base/settings.hpp"
#include "transport/shm/segment.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {
namespace {

constexpr const char* kPathNames[] = {"auto", "direct", "cma", "staged"};

Status failure_of(size_t rank, const WireStatus& failure) {
  size_t length = strnlen(failure.text, sizeof failure.text);
  return error(static_cast<Code>(failure.code), "rank {}: {}", rank,
               std::string_view(failure.text, length));
}

template <class Entry>
Status find_failure(std::span<const Entry> entries) {
  for (size_t rank = 0; rank < entries.size(); ++rank)
    if (entries[rank].failure.code != SGLCOLL_OK) return failure_of(rank, entries[rank].failure);
  return {};
}

}  // namespace

ShmPath shm_path_setting() {
  std::string name = setting_text("SGLCOLL_SHM_PATH");
  auto found = std::find(std::begin(kPathNames), std::end(kPathNames), name);
  if (found == std::end(kPathNames)) return ShmPath::automatic;  // check_settings() refused it
  return static_cast<ShmPath>(found - std::begin(kPathNames));
}

const char* shm_path_name(ShmPath path) {
  auto index = static_cast<uint32_t>(path);
  return index < std::size(kPathNames) ? kPathNames[index] : "unknown";
}

void WireStatus::set(const Status& status) {
  code = static_cast<uint32_t>(status.code());
  size_t length = std::min(status.text().size(), sizeof text - 1);
  memcpy(text, status.text().data(), length);
  text[length] = '\0';
}

Status first_failure(std::span<const ShmCard> cards) {
  return find_failure(cards);
}
Status first_failure(std::span<const ShmVerdict> verdicts) {
  return find_failure(verdicts);
}

Status check_agreement(std::span<const ShmCard> cards) {
  const ShmCard& first = cards[0];
  for (size_t rank = 0; rank < cards.size(); ++rank) {
    const ShmCard& card = cards[rank];
    if (card.magic != kShmMagic || card.version != first.version || card.abi != first.abi)
      return error(SGLCOLL_ERR_MISMATCH,
                   "rank {} runs another build of libsglcoll (shm version {}, ABI {:08x}) than "
                   "rank 0 (version {}, ABI {:08x}); all ranks must load the same one",
                   rank, card.version, card.abi, first.version, first.abi);
  }
  SGL_TRY(first_failure(cards));
  for (size_t rank = 0; rank < cards.size(); ++rank)
    if (cards[rank].path != first.path)
      return error(SGLCOLL_ERR_MISMATCH,
                   "SGLCOLL_SHM_PATH is \"{}\" on rank {} but \"{}\" on rank 0; it must be the "
                   "same on all ranks",
                   shm_path_name(cards[rank].path), rank, shm_path_name(first.path));
  return {};
}

}  // namespace sgl
