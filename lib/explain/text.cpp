// The report for people.
#include "explain/report.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace sgl {
namespace {

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
  return value == static_cast<double>(static_cast<int64_t>(value))
             ? fmt::format("{} {}", static_cast<int64_t>(value), kUnits[unit])
             : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string time_text(double ns) {
  if (ns < 1000) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string plural(int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// a, b ... z, then t27, t28 ...
std::string transfer_name(int index) {
  return index < 26 ? std::string(1, static_cast<char>('a' + index))
                    : fmt::format("t{}", index + 1);
}

std::string peers_text(const EdgeLine& edge, int64_t repeated) {
  if (edge.first_peer == edge.last_peer) return fmt::format("rank {}", edge.first_peer);
  return edge.count * repeated == 2
             ? fmt::format("ranks {} and {}", edge.first_peer, edge.last_peer)
             : fmt::format("ranks {} ... {}", edge.first_peer, edge.last_peer);
}

std::string step_text(const PlanReport& report, const StepLine& step, int64_t rounds) {
  static constexpr const char* kVerbs[] = {"send", "receive", "reduce", "copy"};
  const int64_t repeated = step.count * rounds;
  std::string text = step.count > 1 ? fmt::format("{} x ", step.count) : "";
  text += kVerbs[static_cast<int>(step.kind)];
  const bool signal = !step.edges.empty() &&
                      report.transfers[static_cast<size_t>(step.edges.front().transfer)].signal;
  text += signal ? " a signal" : " " + bytes_text(step.bytes);
  if (step.kind == StepKind::reduce && step.edges.empty()) text += " at hand";
  const char* preposition = step.kind == StepKind::send ? " to " : " from ";
  for (const EdgeLine& edge : step.edges) {
    text += preposition + peers_text(edge, repeated);
    if (edge.count > 1) text += fmt::format(" ({} of them)", edge.count);
    text += fmt::format(" [{}]", transfer_name(edge.transfer));
    preposition = ", ";
  }
  return text;
}

std::string round_text(const PlanReport& report, const RoundLine& line) {
  std::string name = line.count == 1
                         ? fmt::format("round {}", line.first)
                         : fmt::format("rounds {} - {}", line.first, line.first + line.count - 1);
  std::string text;
  for (const StepLine& step : line.steps) {
    text += fmt::format("  {:<24}{}\n", name, step_text(report, step, line.count));
    name.clear();
  }
  return text.empty() ? fmt::format("  {:<24}nothing\n", name) : text;
}

std::string transfer_text(const Transfer& transfer, int index) {
  std::string text =
      fmt::format("  [{}] {} ", transfer_name(index), transfer.sends ? "sent" : "received");
  if (transfer.signal) return text + "as an empty message\n";
  static constexpr auto kHow = std::to_array<const char*>(
      {"inside the first message", "as fragments, on request", "by loads from the sender's memory",
       "by loads and by the sender's stores", "by the sender's stores",
       "by reads with lists on both sides of a part, and by writes of the other",
       "by reads with lists on both sides", "by reads of one range", "by writes to one range",
       "by the sender's writes with lists on both sides", "by sends into posted receives"});
  static_assert(kHow.size() == kPathCount);
  text += kHow[static_cast<int>(transfer.path)];
  const Traffic& traffic = transfer.traffic;
  text += fmt::format(": {}, {}", bytes_text(transfer.bytes),
                      plural(traffic.messages, "message", "messages"));
  if (traffic.work_requests > 0) {
    text += fmt::format(", {}, {}, {} SGEs ({} to {} local a WR), {}",
                        plural(traffic.batches, "doorbell", "doorbells"),
                        plural(traffic.work_requests, "WR", "WRs"), traffic.segments,
                        transfer.least_sges, transfer.most_sges,
                        plural(traffic.wqe_blocks, "WQE block", "WQE blocks"));
  } else if (transfer.path == Path::read || transfer.path == Path::read_lists ||
             transfer.path == Path::write) {
    text += ", posted by the peer";
  }
  text += "\n";
  for (const std::string& request : transfer.requests) text += "      " + request + "\n";
  const int64_t more = traffic.work_requests - static_cast<int64_t>(transfer.requests.size());
  if (more > 0 && !transfer.requests.empty()) text += fmt::format("      ... {} more\n", more);
  return text;
}

std::string head_text(const PlanReport& report) {
  const Problem& problem = report.problem;
  std::string text =
      fmt::format("{} \"{}\", rank {} of {}, over {}\n", collective_name(problem.collective),
                  report.algorithm, problem.rank, problem.size, report.transport);
  text += fmt::format("  chosen because   {}\n", report.why);
  text += fmt::format("  source           {}\n", report.source);
  if (report.by_topology) text += "  ranks            in the order of the machine\n";
  text += fmt::format("  rounds           {}, {} on the critical path\n", report.rounds,
                      plural(report.cost.steps, "message", "messages"));
  if (report.rounds_counted < report.rounds)
    text += fmt::format("  note             only the first {} rounds are counted\n",
                        report.rounds_counted);
  if (report.peers_assumed)
    text += "  note             not every peer was looked at: edges like those seen count alike\n";
  return text;
}

std::string totals_text(const PlanReport& report) {
  const Traffic& traffic = report.traffic;
  auto line = [](const char* name, const std::string& value) {
    return fmt::format("  {:<17}{}\n", name, value);
  };
  std::string text = "this rank, each call\n";
  text += line("steps", fmt::format("{}", report.steps));
  text += line("messages", fmt::format("{} sent", traffic.messages));
  text += line("work requests", fmt::format("{}, {} SGEs, {} WQE blocks", traffic.work_requests,
                                            traffic.segments, traffic.wqe_blocks));
  text += line("doorbells", fmt::format("{}, as many signalled completions", traffic.batches));
  text += line("bytes",
               fmt::format("{} sent, {} received", traffic.bytes_sent, traffic.bytes_received));
  text += line("  direct", fmt::format("{}", traffic.bytes_direct));
  text += line("  packed", fmt::format("{}", traffic.bytes_packed));
  text += line("  copied", fmt::format("{} within this rank", report.copied_bytes));
  text += line("  reduced", fmt::format("{}", report.reduced_bytes));
  if (traffic.device_requests > 0) {
    text +=
        line("device requests", fmt::format("{} with messages and receives, {} SGEs, {}",
                                            traffic.device_requests, traffic.device_segments,
                                            plural(traffic.doorbells, "doorbell", "doorbells")));
    text += line("  signalled", fmt::format("{}", traffic.signalled));
    text += line("  inline", fmt::format("{}", traffic.inlined));
  }
  text += line("registrations", fmt::format("{} after the first call", traffic.registrations));
  text += line("scratch", bytes_text(report.temp_bytes));
  return text;
}

std::string time_lines(const PlanReport& report) {
  const TimeParts& time = report.time;
  std::string text = fmt::format("predicted time     {} (model \"{}\")\n",
                                 time_text(time.total_ns()), report.model);
  auto part = [&](const char* name, double ns) {
    if (ns > 0) text += fmt::format("  {:<17}{}\n", name, time_text(ns));
  };
  part("control", time.control_ns);
  part("descriptors", time.descriptor_ns);
  part("wire", time.wire_ns);
  part("packing", time.packing_ns);
  part("reduction", time.reduction_ns);
  part("copies", time.copy_ns);
  if (time.registration_ns > 0)
    text += fmt::format("  registration     {} more where it is not kept\n",
                        time_text(time.registration_ns));
  return text;
}

}  // namespace

std::string report_text(const PlanReport& report, int most_rounds) {
  std::string text = head_text(report) + totals_text(report) + time_lines(report) + "steps\n";
  const size_t shown = std::min(report.lines.size(), static_cast<size_t>(std::max(0, most_rounds)));
  for (size_t i = 0; i < shown; ++i) text += round_text(report, report.lines[i]);
  int64_t hidden = report.lines_left_out;
  for (size_t i = shown; i < report.lines.size(); ++i) hidden += report.lines[i].count;
  if (hidden > 0) text += fmt::format("  ... {} rounds more\n", hidden);
  if (report.lines.empty()) text += "  none\n";
  if (!report.transfers.empty()) text += "transfers\n";
  const size_t transfers =
      std::min(report.transfers.size(), static_cast<size_t>(std::max(1, most_rounds)));
  for (size_t i = 0; i < transfers; ++i)
    text += transfer_text(report.transfers[i], static_cast<int>(i));
  if (transfers < report.transfers.size())
    text += fmt::format("  ... {} kinds more\n", report.transfers.size() - transfers);
  if (!report.alternatives.empty()) text += "not chosen\n";
  for (const Alternative& other : report.alternatives)
    text += fmt::format("  {:<22}{:<12}{}\n", other.algorithm,
                        other.predicted ? time_text(other.time.total_ns()) : "-", other.why);
  return text;
}

}  // namespace sgl
