#include "simgrid/replay.hpp"

#include "executor/plan.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>

namespace sgl::net {
namespace {

namespace s4u = simgrid::s4u;

// One rank: starts the steps whose dependencies are done, and waits for any of its messages.
class Rank {
 public:
  Rank(const Plan& plan, const Costs& costs, int number)
      : plan_(plan), costs_(costs), number_(number) {
    for (const PlanStep& step : plan.steps) {
      missing_.push_back(step.dependencies);
      edges_left_.push_back(step.edge_count);
    }
    ready_ = plan.initial;
    left_ = plan.steps.size();
  }

  void run() {
    while (left_ > 0) {
      while (!ready_.empty()) {
        const int step = ready_.front();
        ready_.erase(ready_.begin());
        start(step);
      }
      if (left_ == 0) break;
      const ssize_t ended = s4u::Comm::wait_any(comms_);
      const int step = steps_[static_cast<size_t>(ended)];
      comms_[static_cast<size_t>(ended)] = comms_.back();
      steps_[static_cast<size_t>(ended)] = steps_.back();
      comms_.pop_back();
      steps_.pop_back();
      if (--edges_left_[static_cast<size_t>(step)] == 0) finish(step);
    }
  }

 private:
  void start(int number) {
    const PlanStep& step = plan_.steps[static_cast<size_t>(number)];
    for (int i = 0; i < step.edge_count; ++i) post(step.first_edge + i, number);
    if (step.edge_count == 0) finish(number);
  }

  void post(int number, int step) {
    const Edge& edge = plan_.edges[static_cast<size_t>(number)];
    const int from = edge.sends ? plan_.problem.rank : edge.peer;
    const int to = edge.sends ? edge.peer : plan_.problem.rank;
    s4u::Mailbox* box =
        s4u::Mailbox::by_name(fmt::format("{}:{}:{}:{}", number_, from, to, edge.tag));
    if (edge.sends) s4u::this_actor::sleep_for(costs_.message_s);
    static char anything;
    comms_.push_back(
        edge.sends ? box->put_async(&anything,
                                    static_cast<uint64_t>(edge.slice.length + costs_.header_bytes))
                   : box->get_async(&received_));
    steps_.push_back(step);
  }

  void finish(int number) {
    const PlanStep& step = plan_.steps[static_cast<size_t>(number)];
    const auto bytes = static_cast<double>(step.slice.length);
    if (step.kind == StepKind::copy) s4u::this_actor::sleep_for(bytes * costs_.copy_byte_s);
    if (step.kind == StepKind::reduce)
      s4u::this_actor::sleep_for(bytes * costs_.reduce_byte_s * (step.operand_count - 1));
    --left_;
    for (int i = 0; i < step.successor_count; ++i) {
      const int next =
          plan_.successors[static_cast<size_t>(step.first_successor) + static_cast<size_t>(i)];
      if (--missing_[static_cast<size_t>(next)] == 0) ready_.push_back(next);
    }
  }

  const Plan& plan_;
  const Costs& costs_;
  int number_;  // of the replay
  std::vector<int> missing_, edges_left_, ready_;
  std::vector<s4u::CommPtr> comms_;
  std::vector<int> steps_;  // of comms_
  size_t left_ = 0;
  char* received_ = nullptr;
};

}  // namespace

Outcome replay(const Builder& builder, const std::vector<Problem>& problems,
               const std::vector<s4u::Host*>& hosts, const std::vector<int>& node_of_rank,
               const Costs& costs) {
  static int number = 0;
  ++number;
  Outcome outcome;
  std::vector<std::unique_ptr<Plan>> plans;
  for (const Problem& problem : problems) {
    plans.push_back(std::make_unique<Plan>(problem, builder.build(problem)));
    for (const Edge& edge : plans.back()->edges) {
      if (!edge.sends) continue;
      ++outcome.messages;
      if (node_of_rank[static_cast<size_t>(edge.peer)] ==
          node_of_rank[static_cast<size_t>(problem.rank)])
        continue;
      ++outcome.network_messages;
      outcome.network_bytes += edge.slice.length;
    }
  }
  const double start = s4u::Engine::get_clock();
  std::vector<s4u::ActorPtr> actors;
  for (size_t rank = 0; rank < plans.size(); ++rank) {
    s4u::Host* host = hosts[static_cast<size_t>(node_of_rank[rank])];
    actors.push_back(s4u::Actor::create(
        fmt::format("rank {}", rank), host,
        [plan = plans[rank].get(), &costs] { Rank(*plan, costs, number).run(); }));
  }
  for (const s4u::ActorPtr& actor : actors) actor->join();
  outcome.seconds = s4u::Engine::get_clock() - start;
  return outcome;
}

}  // namespace sgl::net
