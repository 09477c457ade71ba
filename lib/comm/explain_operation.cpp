#include "comm/explain_operation.hpp"

#include "base/log.hpp"
#include "base/settings.hpp"
#include "comm/world.hpp"
#include "explain/report.hpp"

#include <cstdio>

namespace sgl {
namespace {

// Whether peers can map what is at `base`. Only asked of transports that map, where
// exposing memory costs nothing.
bool is_shared(Transport* transport, std::byte* base, const Layout& layout) {
  if (!transport || !transport->limits().can_map || !base || layout.empty()) return false;
  Result<RemoteMemory> memory = transport->expose({base, &layout, 0, layout.size()}, false);
  if (!memory.ok()) return false;
  const bool mappable = transport->mappable(memory.value());
  transport->release(memory.value());
  return mappable;
}

// What a peer passes as far as this rank can know.
UserBuffers assumed_buffers(UserBuffers mine, const Problem& problem) {
  const Layout whole = Layout::run(0, problem.blocks.total());
  if (mine.recv.empty()) mine.recv = problem.collective == Collective::reduce ? mine.send : whole;
  if (mine.send.empty()) mine.send = whole;
  return mine;
}

PlanQuery query_of(const World& world, const Operation& operation) {
  Engine& engine = world.engine();
  Transport* transport = engine.transport();
  PlanQuery query;
  query.problem = operation.plan().problem;
  const UserBuffers mine{operation.send_layout(),
                         operation.recv_layout(),
                         reinterpret_cast<uint64_t>(operation.send_base()),
                         reinterpret_cast<uint64_t>(operation.recv_base()),
                         is_shared(transport, operation.send_base(), operation.send_layout()),
                         is_shared(transport, operation.recv_base(), operation.recv_layout())};
  query.buffers = [mine, theirs = assumed_buffers(mine, query.problem),
                   self = query.problem.rank](int rank) { return rank == self ? mine : theirs; };
  const Reduction& reduction = operation.reduction();
  if (reduction.user())
    query.user_element = {reduction.element_bytes, reduction.element_extent,
                          reduction.element_layout};
  if (transport) query.limits = transport->limits();
  query.eager_bytes = engine.options().eager_bytes;
  query.time = query.limits.registers_memory ? TimeModel::device()
                                             : TimeModel::of_node(world.settings().node);
  query.choices = world.settings().node.choices;
  query.on_node = world.share_node(operation.context().world_ranks);
  query.forced = world.settings().algorithm;
  query.reproducible = world.settings().reproducible;
  return query;
}

Result<uint32_t> mask_of(const std::string& names) {
  if (names == "all") return ~uint32_t{0};
  uint32_t mask = 0;
  for (size_t start = 0; start < names.size();) {
    const size_t comma = std::min(names.find(',', start), names.size());
    const std::string name = names.substr(start, comma - start);
    const std::optional<Collective> collective = find_collective(name);
    if (!collective)
      return error(SGLCOLL_ERR_ARG,
                   "SGLCOLL_EXPLAIN names the collective \"{}\": it must be all, or a list of {}",
                   name, collective_names());
    mask |= 1U << static_cast<int>(*collective);
    start = comma + 1;
  }
  return mask;
}

}  // namespace

Result<ExplainSetting> ExplainSetting::from_environment(int world_rank) {
  Result<uint32_t> mask = mask_of(setting_text("SGLCOLL_EXPLAIN"));
  if (!mask.ok()) return std::move(mask.status());
  ExplainSetting setting;
  if (setting_integer("SGLCOLL_EXPLAIN_RANK") == world_rank) setting.mask_ = mask.value();
  return setting;
}

Result<std::string> explain_operation(const World& world, const Operation& operation) {
  Result<PlanReport> report = explain_plan(query_of(world, operation));
  if (!report.ok()) return std::move(report.status());
  return report_text(report.value());
}

void print_explanation(const World& world, const Operation& operation) {
  Result<std::string> text = explain_operation(world, operation);
  if (text.ok())
    std::fputs((text.value() + "\n").c_str(), stderr);
  else
    log(LogLevel::warn, "this call cannot be explained: {}", text.status().text());
}

}  // namespace sgl
