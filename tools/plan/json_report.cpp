#include "plan/json_report.hpp"

#include <nlohmann/json.hpp>

namespace sgl::plan {
namespace {

using nlohmann::json;

json to_json(const Traffic& traffic) {
  return {{"messages", traffic.messages},
          {"doorbells", traffic.batches},
          {"work_requests", traffic.work_requests},
          {"segments", traffic.segments},
          {"wqe_blocks", traffic.wqe_blocks},
          {"bytes_sent", traffic.bytes_sent},
          {"bytes_received", traffic.bytes_received},
          {"bytes_direct", traffic.bytes_direct},
          {"bytes_packed", traffic.bytes_packed},
          {"registrations", traffic.registrations},
          {"device_requests", traffic.device_requests},
          {"device_segments", traffic.device_segments},
          {"device_doorbells", traffic.doorbells},
          {"signalled", traffic.signalled},
          {"inlined", traffic.inlined}};
}

json to_json(const TimeParts& time) {
  return {{"total_ns", time.total_ns()},
          {"control_ns", time.control_ns},
          {"descriptor_ns", time.descriptor_ns},
          {"wire_ns", time.wire_ns},
          {"packing_ns", time.packing_ns},
          {"reduction_ns", time.reduction_ns},
          {"copy_ns", time.copy_ns},
          {"registration_ns", time.registration_ns}};
}

json to_json(const Transfer& transfer) {
  return {{"direction", transfer.sends ? "send" : "receive"},
          {"path", transfer.signal ? "signal" : path_name(transfer.path)},
          {"bytes", transfer.bytes},
          {"least_sges", transfer.least_sges},
          {"most_sges", transfer.most_sges},
          {"traffic", to_json(transfer.traffic)},
          {"requests", transfer.requests}};
}

json to_json(const RoundLine& line) {
  static constexpr const char* kKinds[] = {"send", "receive", "reduce", "copy"};
  json steps = json::array();
  for (const StepLine& step : line.steps) {
    json edges = json::array();
    for (const EdgeLine& edge : step.edges)
      edges.push_back({{"transfer", edge.transfer},
                       {"count", edge.count},
                       {"first_peer", edge.first_peer},
                       {"last_peer", edge.last_peer}});
    steps.push_back({{"kind", kKinds[static_cast<int>(step.kind)]},
                     {"count", step.count},
                     {"bytes", step.bytes},
                     {"edges", edges}});
  }
  return {{"first_round", line.first}, {"rounds", line.count}, {"steps", steps}};
}

}  // namespace

std::string json_report(const PlanReport& report) {
  json transfers = json::array(), lines = json::array(), others = json::array();
  for (const Transfer& transfer : report.transfers) transfers.push_back(to_json(transfer));
  for (const RoundLine& line : report.lines) lines.push_back(to_json(line));
  for (const Alternative& other : report.alternatives) {
    json entry{{"algorithm", other.algorithm}, {"fits", other.fits}, {"why_not", other.why}};
    if (other.predicted) entry["time"] = to_json(other.time);
    others.push_back(entry);
  }
  const json document{{"collective", collective_name(report.problem.collective)},
                      {"ranks", report.problem.size},
                      {"rank", report.problem.rank},
                      {"root", report.problem.root},
                      {"algorithm", report.algorithm},
                      {"why", report.why},
                      {"source", report.source},
                      {"transport", report.transport},
                      {"model", report.model},
                      {"order_of_machine", report.by_topology},
                      {"critical_messages", report.cost.steps},
                      {"rounds", report.rounds},
                      {"rounds_counted", report.rounds_counted},
                      {"steps", report.steps},
                      {"scratch_bytes", report.temp_bytes},
                      {"bytes_reduced", report.reduced_bytes},
                      {"bytes_copied", report.copied_bytes},
                      {"peers_assumed", report.peers_assumed},
                      {"traffic", to_json(report.traffic)},
                      {"time", to_json(report.time)},
                      {"transfers", transfers},
                      {"rounds_by_kind", lines},
                      {"rounds_left_out", report.lines_left_out},
                      {"not_chosen", others}};
  return document.dump(2) + "\n";
}

}  // namespace sgl::plan
