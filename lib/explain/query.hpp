// What a plan is explained for: a collective's problem, the layouts that it runs on and
// what the transport can do. Nothing in it needs ranks, a device or memory.
#pragma once

#include "collectives/builder.hpp"
#include "datatype/layout.hpp"
#include "schedule/problem.hpp"
#include "sgl/cost_model.hpp"
#include "sgl/node_model.hpp"
#include "transport/transport.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sgl {

// What a schedule's time is predicted from: docs/plan.md says where the values come from.
struct TimeModel {
  const char* name;
  CostModel transfer;
  double half_trip_ns;    // a message to a peer
  double reduce_byte_ns;  // combining one operand's byte
  // Of ranks that share memory: what their transfers take, in place of the above.
  std::shared_ptr<const NodeModel> node = nullptr;

  static TimeModel device();
  static TimeModel of_node(const NodeModel& model);
};

// The user's buffers of one rank. A base matters for the alignment of its runs only.
struct UserBuffers {
  Layout send, recv;
  uint64_t send_base = 0, recv_base = 0;
  bool send_shared = false, recv_shared = false;  // memory of sglcoll_mem_alloc
};

// The element of a user's operation, which sees temporaries laid out as its own buffers.
struct UserElement {
  int64_t bytes = 1, extent = 1;
  Layout layout;
};

struct PlanQuery {
  Problem problem;  // of the rank that is asked for
  std::function<UserBuffers(int rank)> buffers;
  std::optional<UserElement> user_element;
  TransportLimits limits;
  std::optional<int64_t> eager_bytes;  // unset: the transport's
  TimeModel time = TimeModel::device();
  // As for select_builder().
  bool on_node = false;
  std::string forced;
  const char* forced_by = "SGLCOLL_ALGORITHM";
  bool reproducible = false;
  NodeChoices choices = {};
};

// The problem as another rank has it, as far as this rank can know.
Problem problem_of_peer(const Problem& problem, int peer);

}  // namespace sgl
