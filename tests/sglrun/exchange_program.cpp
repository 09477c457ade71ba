// A rank that looks at the job through PMIx as an MPI library does:
// exchange_program HOST... where HOST is the expected host of rank 0, 1, ...
//
// Says what is wrong and ends with 1, or ends with 0.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <pmix.h>

namespace {

pmix_proc_t self;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "exchange_program: rank %u: %s\n", self.rank, what.c_str());
  std::exit(1);
}

pmix_proc_t proc_of(pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, self.nspace, rank);
  return proc;
}

pmix_value_t* get(pmix_rank_t rank, const char* key) {
  pmix_proc_t proc = proc_of(rank);
  pmix_value_t* value = nullptr;
  pmix_status_t status = PMIx_Get(&proc, key, nullptr, 0, &value);
  if (status != PMIX_SUCCESS)
    fail(std::string(key) + " of rank " + std::to_string(static_cast<int>(rank)) + ": " +
         PMIx_Error_string(status));
  return value;
}

void expect_number(pmix_rank_t rank, const char* key, uint32_t expected) {
  pmix_value_t* value = get(rank, key);
  uint32_t got = value->type == PMIX_UINT16      ? value->data.uint16
                 : value->type == PMIX_PROC_RANK ? value->data.rank
                                                 : value->data.uint32;
  if (got != expected)
    fail(std::string(key) + " is " + std::to_string(got) + ", not " + std::to_string(expected));
  PMIX_VALUE_RELEASE(value);
}

void expect_text(pmix_rank_t rank, const char* key, const std::string& expected) {
  pmix_value_t* value = get(rank, key);
  if (value->type != PMIX_STRING || expected != value->data.string)
    fail(std::string(key) + " is '" + value->data.string + "', not '" + expected + "'");
  PMIX_VALUE_RELEASE(value);
}

void check_map(const std::vector<std::string>& host_of) {
  std::vector<std::string> hosts;
  uint32_t local_size = 0;
  std::string peers;
  for (pmix_rank_t rank = 0; rank < host_of.size(); ++rank) {
    uint32_t local_rank = 0, node = 0;
    for (pmix_rank_t before = 0; before < rank; ++before)
      local_rank += host_of[before] == host_of[rank];
    while (node < hosts.size() && hosts[node] != host_of[rank]) ++node;
    if (node == hosts.size()) hosts.push_back(host_of[rank]);
    expect_number(rank, PMIX_LOCAL_RANK, local_rank);
    expect_number(rank, PMIX_NODE_RANK, local_rank);
    if (rank == self.rank) expect_number(rank, PMIX_NODEID, node);
    expect_text(rank, PMIX_HOSTNAME, host_of[rank]);
    if (host_of[rank] != host_of[self.rank]) continue;
    ++local_size;
    peers += (peers.empty() ? "" : ",") + std::to_string(rank);
  }
  uint32_t size = static_cast<uint32_t>(host_of.size());
  expect_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, size);
  expect_number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, size);
  expect_number(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, local_size);
  expect_number(PMIX_RANK_WILDCARD, PMIX_NUM_NODES, static_cast<uint32_t>(hosts.size()));
  expect_text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, peers);
}

void check_resolve(const std::vector<std::string>& host_of) {
  for (const std::string& host : host_of) {
    pmix_proc_t* procs = nullptr;
    size_t count = 0, expected = 0;
    for (const std::string& other : host_of) expected += other == host;
    pmix_status_t status = PMIx_Resolve_peers(host.c_str(), self.nspace, &procs, &count);
    if (status != PMIX_SUCCESS || count != expected)
      fail("PMIx_Resolve_peers of " + host + " gives " + std::to_string(count) +
           " ranks: " + PMIx_Error_string(status));
    PMIX_PROC_FREE(procs, count);
  }
}

void put(const char* key, const std::string& text) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, text.c_str(), PMIX_STRING);
  if (PMIx_Put(PMIX_GLOBAL, key, &value) != PMIX_SUCCESS) fail("PMIx_Put");
  PMIX_VALUE_DESTRUCT(&value);
  if (PMIx_Commit() != PMIX_SUCCESS) fail("PMIx_Commit");
}

void fence(const std::vector<pmix_rank_t>& ranks) {
  std::vector<pmix_proc_t> procs;
  for (pmix_rank_t rank : ranks) procs.push_back(proc_of(rank));
  pmix_status_t status = PMIx_Fence(procs.data(), procs.size(), nullptr, 0);
  if (status != PMIX_SUCCESS) fail(std::string("PMIx_Fence: ") + PMIx_Error_string(status));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> host_of(argv + 1, argv + argc);
  if (PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) fail("PMIx_Init");
  if (self.rank >= host_of.size()) fail("there are more ranks than expected");
  check_map(host_of);
  check_resolve(host_of);

  // Asked for by name: this fence brings nothing.
  pmix_rank_t size = static_cast<pmix_rank_t>(host_of.size());
  put("test.text", "text of " + std::to_string(self.rank) + std::string(5000, '.'));
  fence({PMIX_RANK_WILDCARD});
  for (pmix_rank_t rank = 0; rank < size; ++rank)
    expect_text(rank, "test.text", "text of " + std::to_string(rank) + std::string(5000, '.'));

  // Fences of some ranks only, two of the same ranks in turn.
  std::vector<pmix_rank_t> ends = {0, size - 1};
  if (size > 1 && (self.rank == 0 || self.rank == size - 1)) fence(ends), fence(ends);
  fence({PMIX_RANK_WILDCARD});
  // Nobody has it, and the answer is not waited for for ever.
  if (self.rank == 0) {
    pmix_proc_t last = proc_of(size - 1);
    pmix_value_t* value = nullptr;
    int seconds = 2;
    pmix_info_t limit;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    if (PMIx_Get(&last, "test.nothing", &limit, 1, &value) == PMIX_SUCCESS)
      fail("there is a value that nobody gave");
  }
  fence({PMIX_RANK_WILDCARD});
  PMIx_Finalize(nullptr, 0);
  return 0;
}
