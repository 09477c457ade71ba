#include "executor/failure_cause.hpp"

#include "executor/wire.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace sgl {

std::string FailureCause::text() const {
  return fmt::format("rank {} gave up: {}", world_rank, why.text());
}

std::vector<std::byte> to_payload(const FailureCause& cause) {
  const std::string& text = cause.why.text();
  const size_t bytes = std::min(text.size(), kMaxAbandonText);
  AbandonHead head{cause.why.code(), cause.world_rank, static_cast<uint32_t>(bytes)};
  std::vector<std::byte> payload(sizeof head + bytes);
  std::memcpy(payload.data(), &head, sizeof head);
  std::memcpy(payload.data() + sizeof head, text.data(), bytes);
  return payload;
}

FailureCause cause_from_payload(std::span<const std::byte> payload, int from) {
  AbandonHead head{SGLCOLL_ERR_PEER_FAILED, from, 0};
  std::string text = "it gave no reason";
  if (payload.size() >= sizeof head) {
    std::memcpy(&head, payload.data(), sizeof head);
    payload = payload.subspan(sizeof head);
    text.assign(reinterpret_cast<const char*>(payload.data()),
                std::min<size_t>(payload.size(), head.text_bytes));
  }
  return {head.world_rank, Status(static_cast<Code>(head.code), std::move(text))};
}

}  // namespace sgl
