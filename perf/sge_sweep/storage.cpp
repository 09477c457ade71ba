#include "perf/sge_sweep/storage.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace sge_sweep {

namespace {

constexpr uint32_t kCommandBytes = 64, kBlockBytes = 4096;
constexpr uint32_t kDepth = 16;         // operations in flight
constexpr double kZipfExponent = 0.99;  // as YCSB draws
constexpr double kReadShare = 0.7;
static_assert(kCommandBytes + kBlockBytes == kStoreSlotBytes);

struct Operation {
  uint32_t block;
  bool reads;
};

std::vector<Operation> draw(uint32_t blocks, uint32_t operations) {
  std::vector<double> cumulative(blocks);
  double sum = 0;
  for (uint32_t i = 0; i < blocks; i++) cumulative[i] = sum += std::pow(i + 1, -kZipfExponent);
  std::mt19937_64 random(42);
  std::vector<uint32_t> place(blocks);  // the popular blocks are not neighbours
  for (uint32_t i = 0; i < blocks; i++) place[i] = i;
  std::shuffle(place.begin(), place.end(), random);
  std::uniform_real_distribution<double> uniform;
  std::vector<Operation> drawn(operations);
  for (Operation& operation : drawn) {
    const auto rank = std::lower_bound(cumulative.begin(), cumulative.end(), uniform(random) * sum);
    const auto at = std::min<size_t>(static_cast<size_t>(rank - cumulative.begin()), blocks - 1);
    operation = {place[at], uniform(random) < kReadShare};
  }
  return drawn;
}

// The far side's slots: the first `blocks` are read from, the others written to.
class Storage {
 public:
  Storage(Link& link, uint32_t blocks) : link_(link), blocks_(blocks) {}

  Status open() {
    for (Memory* memory : {&images_, &cache_, &commands_, &bounce_}) {
      const size_t bytes = memory == &images_     ? kStoreSlotBytes * blocks_
                           : memory == &cache_    ? size_t{kBlockBytes} * (blocks_ + kDepth)
                           : memory == &commands_ ? size_t{2} * kCommandBytes * kDepth
                                                  : kStoreSlotBytes * kDepth;
      Result<Memory> made = Memory::make(link_.domain(), bytes);
      if (!made.ok()) return std::move(made.status());
      *memory = made.take();
    }
    for (uint32_t b = 0; b < blocks_; b++) {
      std::memcpy(images_.data() + b * kStoreSlotBytes,
                  pattern(b * uint64_t{37}, kStoreSlotBytes).data(), kStoreSlotBytes);
      std::memcpy(cache_.data() + size_t{b} * kBlockBytes, pattern(b * 53 + 11, kBlockBytes).data(),
                  kBlockBytes);
    }
    return move_images(IBV_WR_RDMA_WRITE, 0);
  }

  Status run(StorageWay way, const std::vector<Operation>& operations) {
    for (size_t i = 0; i < operations.size(); i++) {
      if (i >= kDepth) SGL_TRY(retire(way, i - kDepth, operations[i - kDepth]));
      SGL_TRY(start(way, i, operations[i]));
    }
    const size_t first = operations.size() - std::min<size_t>(kDepth, operations.size());
    for (size_t i = first; i < operations.size(); i++) SGL_TRY(retire(way, i, operations[i]));
    return {};
  }

  // What the last operations read is what is there, and all that was written is there.
  Status check(const std::vector<Operation>& operations) {
    const size_t first = operations.size() - std::min<size_t>(kDepth, operations.size());
    for (size_t i = first; i < operations.size(); i++) {
      if (!operations[i].reads) continue;
      const auto wanted = pattern(operations[i].block * uint64_t{37}, kStoreSlotBytes);
      if (std::memcmp(answer(i), wanted.data(), kCommandBytes) != 0 ||
          std::memcmp(read_block(i), wanted.data() + kCommandBytes, kBlockBytes) != 0) {
        return sgl::error(SGLCOLL_ERR_INTERNAL, "wrong data read from block {}",
                          operations[i].block);
      }
    }
    SGL_TRY(move_images(IBV_WR_RDMA_READ, blocks_));
    for (const Operation& operation : operations) {
      if (operation.reads) continue;
      const std::byte* slot = images_.data() + operation.block * kStoreSlotBytes;
      const auto wanted = pattern(operation.block * 53 + 11, kBlockBytes);
      uint32_t commanded = 0;
      std::memcpy(&commanded, slot, sizeof commanded);
      if (commanded != operation.block ||
          std::memcmp(slot + kCommandBytes, wanted.data(), kBlockBytes) != 0) {
        return sgl::error(SGLCOLL_ERR_INTERNAL, "wrong data written to block {}", operation.block);
      }
    }
    return {};
  }

 private:
  std::byte* command(size_t i) { return commands_.data() + (i % kDepth) * kCommandBytes; }
  std::byte* answer(size_t i) { return command(i) + size_t{kDepth} * kCommandBytes; }
  std::byte* read_block(size_t i) {
    return cache_.data() + (blocks_ + i % kDepth) * size_t{kBlockBytes};
  }
  std::byte* bounce(size_t i) { return bounce_.data() + (i % kDepth) * kStoreSlotBytes; }
  static ibv_sge entry(const Memory& memory, const std::byte* at, uint32_t bytes) {
    return {reinterpret_cast<uint64_t>(at), bytes, memory.lkey()};
  }

  Status start(StorageWay way, size_t i, const Operation& operation) {
    std::byte* block =
        operation.reads ? read_block(i) : cache_.data() + size_t{operation.block} * kBlockBytes;
    std::byte* header = operation.reads ? answer(i) : command(i);
    if (!operation.reads) std::memcpy(header, &operation.block, sizeof operation.block);
    ibv_sge list[2] = {entry(commands_, header, kCommandBytes), entry(cache_, block, kBlockBytes)};
    ibv_send_wr wr[2] = {};
    for (ibv_send_wr& one : wr) {
      one.opcode = operation.reads ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
      one.wr.rdma.rkey = link_.remote().store_rkey;
      one.wr.rdma.remote_addr = slot_address(operation.block + (operation.reads ? 0 : blocks_));
    }
    wr[0].sg_list = list;
    wr[0].num_sge = way == StorageWay::two_sges ? 2 : 1;
    wr[0].send_flags = IBV_SEND_SIGNALED;
    if (way == StorageWay::copy) {
      if (!operation.reads) {
        std::memcpy(bounce(i), header, kCommandBytes);
        std::memcpy(bounce(i) + kCommandBytes, block, kBlockBytes);
      }
      list[0] = entry(bounce_, bounce(i), kStoreSlotBytes);
    }
    if (way == StorageWay::two_wrs) {  // one doorbell, one completion for both
      wr[0].send_flags = 0;
      wr[0].next = &wr[1];
      wr[1].sg_list = &list[1];
      wr[1].num_sge = 1;
      wr[1].send_flags = IBV_SEND_SIGNALED;
      wr[1].wr.rdma.remote_addr += kCommandBytes;
    }
    return link_.endpoint().post(wr);
  }

  Status retire(StorageWay way, size_t i, const Operation& operation) {
    SGL_TRY(link_.endpoint().await_sends(1));  // they complete in order
    if (way == StorageWay::copy && operation.reads) {
      std::memcpy(answer(i), bounce(i), kCommandBytes);
      std::memcpy(read_block(i), bounce(i) + kCommandBytes, kBlockBytes);
    }
    return {};
  }

  uint64_t slot_address(uint64_t slot) const {
    return link_.remote().store + slot * kStoreSlotBytes;
  }

  // All slots from `first` on, to or from the images.
  Status move_images(ibv_wr_opcode opcode, uint64_t first) {
    constexpr size_t step = 1 << 20;
    for (size_t at = 0; at < kStoreSlotBytes * blocks_; at += step) {
      const auto bytes = static_cast<uint32_t>(std::min(step, kStoreSlotBytes * blocks_ - at));
      ibv_sge all = entry(images_, images_.data() + at, bytes);
      ibv_send_wr wr{};
      wr.opcode = opcode;
      wr.sg_list = &all;
      wr.num_sge = 1;
      wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.rdma.rkey = link_.remote().store_rkey;
      wr.wr.rdma.remote_addr = slot_address(first) + at;
      SGL_TRY(link_.endpoint().post(&wr));
      SGL_TRY(link_.endpoint().await_sends(1));
    }
    return {};
  }

  Link& link_;
  uint32_t blocks_;
  Memory images_, cache_, commands_, bounce_;
};

}  // namespace

const char* name_of(StorageWay way) {
  constexpr std::array names{"two SGEs", "copy", "two WRs"};
  return names[static_cast<size_t>(way)];
}

Result<std::vector<StorageRow>> measure_storage(Link& link, uint32_t blocks, uint32_t operations,
                                                int rounds) {
  const std::vector<Operation> drawn = draw(blocks, operations);
  std::array<std::vector<Timing>, kStorageWays.size()> timings;
  for (int round = 0; round < rounds; round++) {
    for (StorageWay way : kStorageWays) {
      Storage storage(link, blocks);  // each starts from the same state
      SGL_TRY(storage.open());
      const double cpu = process_cpu_ns();
      const int64_t start = sgl::now_ns();
      SGL_TRY(storage.run(way, drawn));
      timings[static_cast<size_t>(way)].push_back(
          {static_cast<double>(sgl::now_ns() - start), process_cpu_ns() - cpu});
      SGL_TRY(storage.check(drawn));
    }
  }
  std::vector<StorageRow> rows;
  for (StorageWay way : kStorageWays) {
    const std::vector<Timing>& all = timings[static_cast<size_t>(way)];
    rows.push_back({way, blocks, operations, *std::min_element(all.begin(), all.end(), faster)});
  }
  return rows;
}

}  // namespace sge_sweep
