// sglsim: the algorithms' schedules on simulated networks, with ranks numbered as they come and
// with rings and trees that follow the machine.
#include "base/settings.hpp"
#include "collectives/select/arrangement.hpp"
#include "simgrid/platform.hpp"
#include "simgrid/replay.hpp"
#include "simgrid/report.hpp"
#include "support/command_line.hpp"
#include "topology/placement.hpp"
#include "topology/rank_path.hpp"

#include <cstdio>
#include <sstream>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::net {
namespace {

constexpr const char* kNode = "package:2 core:8 pu:1";  // of each node

struct Options {
  std::vector<std::string> platforms{"fat-tree", "dragonfly"};
  std::vector<int> nodes{16, 64, 256};
  int per_node = 16;
  std::vector<std::string> placements{"block", "cyclic"};
  std::vector<std::string> collectives{
      "bcast", "reduce", "allreduce", "allgather", "reduce_scatter_block", "barrier"};
  std::vector<std::string> bytes{"8", "64K", "4M"};
  int64_t most_messages = 400'000;
  std::string json, plots;
};

void add_options(CLI::App* app, Options* options) {
  app->add_option("--platform", options->platforms, "fat-tree, dragonfly (default both)")
      ->check(CLI::IsMember({"fat-tree", "dragonfly"}))
      ->delimiter(',');
  app->add_option("--nodes", options->nodes, "numbers of nodes, powers of two (16,64,256)")
      ->check(CLI::Range(16, 4096))
      ->delimiter(',');
  app->add_option("--per-node", options->per_node, "ranks on each (default 16)")
      ->check(CLI::Range(1, 16));
  app->add_option("--placement", options->placements,
                  "block: consecutive ranks share a node; cyclic: consecutive ranks are on "
                  "consecutive nodes (default both)")
      ->check(CLI::IsMember({"block", "cyclic"}))
      ->delimiter(',');
  app->add_option("--collective", options->collectives, "which ones")->delimiter(',');
  app->add_option("--bytes", options->bytes,
                  "of the whole vector, or of all blocks together (default 8,64K,4M)")
      ->delimiter(',');
  app->add_option("--most-messages", options->most_messages,
                  "leave out what sends more, all ranks together (default 400000)");
  app->add_option("--json", options->json, "write the rows into this file");
  app->add_option("--plots", options->plots, "write SVG plots into this folder (by gnuplot)");
}

struct World {
  std::string platform, placement;
  int nodes, per_node;
  std::vector<int> node_of_rank;
  Arrangement shaped;
};

Result<World> make_world(const std::string& platform, const std::string& placement, int nodes,
                         int per_node) {
  Result<Node> node = load_node(kNode);
  if (!node.ok()) return std::move(node.status());
  Result<std::vector<RankPlacement>> places =
      place_ranks(node.value(), {per_node, MapBy::slot, BindTo::none});
  if (!places.ok()) return std::move(places.status());
  std::vector<int> pus;
  for (const RankPlacement& place : places.value()) pus.push_back(place.home_pu);
  const std::vector<RankPath> on_one = rank_paths(node.value(), pus);
  World world{platform, placement, nodes, per_node, {}, {}};
  std::vector<RankPath> paths;
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    const bool block = placement == "block";
    paths.push_back(on_one[static_cast<size_t>(block ? rank % per_node : rank / nodes)]);
    paths.back().node = block ? rank / per_node : rank % nodes;
    world.node_of_rank.push_back(paths.back().node);
  }
  world.shaped = Arrangement(std::move(paths));
  return world;
}

std::vector<Problem> problems_of(const World& world, Collective collective, int64_t bytes,
                                 bool shaped) {
  Problem problem;
  problem.collective = collective;
  problem.size = world.nodes * world.per_node;
  problem.grain = 4;
  const bool one = collective == Collective::bcast || collective == Collective::reduce ||
                   collective == Collective::allreduce || collective == Collective::barrier;
  const int64_t block = std::max<int64_t>(4, bytes / problem.size / 4 * 4);
  problem.blocks = one ? Blocks::uniform(1, collective == Collective::barrier ? 0 : bytes)
                       : Blocks::uniform(problem.size, block);
  if (shaped) world.shaped.apply(&problem);
  std::vector<Problem> problems(static_cast<size_t>(problem.size), problem);
  for (int rank = 0; rank < problem.size; ++rank) problems[static_cast<size_t>(rank)].rank = rank;
  return problems;
}

// By one rank's schedule, which is as long as any other's of the builders that run here.
bool too_many(const Builder& builder, const Problem& problem, int64_t most) {
  const Schedule schedule = builder.build(problem);
  return schedule.rounds * problem.size > most;
}

// In an actor of the simulation: all rows of one platform, a line each.
void run_rows(const Options& options, const World& world,
              const std::vector<simgrid::s4u::Host*>& hosts, FILE* out) {
  const Costs costs;
  for (const std::string& name : options.collectives) {
    const Collective collective = *find_collective(name);
    for (const std::string& size :
         collective == Collective::barrier ? std::vector<std::string>{"0"} : options.bytes) {
      int64_t bytes = 0;
      parse_bytes(size, &bytes);
      for (const Builder& builder : all_builders()) {
        if (builder.collective != collective || builder.on_node) continue;
        Outcome by_number;  // of two-level builders there is none
        const std::vector<Problem> flat = problems_of(world, collective, bytes, false);
        const std::vector<Problem> shaped = problems_of(world, collective, bytes, true);
        if (!fits(builder, shaped[0]) || too_many(builder, shaped[0], options.most_messages))
          continue;
        if (fits(builder, flat[0]))
          by_number = replay(builder, flat, hosts, world.node_of_rank, costs);
        const Outcome by_place = replay(builder, shaped, hosts, world.node_of_rank, costs);
        const Row row{world.platform, world.nodes, world.per_node, world.placement, name,
                      builder.name,   bytes,       by_number,      by_place};
        fmt::print(out, "{}\n", row_text(row));
        std::fflush(out);
      }
    }
  }
}

// SimGrid has one engine a process, so each platform is run by a child.
int run_platform(const Options& options, const World& world, FILE* out) {
  int count = 4;
  char name[] = "sglsim", model[] = "--cfg=network/model:CM02",
       one_way[] = "--cfg=network/crosstraffic:0", quiet[] = "--log=root.thres:warning";
  char* arguments[] = {name, model, one_way, quiet, nullptr};
  simgrid::s4u::Engine engine(&count, arguments);
  const std::vector<simgrid::s4u::Host*> hosts = build_platform(world.platform, world.nodes);
  simgrid::s4u::Actor::create("all", hosts[0], [&] { run_rows(options, world, hosts, out); });
  engine.run();
  return 0;
}

Result<std::vector<Row>> rows_of(const Options& options, const World& world) {
  int ends[2];
  if (pipe(ends) != 0) return error(SGLCOLL_ERR_SYSTEM, "pipe: {}", strerror(errno));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return error(SGLCOLL_ERR_SYSTEM, "fork: {}", strerror(errno));
  if (child == 0) {
    close(ends[0]);
    FILE* out = fdopen(ends[1], "w");
    const int status = run_platform(options, world, out);
    std::fclose(out);
    _exit(status);
  }
  close(ends[1]);
  FILE* in = fdopen(ends[0], "r");
  std::vector<Row> rows;
  char line[1024];
  while (std::fgets(line, sizeof line, in)) {
    rows.push_back(parse_row(line));
    fmt::print("{}\n", table_line(rows.back()));
    std::fflush(stdout);
  }
  std::fclose(in);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0)
    return error(SGLCOLL_ERR_SYSTEM, "the simulation of {} ended with status {}", world.platform,
                 status);
  return rows;
}

int refuse(const std::string& text) {
  std::fputs(usage_error("sglsim", text).c_str(), stderr);
  return kBadUse;
}

int run(const Options& options) {
  for (const std::string& name : options.collectives)
    if (!find_collective(name))
      return refuse("--collective " + name + ": it must be of " + collective_names());
  int64_t number = 0;
  for (const std::string& size : options.bytes)
    if (!parse_bytes(size, &number) || number < 8)
      return refuse("--bytes " + size + ": it takes 8 or more, such as 64K");
  for (int nodes : options.nodes)
    if ((nodes & (nodes - 1)) != 0)
      return refuse("--nodes " + std::to_string(nodes) + ": it must be a power of two");
  fmt::print("{}\n", table_head());
  std::vector<Row> all;
  for (const std::string& platform : options.platforms)
    for (int nodes : options.nodes)
      for (const std::string& placement : options.placements) {
        Result<World> world = make_world(platform, placement, nodes, options.per_node);
        if (!world.ok()) return refuse(world.status().text());
        Result<std::vector<Row>> rows = rows_of(options, world.value());
        if (!rows.ok()) {
          fmt::print(stderr, "sglsim: {}\n", rows.status().text());
          return 1;
        }
        all.insert(all.end(), rows.value().begin(), rows.value().end());
      }
  if (!options.json.empty())
    if (Status status = write_json(all, options.json); !status.ok()) return refuse(status.text());
  if (!options.plots.empty())
    if (Status status = write_plots(all, options.plots); !status.ok()) return refuse(status.text());
  return all.empty() ? 1 : 0;
}

}  // namespace
}  // namespace sgl::net

int main(int argc, char** argv) {
  CLI::App app(
      "Runs the schedules of the library's algorithms on simulated networks of hierarchical\n"
      "machines, flat (by rank numbers) and shaped (rings and trees that follow the machine).",
      "sglsim");
  sgl::net::Options options;
  sgl::net::add_options(&app, &options);
  if (auto status = sgl::parse_command_line(&app, "sglsim", argc, argv)) return *status;
  return sgl::net::run(options);
}
