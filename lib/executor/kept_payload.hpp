// KeptPayload: a copy of a message's payload, of which the short ones take no memory of their own.
#pragma once

#include "executor/wire.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace sgl {

// Keeps the memory of a longer one when another takes its place.
class KeptPayload {
 public:
  KeptPayload() = default;
  explicit KeptPayload(std::span<const std::byte> payload) { assign(payload); }

  void assign(std::span<const std::byte> payload) {
    bytes_ = payload.size();
    if (bytes_ <= short_.size())
      std::ranges::copy(payload, short_.begin());
    else
      long_.assign(payload.begin(), payload.end());
  }
  std::span<const std::byte> view() const {
    return {bytes_ <= short_.size() ? short_.data() : long_.data(), bytes_};
  }

 private:
  size_t bytes_ = 0;
  std::array<std::byte, sizeof(Offer)> short_;
  std::vector<std::byte> long_;
};

}  // namespace sgl
