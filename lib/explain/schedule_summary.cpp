#include "explain/schedule_summary.hpp"

#include "explain/peer_slices.hpp"

#include <algorithm>
#include <unordered_map>

namespace sgl {
namespace {

// Beyond so many steps of peers' schedules, edges like ones looked up are taken to end alike.
constexpr int64_t kPeerSteps = 1 << 20;
constexpr uint64_t kAssumedBase = uint64_t{1} << 40;

bool same_step(const StepLine& a, const StepLine& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.edges.size() == b.edges.size() &&
         std::equal(a.edges.begin(), a.edges.end(), b.edges.begin(),
                    [](const EdgeLine& x, const EdgeLine& y) {
                      return x.transfer == y.transfer && x.count == y.count;
                    });
}

bool same_round(const RoundLine& a, const RoundLine& b) {
  return a.steps.size() == b.steps.size() &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(),
                    [](const StepLine& x, const StepLine& y) {
                      return x.count == y.count && same_step(x, y);
                    });
}

void take_last_peers(const StepLine& from, StepLine* to) {
  for (size_t i = 0; i < to->edges.size(); ++i) to->edges[i].last_peer = from.edges[i].last_peer;
}

class Walker {
 public:
  Walker(const PlanQuery& query, const Builder& builder)
      : query_(query),
        schedule_(builder.build(query.problem)),
        peers_(query, builder),
        edges_(query, builder.name) {
    mine_ = query.buffers(query.problem.rank);
    summary_.rounds = schedule_.rounds;
    for (int64_t bytes : schedule_.temp_bytes) summary_.temp_bytes += bytes;
  }

  ScheduleSummary walk(int64_t most_rounds, int64_t most_lines) {
    summary_.rounds_counted = std::min(most_rounds, schedule_.rounds);
    for (int64_t number = 0; number < summary_.rounds_counted; ++number) {
      round_.reset(number);
      schedule_.generate(round_);
      RoundLine line{number, 1, {}};
      for (const Step& step : round_.steps()) add_step(step, &line);
      keep(std::move(line), most_lines);
    }
    summary_.transfers = edges_.transfers();
    return std::move(summary_);
  }

 private:
  void keep(RoundLine line, int64_t most_lines) {
    std::vector<RoundLine>& lines = summary_.lines;
    if (!lines.empty() && summary_.lines_left_out == 0 && same_round(lines.back(), line)) {
      ++lines.back().count;
      for (size_t i = 0; i < line.steps.size(); ++i)
        take_last_peers(line.steps[i], &lines.back().steps[i]);
    } else if (static_cast<int64_t>(lines.size()) < most_lines) {
      lines.push_back(std::move(line));
    } else {
      ++summary_.lines_left_out;
    }
  }

  void add_step(const Step& step, RoundLine* round) {
    ++summary_.steps;
    StepLine line{step.kind, 1, step.slice.length, {}};
    switch (step.kind) {
      case StepKind::send:
      case StepKind::recv:
        if (step.slice.length > 0 || is_signal(step.slice))
          add_edge(step.kind == StepKind::send, step.peer, step.tag, step.slice, &line);
        break;
      case StepKind::copy:
        add_copy(step.slice, round_.operands(step)[0].slice);
        break;
      case StepKind::reduce: {
        const auto operands = round_.operands(step);
        summary_.reduced_bytes += step.slice.length * (static_cast<int64_t>(operands.size()) - 1);
        for (const Operand& operand : operands)
          if (operand.incoming() && operand.slice.length > 0)
            add_edge(false, operand.peer, operand.tag, operand.slice, &line,
                     in_pieces(query_, operand.slice, step.slice));
        break;
      }
    }
    if (!round->steps.empty() && same_step(round->steps.back(), line)) {
      ++round->steps.back().count;
      take_last_peers(line, &round->steps.back());
    } else {
      round->steps.push_back(std::move(line));
    }
  }

  void add_copy(const Slice& to, const Slice& from) {
    const EdgeEnd target = end_of(to, mine_, schedule_.temp_bytes);
    const EdgeEnd source = end_of(from, mine_, schedule_.temp_bytes);
    const auto bytes = static_cast<double>(to.length);
    const double run = std::min(mean_run_bytes(target.view), mean_run_bytes(source.view));
    const auto before = static_cast<double>(summary_.copied_bytes);
    summary_.copied_bytes += to.length;
    if (to.length > 0)
      summary_.copy_run_bytes = (summary_.copy_run_bytes * before + run * bytes) / (before + bytes);
  }

  void add_edge(bool sends, int peer, uint32_t tag, const Slice& slice, StepLine* line,
                bool in_pieces = false) {
    const int index =
        is_signal(slice) ? edges_.signal(sends) : transfer_of(sends, peer, tag, slice, in_pieces);
    const Transfer& transfer = edges_.transfers()[static_cast<size_t>(index)];
    summary_.traffic += transfer.traffic;
    ++summary_.edges;
    summary_.edge_bytes += transfer.bytes;
    summary_.half_trips += transfer.half_trips;
    summary_.descriptor_ns += transfer.descriptor_ns;
    summary_.packing_ns += transfer.packing_ns;
    summary_.wire_ns += transfer.wire_ns;
    summary_.registration_ns += transfer.registration_ns;
    ScheduleSummary::NodeEdges& node = sends ? summary_.going : summary_.coming;
    ++node.count;
    node.bytes += transfer.bytes;
    node.ns += transfer.node_ns;
    node.combining_ns += transfer.node_combining_ns;
    node.start_ns += transfer.node_start_ns;
    if (!line->edges.empty() && line->edges.back().transfer == index) {
      ++line->edges.back().count;
      line->edges.back().last_peer = peer;
    } else {
      line->edges.push_back({index, 1, peer, peer});
    }
  }

  // What of this end tells edges apart when peers are no longer looked up.
  struct OwnKey {
    bool sends;
    Buffer buffer;
    int64_t length;
    bool operator==(const OwnKey&) const = default;
  };
  struct OwnHash {
    size_t operator()(const OwnKey& key) const {
      return static_cast<size_t>(key.length) * 0x9e37'79b9'7f4a'7c15u +
             static_cast<size_t>(key.buffer * 2 + key.sends);
    }
  };

  int transfer_of(bool sends, int peer, uint32_t tag, const Slice& slice, bool in_pieces) {
    const OwnKey key{sends, slice.buffer, slice.length};
    if (peers_.steps_looked_at() > kPeerSteps) {
      auto known = like_.find(key);
      if (known != like_.end()) {
        summary_.peers_assumed = true;
        return known->second;
      }
    }
    EdgeEnd mine = end_of(slice, mine_, schedule_.temp_bytes);
    if (in_pieces) mine.piece_bytes = kOperandPieceBytes;
    const std::optional<PeerSlice> found = peers_.find(peer, tag, !sends, round_.number());
    int index = 0;
    // Of another length where only the peer knows its counts.
    if (found && found->slice.length == slice.length) {
      theirs_ = query_.buffers(peer);
      EdgeEnd theirs = end_of(found->slice, theirs_, peers_.temp_bytes());
      if (found->in_pieces) theirs.piece_bytes = kOperandPieceBytes;
      index = edges_.move(sends, mine, theirs);
    } else {
      summary_.peers_assumed = true;
      index =
          edges_.move(sends, mine, end_of({kFirstTemp, 0, slice.length}, mine_, {slice.length}));
    }
    like_[key] = index;
    return index;
  }

  EdgeEnd end_of(const Slice& slice, const UserBuffers& user, const std::vector<int64_t>& temps) {
    const bool is_temp = slice.buffer >= kFirstTemp;
    const Layout* layout = slice.buffer == kSend ? &user.send : &user.recv;
    uint64_t base = slice.buffer == kSend ? user.send_base : user.recv_base;
    if (is_temp) {
      layout = &temp_layout(temps[static_cast<size_t>(slice.buffer - kFirstTemp)]);
      base = 0;
    }
    // No view is read; but an address of 0 would say that there is none.
    auto* address = reinterpret_cast<std::byte*>(base ? base : kAssumedBase);  // NOLINT
    const bool shared = slice.buffer == kSend ? user.send_shared : user.recv_shared;
    return {{address, layout, slice.offset, slice.length}, !is_temp && shared};
  }

  const Layout& temp_layout(int64_t bytes) {
    auto [found, is_new] = temps_.try_emplace(bytes);
    if (!is_new) return found->second;
    if (const auto& element = query_.user_element)
      found->second = Layout::loop(bytes / element->bytes, element->extent, element->layout);
    else
      found->second = Layout::run(0, bytes);
    return found->second;
  }

  const PlanQuery& query_;
  Schedule schedule_;
  PeerSlices peers_;
  EdgeModel edges_;
  std::unordered_map<int64_t, Layout> temps_;  // by bytes
  UserBuffers mine_, theirs_;
  Round round_;
  ScheduleSummary summary_;
  std::unordered_map<OwnKey, int, OwnHash> like_;
};

}  // namespace

ScheduleSummary summarise(const PlanQuery& query, const Builder& builder, int64_t most_rounds,
                          int64_t most_lines) {
  return Walker(query, builder).walk(most_rounds, most_lines);
}

namespace {

// On a node: so many transfers follow each other as the formula has, or as its bytes are when
// all are like this rank's. Ranks that share processors wait for those to do the others' part.
TimeParts predict_node_time(const PlanQuery& query, const ScheduleCost& cost,
                            const ScheduleSummary& summary) {
  const NodeModel& model = *query.time.node;
  const ScheduleSummary::NodeEdges& edges =
      summary.coming.count > 0 ? summary.coming : summary.going;
  TimeParts time;
  if (summary.copied_bytes > 0) {
    const bool exchanges = summary.coming.count > 0 && summary.going.count > 0;
    const TimeGrid& copies = exchanges ? model.copy_exchange : model.copy;
    // Without the start of the call that was measured.
    time.copy_ns =
        std::max(0.0, copies.ns(static_cast<double>(summary.copied_bytes), summary.copy_run_bytes) -
                          model.copy.ns(0, 0));
  }
  if (edges.count == 0) return time;
  const auto seen = static_cast<double>(edges.count);
  auto count = static_cast<double>(cost.steps);
  if (cost.bytes > 0 && edges.bytes > 0)
    count =
        std::max(count, static_cast<double>(cost.bytes) * seen / static_cast<double>(edges.bytes));
  else
    count = std::max(count, seen);
  const auto ranks = static_cast<double>(query.problem.size);
  const double ranks_a_processor = ranks / std::max(1, model.processors);
  double share = 1;
  if (ranks_a_processor > 1) {
    // Of an exchange both ranks do half; what is one-way occupies both of its ends.
    const bool one_way = &edges == &summary.going || summary.going.count == 0;
    share =
        one_way ? std::max(1.0, 2 * (ranks - 1) / (model.processors * count)) : ranks_a_processor;
    time.copy_ns *= one_way ? 1 : ranks_a_processor;
    time.control_ns = static_cast<double>(cost.steps) * model.switch_ns * ranks_a_processor;
  }
  const double scale = share * count / seen;
  time.control_ns += scale * edges.start_ns;
  time.reduction_ns = scale * edges.combining_ns;
  time.wire_ns = scale * std::max(0.0, edges.ns - edges.start_ns - edges.combining_ns);
  // While a peer takes what goes, this rank's own copies are made.
  if (summary.coming.count == 0) time.copy_ns = std::max(0.0, time.copy_ns - time.wire_ns);
  return time;
}

}  // namespace

TimeParts predict_time(const PlanQuery& query, const ScheduleCost& cost,
                       const ScheduleSummary& summary) {
  const TimeModel& model = query.time;
  if (model.node) return predict_node_time(query, cost, summary);
  const double edges = static_cast<double>(std::max<int64_t>(1, summary.edges));
  const double edge_bytes = static_cast<double>(std::max<int64_t>(1, summary.edge_bytes));
  const double bytes = static_cast<double>(cost.bytes);
  const double half_trips = summary.edges > 0 ? static_cast<double>(summary.half_trips) / edges : 1;
  TimeParts time;
  time.control_ns = static_cast<double>(cost.steps) * half_trips * model.half_trip_ns;
  time.descriptor_ns = bytes * summary.descriptor_ns / edge_bytes;
  time.packing_ns = bytes * summary.packing_ns / edge_bytes;
  time.wire_ns = bytes * summary.wire_ns / edge_bytes;
  time.reduction_ns = static_cast<double>(cost.reduced_bytes) * model.reduce_byte_ns;
  time.copy_ns = static_cast<double>(summary.copied_bytes) * model.transfer.copy_byte_ns;
  time.registration_ns = summary.registration_ns;
  return time;
}

}  // namespace sgl
