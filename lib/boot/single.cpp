#include "boot/boot.hpp"

namespace sgl {
namespace {

class SingleBoot final : public Boot {
 public:
  SingleBoot() : Boot(0, 1) {}
  Status allgather(std::span<const std::byte> mine, std::vector<std::byte>* all) override {
    all->assign(mine.begin(), mine.end());
    return {};
  }
  Result<std::vector<int>> node_ranks() override { return std::vector<int>{0}; }
  Status finalize() override { return {}; }
};

}  // namespace

std::unique_ptr<Boot> boot_single() {
  return std::make_unique<SingleBoot>();
}

}  // namespace sgl
