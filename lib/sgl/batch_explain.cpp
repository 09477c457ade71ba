#include "sgl/batch_explain.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace sgl {

const char* shape_name(TransferShape shape) {
  switch (shape) {
    case TransferShape::write_gather:
      return "write-gather";
    case TransferShape::read_scatter:
      return "read-scatter";
    case TransferShape::send_receive:
      return "send/receive";
  }
  return "?";
}

const char* why_text(WhyCut why) {
  switch (why) {
    case WhyCut::end:
      return "the transfer ends";
    case WhyCut::local_sge_limit:
      return "the local list is full";
    case WhyCut::remote_sge_limit:
      return "the remote list is full";
    case WhyCut::remote_gap:
      return "the remote range ends";
    case WhyCut::message_limit:
      return "the message is as long as it may be";
    case WhyCut::batch_limit:
      return "the batch is full";
    case WhyCut::huge_page:
      return "the remote range meets a huge-page boundary";
  }
  return "?";
}

namespace {

bool crosses_page(const Sge& sge, const ExplainContext& context) {
  if (sge.packed || context.local_base == nullptr || context.huge_page_bytes <= 0) return false;
  const auto address = reinterpret_cast<uintptr_t>(context.local_base + sge.offset);
  const auto page = static_cast<uintptr_t>(context.huge_page_bytes);
  return address / page != (address + static_cast<uintptr_t>(sge.length) - 1) / page;
}

std::string report_text(const RequestReport& report) {
  const WorkRequest& request = report.request;
  std::string text = fmt::format(
      "{} of {} bytes at {}: {} local, {} remote; local SGEs {} to {} bytes, {} WQE block{}",
      shape_name(request.shape), request.bytes, request.payload_offset, request.local_count,
      request.remote_count, report.shortest_sge_bytes, report.longest_sge_bytes, report.wqe_blocks,
      report.wqe_blocks == 1 ? "" : "s");
  if (report.packed_sges > 0) {
    text += fmt::format("; {} of them packed from {} runs ({} bytes)", report.packed_sges,
                        report.packed_runs, report.packed_bytes);
  }
  if (report.page_crossings > 0) {
    text += fmt::format("; note: {} over a huge-page boundary", report.page_crossings);
  }
  return text + fmt::format("; ends because {}", why_text(request.why));
}

}  // namespace

std::vector<RequestReport> explain_requests(const Batch& batch, const ExplainContext& context) {
  std::vector<RequestReport> reports;
  reports.reserve(batch.wrs.size());
  size_t next_packed = 0;
  for (const WorkRequest& request : batch.wrs) {
    RequestReport report{.request = request,
                         .packed_sges = 0,
                         .packed_runs = 0,
                         .packed_bytes = 0,
                         .shortest_sge_bytes = std::numeric_limits<int64_t>::max(),
                         .longest_sge_bytes = 0,
                         .page_crossings = 0,
                         .wqe_blocks = wqe_blocks(request.shape, request.local_count),
                         .predicted_ns = predict_request_ns(context.model, request),
                         .text = {}};
    for (int i = 0; i < request.local_count; ++i) {
      const Sge& sge =
          batch.local[static_cast<size_t>(request.first_local) + static_cast<size_t>(i)];
      report.shortest_sge_bytes = std::min(report.shortest_sge_bytes, sge.length);
      report.longest_sge_bytes = std::max(report.longest_sge_bytes, sge.length);
      report.page_crossings += crosses_page(sge, context);
      if (sge.packed) {
        ++report.packed_sges;
        report.packed_runs += batch.packed[next_packed].runs;
        report.packed_bytes += sge.length;
        ++next_packed;
      }
    }
    report.text = report_text(report);
    reports.push_back(std::move(report));
  }
  return reports;
}

std::string explain(const Batch& batch) {
  std::string text;
  for (const RequestReport& report : explain_requests(batch)) text += report.text + "\n";
  return text;
}

}  // namespace sgl
