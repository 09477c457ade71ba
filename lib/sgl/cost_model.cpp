#include "sgl/cost_model.hpp"

#include <algorithm>
#include <cmath>

namespace sgl {

namespace {

constexpr double kAlwaysPacks = 1 << 30;  // bytes; longer than any packed SGE
constexpr int kBlockBytes = 64;
constexpr int kWqeSegmentBytes = 16;  // control, remote address and data segments alike
constexpr int kSegmentsPerBlock = kBlockBytes / kWqeSegmentBytes;

int blocks_of_segments(int segments) {
  return std::max(1, (segments + kSegmentsPerBlock - 1) / kSegmentsPerBlock);
}

int header_segments(TransferShape shape) {
  return shape == TransferShape::send_receive ? 1 : 2;
}

}  // namespace

CostModel CostModel::device() {
  return {.doorbell_ns = 200,
          .completion_ns = 100,
          .wr_ns = 60,
          .block_ns = 10,
          .sge_ns = 40,
          .remote_sge_ns = 40,
          .byte_ns = 0.08,
          .copy_run_ns = 2,
          .copy_byte_ns = 0.1,
          .registration_ns = 20'000,
          .registration_page_ns = 200};
}

CostModel CostModel::cross_memory() {
  return {.doorbell_ns = 0,
          .completion_ns = 0,
          .wr_ns = 600,
          .block_ns = 0,
          .sge_ns = 25,
          .remote_sge_ns = 200,
          .byte_ns = 0.1,
          .copy_run_ns = 2,
          .copy_byte_ns = 0.1,
          .registration_ns = 0,
          .registration_page_ns = 0};
}

int wqe_blocks(TransferShape shape, int sges) {
  return blocks_of_segments(header_segments(shape) + sges);
}

int receive_wqe_blocks(int sges) {
  return blocks_of_segments(sges);
}

std::vector<int> full_block_sge_counts(TransferShape shape, int limit) {
  std::vector<int> counts;
  for (int sges = kSegmentsPerBlock - header_segments(shape); sges <= limit;
       sges += kSegmentsPerBlock) {
    counts.push_back(sges);
  }
  if (limit > 0 && (counts.empty() || counts.back() != limit)) counts.push_back(limit);
  return counts;
}

double predict_request_ns(const CostModel& model, const WorkRequest& request) {
  const int further_blocks = wqe_blocks(request.shape, request.local_count) - 1;
  const bool has_remote_list = request.shape == TransferShape::send_receive;
  const int remote_entries = has_remote_list ? request.remote_count : 0;
  return model.wr_ns + further_blocks * model.block_ns + request.local_count * model.sge_ns +
         remote_entries * model.remote_sge_ns + static_cast<double>(request.bytes) * model.byte_ns;
}

double predict_packing_ns(const CostModel& model, const Batch& batch) {
  double ns = 0;
  for (const PackedPiece& piece : batch.packed) {
    ns += static_cast<double>(piece.runs) * model.copy_run_ns +
          static_cast<double>(piece.bytes) * model.copy_byte_ns;
  }
  return ns;
}

double predict_batch_ns(const CostModel& model, const Batch& batch) {
  if (batch.wrs.empty()) return 0;
  double ns = model.doorbell_ns + model.completion_ns + predict_packing_ns(model, batch);
  for (const WorkRequest& request : batch.wrs) ns += predict_request_ns(model, request);
  return ns;
}

double predict_registration_ns(const CostModel& model, int64_t bytes, int64_t page_bytes) {
  if (bytes <= 0) return 0;
  const int64_t pages = (bytes - 1) / page_bytes + 1;
  return model.registration_ns + static_cast<double>(pages) * model.registration_page_ns;
}

// Bytes cost the same on the wire either way, so only the SGE, with its share of
// the WR, stands against the copy. A packed SGE's own cost is spread over so many
// runs that it counts nothing.
int64_t pack_crossover_bytes(const CostModel& model, TransferShape shape, int sges_per_wr) {
  const int sges = std::max(1, sges_per_wr);
  const double request_ns = model.wr_ns + (wqe_blocks(shape, sges) - 1) * model.block_ns;
  const double gain_ns = model.sge_ns + request_ns / sges - model.copy_run_ns;
  if (gain_ns <= 0) return 0;
  return static_cast<int64_t>(std::ceil(std::min(gain_ns / model.copy_byte_ns, kAlwaysPacks)));
}

SglRules rules_for(const CostModel& model, TransferShape shape, const SglLimits& limits) {
  SglRules rules;
  const int sges = shape == TransferShape::read_scatter ? limits.max_read_sge : limits.max_send_sge;
  rules.pack_below_bytes =
      std::min(pack_crossover_bytes(model, shape, sges), rules.pack_slot_bytes);
  return rules;
}

}  // namespace sgl
