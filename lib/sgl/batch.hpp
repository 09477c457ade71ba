// The SGL compiler: two layouts, a payload range and a device's limits become
// batches of work requests (WRs).
//
// The compiler is resumable: it yields one batch after the other, each as large
// as the limits allow, and keeps O(depth) state, so a transfer of 2^40 runs needs
// no list of them. Offsets in a batch are from the two bases, so a compiled batch
// can be posted again for other buffers of the same alignment. docs/sgl.md
// describes the shapes, the rules and why the number of WRs is minimal.
#pragma once

#include "sgl/batch_side.hpp"
#include "sgl/view.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sgl {

// What one work request looks like.
enum class TransferShape : uint8_t {
  write_gather,  // local segments -> one remote range (RDMA WRITE)
  read_scatter,  // one remote range -> local segments (RDMA READ)
  send_receive,  // gather here, scatter there: both lists in one WR, cut so that both fit
};
const char* shape_name(TransferShape shape);

// A device's limits as QP creation returned them. Values below 1 count as 1.
struct SglLimits {
  int max_send_sge = 8;    // segments of the local side of a write or send
  int max_recv_sge = 8;    // segments of the receiving side of a send
  int max_read_sge = 8;    // segments of the local side of a read
  int max_batch_wrs = 64;  // WRs in one batch (one doorbell)
  int64_t max_message_bytes = int64_t{1} << 30;
  // Room for the packed SGEs of one batch. A batch ends before it could overflow, but
  // has at least one WR, so a poster needs the larger of this and
  // max_(send|read)_sge * pack_slot_bytes rounded up to 64.
  int64_t max_batch_slot_bytes = 1 << 20;
  bool operator==(const SglLimits&) const = default;
};

// Rules of practice (DESIGN section 4), all of them parameters.
struct SglRules {
  // Longer segments of a list are split, on 64-byte boundaries. The remote range of
  // write_gather and read_scatter is no list and is not split.
  int64_t max_segment_bytes = 1 << 20;
  int64_t pack_below_bytes = 0;        // neighbours shorter than this share a packed SGE; 0: never
  int64_t pack_slot_bytes = 16 << 10;  // longest packed SGE
  int64_t huge_page_bytes = 0;         // 2 MiB: no SGE crosses such a boundary; 0: no rule
  bool operator==(const SglRules&) const = default;
};

enum class WhyCut : uint8_t {
  end,               // of the transfer
  local_sge_limit,   // the local list is full
  remote_sge_limit,  // the remote list is full
  remote_gap,        // the remote range ends (write_gather, read_scatter)
  message_limit,     // the longest message is reached
  batch_limit,       // of a batch: it has all the WRs, or slot bytes, that it may have
  huge_page,         // the remote range meets a huge-page boundary (write_gather, read_scatter)
};
const char* why_text(WhyCut why);

struct WorkRequest {
  TransferShape shape;
  int first_local, local_count;    // in Batch::local
  int first_remote, remote_count;  // in Batch::remote; 1 for write_gather and read_scatter
  int64_t payload_offset, bytes;   // of the transfer
  WhyCut why;                      // what ended this WR's lists
};

// A posted batch is not a completed one: its memory and its slot are the user's
// again only when the transport has reported the completion.
struct Batch {
  std::vector<WorkRequest> wrs;
  std::vector<Sge> local, remote;
  std::vector<PackedPiece> packed;  // one for each packed SGE, in the order of Batch::local
  int64_t slot_bytes = 0;           // of the pack slot this batch needs
  int64_t bytes = 0;
  WhyCut why = WhyCut::end;  // end or batch_limit: why no further WR is in it
  void clear();              // keeps the vectors' memory
};

// One thread at a time per object. Copyable: a copy goes on from the same place.
class BatchCompiler {
 public:
  BatchCompiler() = default;
  // local and remote: views of equal length; their bases matter only for the
  // alignment rules (64-byte split points, huge pages). The layouts are kept alive.
  BatchCompiler(const View& local, const View& remote, TransferShape shape, const SglLimits& limits,
                const SglRules& rules);
  // As a new compiler of these arguments, but keeps the memory it has. Allocates only
  // for layouts deeper than any before.
  void reset(const View& local, const View& remote, TransferShape shape, const SglLimits& limits,
             const SglRules& rules);
  // Fills `batch` (cleared first) with the next WRs; false when the range is done.
  // Costs a few ns a segment; allocates only when a vector of `batch` must grow.
  bool next(Batch* batch);
  // Payload bytes of the transfer that are compiled so far.
  int64_t position() const { return position_; }

 private:
  void add_request(Batch* batch);
  const BatchSide* fill_lists(int64_t limit, Batch* batch);
  void take_plain_runs(int64_t limit, Batch* batch);
  WhyCut why_cut(int64_t cut, const BatchSide* full) const;

  BatchSide local_, remote_;
  TransferShape shape_ = TransferShape::send_receive;
  int64_t position_ = 0;
  int64_t length_ = 0;
  int64_t max_message_bytes_ = 1;
  int64_t slot_bytes_left_for_request_ = 0;  // a batch with more slot bytes takes no further WR
  size_t max_batch_wrs_ = 1;
};

// Payload bytes in packed SGEs.
int64_t packed_bytes(const Batch& batch);

// The batch as the other end of a send_receive transfer has it: the lists are exchanged,
// and what was packed is not this end's business any more.
void turn_around(Batch* batch);

// The packed SGEs' bytes, between the local view (the one that was compiled) and
// the slot of batch.slot_bytes bytes: before a write or send, after a read or receive.
void fill_slot(const Batch& batch, const View& local, std::byte* slot);
void drain_slot(const Batch& batch, const View& local, const std::byte* slot);

// One line for each WR: shape, lists, bytes, and why it ends where it does.
std::string explain(const Batch& batch);

}  // namespace sgl
