// The SGL compiler: two layouts, a payload range and a device's limits become
// batches of work requests.
//
// The compiler is resumable: it yields one batch after the other, each as large
// as the limits allow, and keeps O(depth) state, so a transfer of 2^40 runs needs
// no list of them. Addresses in a batch are offsets from the two bases, so that a
// compiled batch can be posted again for other buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datatype/cursor.hpp"
#include "sgl/view.hpp"

namespace sgl {

// What one work request looks like.
enum class TransferShape : uint8_t {
  write_gather,  // local segments -> one remote range (RDMA WRITE)
  read_scatter,  // one remote range -> local segments (RDMA READ)
  send_receive,  // gather here, scatter there: both lists in one WR, cut so that both fit
};

// A device's limits as QP creation returned them, and the rules of practice.
struct SglLimits {
  int max_send_sge = 8;    // segments of the local side of a write or send
  int max_recv_sge = 8;    // segments of the receiving side of a send
  int max_read_sge = 8;    // segments of the local side of a read
  int max_batch_wrs = 64;  // WRs in one batch (one doorbell)
  int64_t max_message_bytes = int64_t{1} << 30;
};

// Rules of practice (DESIGN section 4), all of them parameters.
struct SglRules {
  int64_t max_segment_bytes = 1 << 20;   // longer segments are split, on 64-byte boundaries
  int64_t pack_below_bytes = 0;          // neighbours shorter than this share a packed slot; 0: never
  int64_t pack_slot_bytes = 16 << 10;    // room of one packed slot
  int64_t huge_page_bytes = 0;           // 2 MiB: no SGE crosses such a boundary; 0: no rule
};

enum class WhyCut : uint8_t { end, local_sge_limit, remote_sge_limit, remote_gap, message_limit, batch_limit };

struct Sge {
  int64_t offset;   // from the side's base, or into the pack slot
  int64_t length;
  bool packed;      // local side only: bytes to be gathered into (or scattered from) the slot
};

struct WorkRequest {
  TransferShape shape;
  int first_local, local_count;    // in Batch::local
  int first_remote, remote_count;  // in Batch::remote; 1 for write_gather and read_scatter
  int64_t payload_offset, bytes;   // of the transfer
  WhyCut why;                      // what ended this WR's lists
};

// Bytes [payload_offset, +bytes) of the local payload that the poster copies to
// (or from) slot bytes [slot_offset, +bytes): one packed SGE.
struct PackedPiece {
  int64_t payload_offset, bytes, slot_offset;
};

struct Batch {
  std::vector<WorkRequest> wrs;
  std::vector<Sge> local, remote;
  std::vector<PackedPiece> packed;
  int64_t slot_bytes = 0;  // of the pack slot this batch needs
  int64_t bytes = 0;
  void clear();
};

class BatchCompiler {
 public:
  // local and remote: views of equal length; their bases matter only for the
  // alignment rules (64-byte split points, huge pages). The layouts are kept alive.
  BatchCompiler(const View& local, const View& remote, TransferShape shape, const SglLimits& limits,
                const SglRules& rules);
  // Fills `batch` (cleared first) with the next WRs; false when the range is done.
  bool next(Batch* batch);
  int64_t position() const { return position_; }

 private:
  Cursor local_, remote_;
  View local_view_, remote_view_;
  TransferShape shape_;
  SglLimits limits_;
  SglRules rules_;
  int64_t position_ = 0;
};

// One line for each WR: shape, lists, bytes, and why it ends where it does.
std::string explain(const Batch& batch);

}  // namespace sgl
