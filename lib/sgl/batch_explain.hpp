// Why each work request of a batch looks as it does.
#pragma once

#include "sgl/batch.hpp"
#include "sgl/cost_model.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sgl {

// What a report is made for. Without a base no page crossings are counted.
struct ExplainContext {
  CostModel model = CostModel::device();
  const std::byte* local_base = nullptr;
  int64_t huge_page_bytes = 2 << 20;
};

struct RequestReport {
  WorkRequest request;
  int packed_sges;  // of request.local_count
  int64_t packed_runs, packed_bytes;
  int64_t shortest_sge_bytes;  // of the local list
  int64_t longest_sge_bytes;
  int page_crossings;   // direct local SGEs over a huge-page boundary: legal, but a note
  int wqe_blocks;       // 64-byte blocks, mlx5 family
  double predicted_ns;  // without packing and the batch's doorbell
  std::string text;     // one line, no line end
};

std::vector<RequestReport> explain_requests(const Batch& batch, const ExplainContext& context = {});

}  // namespace sgl
