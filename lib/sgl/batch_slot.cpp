#include "sgl/batch.hpp"
#include "sgl/copy.hpp"

namespace sgl {

void fill_slot(const Batch& batch, const View& local, std::byte* slot) {
  for (const PackedPiece& piece : batch.packed) {
    pack(local.part(piece.payload_offset, piece.bytes), slot + piece.slot_offset);
  }
}

void drain_slot(const Batch& batch, const View& local, const std::byte* slot) {
  for (const PackedPiece& piece : batch.packed) {
    unpack(local.part(piece.payload_offset, piece.bytes), slot + piece.slot_offset);
  }
}

}  // namespace sgl
