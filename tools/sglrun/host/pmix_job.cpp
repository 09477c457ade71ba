#include "sglrun/host/pmix_job.hpp"

#include <cstdlib>

namespace sgl::run {
namespace {

// libpmix's compressed form of a list of nodes or of ranks a node.
void add_map(Attributes* job, const char* key, const std::string& list,
             pmix_status_t (*compress)(const char*, char**)) {
  char* compressed = nullptr;
  if (compress(list.c_str(), &compressed) != PMIX_SUCCESS) return;
  job->add(key, compressed, PMIX_REGEX);
  std::free(compressed);
}

void add_sizes(const Setup& setup, const std::vector<int>& own_ranks, Attributes* job) {
  uint32_t size = static_cast<uint32_t>(setup.ranks());
  uint32_t local_size = static_cast<uint32_t>(own_ranks.size());
  job->add(PMIX_UNIV_SIZE, size);
  job->add(PMIX_JOB_SIZE, size);
  job->add(PMIX_APP_SIZE, size);
  job->add(PMIX_MAX_PROCS, size);
  job->add(PMIX_LOCAL_SIZE, local_size);
  job->add(PMIX_NODE_SIZE, local_size);
  job->add(PMIX_JOB_NUM_APPS, 1);
  job->add(PMIX_NUM_NODES, static_cast<uint32_t>(setup.hosts.size()));
}

void add_node(int node, const std::string& host, const std::vector<int>& ranks,
              const std::string& peers, Attributes* job) {
  Attributes info;
  info.add(PMIX_NODEID, static_cast<uint32_t>(node));
  info.add(PMIX_HOSTNAME, host);
  info.add(PMIX_LOCAL_SIZE, static_cast<uint32_t>(ranks.size()));
  info.add(PMIX_NODE_SIZE, static_cast<uint32_t>(ranks.size()));
  info.add(PMIX_LOCAL_PEERS, peers);
  if (!ranks.empty()) info.add_rank(PMIX_LOCALLDR, ranks.front());
  job->add_list(PMIX_NODE_INFO_ARRAY, info);
}

void add_rank(int rank, int local_rank, int node, const std::string& host, Attributes* job) {
  Attributes proc;
  proc.add_rank(PMIX_RANK, rank);
  proc.add_rank(PMIX_GLOBAL_RANK, rank);
  proc.add_rank(PMIX_APP_RANK, rank);
  proc.add(PMIX_APPNUM, 0);
  proc.add_local_rank(PMIX_LOCAL_RANK, local_rank);
  proc.add_local_rank(PMIX_NODE_RANK, local_rank);
  proc.add(PMIX_NODEID, static_cast<uint32_t>(node));
  proc.add(PMIX_HOSTNAME, host);
  job->add_list(PMIX_PROC_INFO_ARRAY, proc);
}

}  // namespace

void describe_job(const Setup& setup, const std::string& scratch_dir, Attributes* job) {
  job->add(PMIX_JOBID, setup.job);
  job->add(PMIX_TMPDIR, scratch_dir);
  job->add(PMIX_NSDIR, scratch_dir);
  std::vector<std::vector<int>> ranks_of;
  std::vector<std::string> peers_of;
  for (int host = 0; host < static_cast<int>(setup.hosts.size()); ++host) {
    ranks_of.push_back(setup.ranks_on(host));
    peers_of.push_back(fmt::format("{}", fmt::join(ranks_of.back(), ",")));
  }
  size_t own = static_cast<size_t>(setup.host);
  add_sizes(setup, ranks_of[own], job);
  if (!ranks_of[own].empty()) job->add_rank(PMIX_LOCALLDR, ranks_of[own].front());
  job->add(PMIX_LOCAL_PEERS, peers_of[own]);
  add_map(job, PMIX_NODE_MAP, fmt::format("{}", fmt::join(setup.hosts, ",")), PMIx_generate_regex);
  add_map(job, PMIX_PROC_MAP, fmt::format("{}", fmt::join(peers_of, ";")), PMIx_generate_ppn);
  for (size_t host = 0; host < setup.hosts.size(); ++host) {
    add_node(static_cast<int>(host), setup.hosts[host], ranks_of[host], peers_of[host], job);
    for (size_t i = 0; i < ranks_of[host].size(); ++i)
      add_rank(ranks_of[host][i], static_cast<int>(i), static_cast<int>(host), setup.hosts[host],
               job);
  }
}

}  // namespace sgl::run
