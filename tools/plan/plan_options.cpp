#include "plan/plan_options.hpp"

#include "base/settings.hpp"
#include "collectives/select/arrangement.hpp"
#include "collectives/select/forced.hpp"
#include "plan/shape_type.hpp"
#include "sgl/calibration.hpp"
#include "support/layout_grammar.hpp"
#include "topology/placement.hpp"
#include "topology/rank_path.hpp"
#include "transport/rc/rc_transport.hpp"
#include "transport/shm/shm.hpp"

#include <stdexcept>

#include <CLI/CLI.hpp>

namespace sgl::plan {
namespace {

constexpr int kMostRanks = 1 << 24;
constexpr int64_t kElementBytes = 4;  // of the grammar's layouts

Result<int64_t> read_bytes(const char* option, const std::string& text) {
  int64_t bytes = 0;
  if (!parse_bytes(text, &bytes))
    return error(SGLCOLL_ERR_ARG, "{} {}: it takes bytes such as 4096, 64K, 1M or 2G", option,
                 text);
  return bytes;
}

Result<int64_t> read_bytes_or_setting(const char* option, const std::string& text,
                                      const char* setting) {
  if (text.empty()) return setting_bytes(setting);
  return read_bytes(option, text);
}

Status check_ranks(const Options& options) {
  if (options.ranks == 0)
    return error(SGLCOLL_ERR_ARG, "--ranks 0: it takes 1 to {}, and has to be given", kMostRanks);
  if (options.ranks < 1 || options.ranks > kMostRanks)
    return error(SGLCOLL_ERR_ARG, "--ranks {}: it takes 1 to {}", options.ranks, kMostRanks);
  if (options.rank < 0 || options.rank >= options.ranks)
    return error(SGLCOLL_ERR_ARG, "--rank {}: it takes 0 to {}, as there are {} ranks",
                 options.rank, options.ranks - 1, options.ranks);
  if (options.root < 0 || options.root >= options.ranks)
    return error(SGLCOLL_ERR_ARG, "--root {}: it takes 0 to {}, as there are {} ranks",
                 options.root, options.ranks - 1, options.ranks);
  return {};
}

Result<TypePtr> read_layout(const std::string& text, int64_t bytes, int ranks) {
  try {
    Result<TypePtr> type = type_of_shape(tools::parse_layout(text, bytes));
    if (type.ok() && !type.value()->array_fits(ranks))
      return error(SGLCOLL_ERR_COUNT,
                   "--layout {} with --ranks {}: the buffer of all blocks overflows 64 bits", text,
                   ranks);
    return type;
  } catch (const std::invalid_argument& wrong) {
    return error(SGLCOLL_ERR_ARG, "{}", wrong.what());
  }
}

bool holds_one_vector(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce ||
         collective == Collective::bcast;
}

Blocks blocks_of(Collective collective, int ranks, int64_t bytes) {
  switch (collective) {
    case Collective::barrier:
      return Blocks::uniform(1, 0);
    case Collective::allgatherv:
    case Collective::reduce_scatter:
    case Collective::gatherv:
    case Collective::scatterv:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return Blocks::per_rank(std::vector<int64_t>(static_cast<size_t>(ranks), bytes));
    default:
      return Blocks::uniform(holds_one_vector(collective) ? 1 : ranks, bytes);
  }
}

// How many of the layouts each buffer of a rank holds.
struct Counts {
  int64_t send = 1, recv = 1;
};

Counts counts_of(const Problem& problem, int rank) {
  const int64_t all = problem.size;
  const bool at_root = rank == problem.root;
  switch (problem.collective) {
    case Collective::allgather:
    case Collective::allgatherv:
      return {problem.in_place ? 0 : 1, all};
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return problem.in_place ? Counts{0, all} : Counts{all, 1};
    case Collective::gather:
    case Collective::gatherv:
      return {1, at_root ? all : 0};
    case Collective::scatter:
    case Collective::scatterv:
      return {at_root ? all : 0, 1};
    case Collective::reduce:
      return {1, at_root ? 1 : 0};
    case Collective::bcast:
      return {0, 1};
    case Collective::allreduce:
      return {problem.in_place ? 0 : 1, 1};
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return {problem.in_place ? 0 : all, all};
    case Collective::barrier:
      return {0, 0};
  }
  return {};
}

// On a machine that is only named, they are taken to have.
bool has_processor_each(const Options& options) {
  return !options.topology.empty() || options.ranks <= this_machine().processors;
}

TransportLimits limits_of(const Options& options, const NodeChoices& choices) {
  if (options.transport == "shm") {
    TransportLimits limits = shm_limits(options.ranks, has_processor_each(options), true,
                                        !options.no_cross_memory, choices);
    if (options.max_sge > 0)
      limits.sgl.max_send_sge = limits.sgl.max_recv_sge = limits.sgl.max_read_sge = options.max_sge;
    return limits;
  }
  DeviceLimits device;
  RcOptions queues;
  if (options.max_sge > 0)
    device.max_send_sge = device.max_recv_sge = device.max_read_sge = options.max_sge;
  if (options.batch_wrs > 0) queues.batch_wrs = options.batch_wrs;
  TransportLimits limits = rc_limits(device, queues);
  limits.name = "verbs";
  return limits;
}

Result<std::string> forced_algorithm(const Options& options, Collective collective) {
  if (options.algorithm.empty()) return setting_text("SGLCOLL_ALGORITHM");
  if (!find_builder(collective, options.algorithm))
    return error(SGLCOLL_ERR_ARG, "--algorithm {}: {} has {}", options.algorithm,
                 options.collective, builder_names(collective));
  return options.collective + "=" + options.algorithm;
}

// The paths of ranks that fill machines like `text` one after the other.
Result<std::vector<RankPath>> rank_paths_on(const Options& options) {
  constexpr int kMostPerNode = 1 << 16;
  Result<Node> node = load_node(options.topology);
  if (!node.ok()) return std::move(node.status());
  Result<MapBy> map_by = parse_map_by(options.map_by);
  if (!map_by.ok()) return std::move(map_by.status());
  const int per_node = options.per_node > 0 ? options.per_node : options.ranks;
  if (per_node > kMostPerNode)
    return error(SGLCOLL_ERR_ARG,
                 "--topology with --ranks {}: one machine takes {}; use --per-node", options.ranks,
                 kMostPerNode);
  Result<std::vector<RankPlacement>> placed =
      place_ranks(node.value(), {per_node, map_by.value(), BindTo::none});
  if (!placed.ok()) return std::move(placed.status());
  std::vector<int> pus;
  for (const RankPlacement& placement : placed.value()) pus.push_back(placement.home_pu);
  const std::vector<RankPath> on_one = rank_paths(node.value(), pus);
  std::vector<RankPath> paths;
  paths.reserve(static_cast<size_t>(options.ranks));
  for (int rank = 0; rank < options.ranks; ++rank) {
    paths.push_back(on_one[static_cast<size_t>(rank % per_node)]);
    paths.back().node = rank / per_node;
  }
  return paths;
}

Status arrange(const Options& options, Problem* problem) {
  if (options.topology.empty()) return {};
  Result<std::vector<RankPath>> paths = rank_paths_on(options);
  if (!paths.ok()) return std::move(paths.status());
  Arrangement(paths.take()).apply(problem);
  return {};
}

}  // namespace

void add_options(CLI::App* app, Options* options) {
  CLI::Option* collective =
      app->add_option("collective", options->collective, "One of " + collective_names());
  app->add_option("-n,--ranks", options->ranks, "Ranks of the communicator; has to be given");
  app->add_option("--rank", options->rank, "The rank whose plan is printed (default 0)");
  app->add_option("--root", options->root, "Root of a rooted collective (default 0)");
  app->add_option("--algorithm", options->algorithm, "Ask for this one instead of the table's");
  app->add_option(
      "--layout", options->layout,
      "contig | vector:BLOCK:STRIDE | indexed:SEED:MIN:MAX:GAP | "
      "subarray:DIMS:SUBDIMS:STARTS:ELEM | tensors:FILE, in bytes, as sglperf has them");
  app->add_option("--recv-layout", options->recv_layout, "The receiver's, if another");
  app->add_option("--bytes", options->bytes, "Payload of one layout, a rank's block (default 1M)");
  app->add_option("--transport", options->transport, "verbs (default) or shm")
      ->check(CLI::IsMember({"verbs", "shm"}));
  app->add_option("--memory", options->memory, "private (default) or shared (sglcoll_mem_alloc)")
      ->check(CLI::IsMember({"private", "shared"}));
  app->add_flag("--no-cross-memory", options->no_cross_memory,
                "shm: as if the kernel refused process_vm_readv");
  app->add_option("--max-sge", options->max_sge, "SGEs that a WR may have, of each kind")
      ->check(CLI::Range(1, 1 << 16));
  app->add_option("--batch-wrs", options->batch_wrs, "verbs: WRs in one batch")
      ->check(CLI::Range(1, 1 << 16));
  app->add_option("--eager", options->eager, "As SGLCOLL_EAGER_BYTES");
  app->add_option("--chunk", options->chunk, "As SGLCOLL_CHUNK_BYTES");
  app->add_flag("--in-place", options->in_place, "The call gives SGLCOLL_IN_PLACE");
  app->add_flag("--not-commutative", options->not_commutative, "The operation does not commute");
  app->add_flag("--reproducible", options->reproducible, "As SGLCOLL_REPRODUCIBLE=1");
  app->add_option("--lines", options->lines,
                  "Kinds of rounds and of transfers that are printed (default 16)")
      ->check(CLI::Range(1, 1 << 20));
  CLI::Option* topology = app->add_option(
      "--topology", options->topology,
      "The machine that the ranks run on: hwloc XML file, or a synthetic description such "
      "as \"package:2 l3:4 core:8 pu:1\"; orders rings and shapes trees");
  app->add_option("--map-by", options->map_by,
                  "With --topology: slot (default), core, numa, l3, package or node")
      ->needs(topology);
  app->add_option("--per-node", options->per_node,
                  "With --topology: ranks on each such machine (default: all on one)")
      ->check(CLI::Range(1, 1 << 16))
      ->needs(topology);
  CLI::Option* json = app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--scale", options->scale,
                "Instead: what every algorithm's schedule costs to build at 16 to 1,048,576 ranks")
      ->excludes(collective)
      ->excludes(json);
}

Result<PlanQuery> make_query(const Options& options) {
  if (options.collective.empty())
    return error(SGLCOLL_ERR_ARG, "the collective is missing: it must be one of {}",
                 collective_names());
  const std::optional<Collective> collective = find_collective(options.collective);
  if (!collective)
    return error(SGLCOLL_ERR_ARG, "{} is no collective: it must be one of {}", options.collective,
                 collective_names());
  SGL_TRY(check_ranks(options));
  PlanQuery query;
  query.eager_bytes = setting_automatic("SGLCOLL_EAGER_BYTES");
  if (!options.eager.empty()) {
    Result<int64_t> eager = read_bytes("--eager", options.eager);
    if (!eager.ok()) return std::move(eager.status());
    query.eager_bytes = eager.value();
  }
  Result<int64_t> chunk = read_bytes_or_setting("--chunk", options.chunk, "SGLCOLL_CHUNK_BYTES");
  if (!chunk.ok()) return std::move(chunk.status());
  if (chunk.value() < 1)
    return error(SGLCOLL_ERR_ARG, "--chunk {}: it takes 1 or more", options.chunk);
  Result<int64_t> bytes = read_bytes("--bytes", options.bytes);
  if (!bytes.ok()) return std::move(bytes.status());
  Result<TypePtr> send = read_layout(options.layout, bytes.value(), options.ranks);
  if (!send.ok()) return std::move(send.status());
  Result<TypePtr> recv =
      read_layout(options.recv_layout.empty() ? options.layout : options.recv_layout,
                  send.value()->size, options.ranks);
  if (!recv.ok()) return std::move(recv.status());
  if (recv.value()->size != send.value()->size)
    return error(SGLCOLL_ERR_ARG, "--recv-layout {}: it has {} bytes where --layout {} has {}",
                 options.recv_layout, recv.value()->size, options.layout, send.value()->size);
  Result<std::string> forced = forced_algorithm(options, *collective);
  if (!forced.ok()) return std::move(forced.status());

  Problem& problem = query.problem;
  problem.collective = *collective;
  problem.rank = options.rank;
  problem.size = options.ranks;
  problem.root = options.root;
  problem.blocks = blocks_of(*collective, options.ranks, send.value()->size);
  problem.grain = kElementBytes;
  problem.in_place = options.in_place;
  problem.commutative = !options.not_commutative;
  problem.chunk_bytes = chunk.value();
  query.reproducible = options.reproducible || setting_boolean("SGLCOLL_REPRODUCIBLE");
  if (!query.reproducible) SGL_TRY(arrange(options, &problem));
  query.buffers = [problem, shared = options.memory == "shared", send = send.take(),
                   recv = recv.take()](int rank) {
    const Counts counts = counts_of(problem, rank);
    return UserBuffers{.send = send->array_layout(counts.send),
                       .recv = recv->array_layout(counts.recv),
                       .send_shared = shared,
                       .recv_shared = shared};
  };
  Result<NodeTuning> tuning = find_node_tuning();
  if (!tuning.ok()) return std::move(tuning.status());
  query.choices = tuning.value().model.choices;
  if (options.transport == "shm") query.choices = query.choices.among(has_processor_each(options));
  query.limits = limits_of(options, query.choices);
  query.on_node = options.transport == "shm";
  query.time = query.on_node ? TimeModel::of_node(tuning.value().model) : TimeModel::device();
  query.forced = forced.take();
  if (!options.algorithm.empty()) query.forced_by = "--algorithm";
  return query;
}

}  // namespace sgl::plan
