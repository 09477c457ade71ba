#include "boot/boot.hpp"
#include "boot/node_identity.hpp"

namespace sgl {
namespace {

class ExchangeBoot final : public Boot {
 public:
  explicit ExchangeBoot(const sglcoll_exchange& exchange)
      : Boot(exchange.rank, exchange.size), exchange_(exchange) {}

  Status allgather(std::span<const std::byte> mine, std::vector<std::byte>* all) override {
    if (mine.empty()) {  // a callback need not know what to do with no bytes
      const std::byte one{};
      std::vector<std::byte> ones;
      all->clear();
      return allgather({&one, 1}, &ones);
    }
    all->resize(mine.size() * static_cast<size_t>(size()));
    return call(mine.data(), all->data(), mine.size());
  }

  Result<std::vector<int>> node_ranks() override { return ranks_on_my_node(*this); }

  // The embedder's connection is the embedder's to close.
  Status finalize() override { return {}; }

 private:
  Status call(const void* mine, void* all, size_t bytes) {
    int code = exchange_.allgather(exchange_.context, mine, all, bytes);
    if (code == 0) return {};
    return error(SGLCOLL_ERR_BOOT,
                 "rank {} of {}: the exchange callback returned {} for an allgather of {} bytes a "
                 "rank; it must return 0 on success",
                 rank(), size(), code, bytes);
  }

  sglcoll_exchange exchange_;
};

}  // namespace

Result<std::unique_ptr<Boot>> boot_exchange(const sglcoll_exchange& exchange) {
  if (!exchange.allgather)
    return error(SGLCOLL_ERR_ARG, "exchange.allgather is NULL: give the callback that gathers");
  if (exchange.size < 1)
    return error(SGLCOLL_ERR_ARG, "exchange.size is {}: it must be at least 1", exchange.size);
  if (exchange.rank < 0 || exchange.rank >= exchange.size)
    return error(SGLCOLL_ERR_ARG,
                 "exchange.rank is {}: it must be from 0 to {} (exchange.size - 1)", exchange.rank,
                 exchange.size - 1);
  return std::unique_ptr<Boot>(std::make_unique<ExchangeBoot>(exchange));
}

}  // namespace sgl
