// CompiledTransfer: the batches of one transfer after the other, which are compiled once and
// then given again as long as the transfers are alike.
#pragma once

#include "sgl/batch.hpp"

#include <cstdint>
#include <vector>

namespace sgl {

// One thread at a time per object.
class CompiledTransfer {
 public:
  struct Item {
    Batch batch;               // as this end posts it
    int64_t packed_bytes = 0;  // that one of the two ends packs
  };

  // Arguments as of BatchCompiler. turned: the batches are given as the other end of the transfer
  // has them. Alike are transfers of equal layouts, ranges and limits at bases of equal alignment.
  void begin(const View& local, const View& remote, TransferShape shape, const SglLimits& limits,
             const SglRules& rules, bool turned = false);
  // The next batch, until the next call; null: none is left. Allocates only for what is longer
  // than anything before.
  const Item* next();
  // Whether the transfer that began last needs no compiling.
  bool replays() const { return replays_; }

 private:
  // What a transfer's batches depend on.
  struct Key {
    Layout local_layout, remote_layout;
    int64_t local_offset = 0, remote_offset = 0, length = -1;
    uint64_t local_misaligned = 0, remote_misaligned = 0;
    TransferShape shape = TransferShape::send_receive;
    SglLimits limits;
    SglRules rules;
    bool turned = false;
  };
  bool matches(const View& local, const View& remote, TransferShape shape, const SglLimits& limits,
               const SglRules& rules, bool turned) const;

  Key key_;
  BatchCompiler compiler_;
  std::vector<Item> items_;
  size_t given_ = 0;    // of this transfer
  size_t kept_ = 0;     // of the transfer of key_, when whole_
  bool whole_ = false;  // all of its batches are in items_
  bool replays_ = false;
};

}  // namespace sgl
