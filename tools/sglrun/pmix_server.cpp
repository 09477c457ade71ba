#include "sglrun/pmix_server.hpp"

#include <cstdlib>

#include <pmix.h>
#include <pmix_server.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace sgl::run {
namespace {

Status pmix_error(pmix_status_t status, const char* what) {
  return error(SGLCOLL_ERR_BOOT, "{}: PMIx says {} ({})", what, PMIx_Error_string(status), status);
}

bool succeeded(pmix_status_t status) {
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

// A list of PMIx attributes under construction.
class Attributes {
 public:
  Attributes() : list_(PMIx_Info_list_start()) {}
  ~Attributes() { PMIx_Info_list_release(list_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void add(const char* key, uint32_t value) { add(key, &value, PMIX_UINT32); }
  void add(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void add_rank(const char* key, int rank) {
    pmix_rank_t value = static_cast<pmix_rank_t>(rank);
    add(key, &value, PMIX_PROC_RANK);
  }
  void add_local_rank(const char* key, int rank) {
    uint16_t value = static_cast<uint16_t>(rank);
    add(key, &value, PMIX_UINT16);
  }
  void add(const char* key, const void* value, pmix_data_type_t type) {
    PMIx_Info_list_add(list_, key, value, type);
  }
  // The list `inner` as one attribute.
  void add_list(const char* key, Attributes& inner) {
    pmix_data_array_t array;
    if (PMIx_Info_list_convert(inner.list_, &array) != PMIX_SUCCESS) return;
    add(key, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
  }
  // The list as libpmix's functions take it; the caller destroys the array.
  pmix_data_array_t convert() {
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, 0, PMIX_INFO);
    PMIx_Info_list_convert(list_, &array);
    return array;
  }

 private:
  void* list_;
};

// ---- What libpmix calls, on its own thread -----------------------------------

PmixServer* server_of(void* object) {
  return static_cast<PmixServer*>(object);
}

pmix_status_t client_connected(const pmix_proc_t* proc, void* object, pmix_info_t*, size_t,
                               pmix_op_cbfunc_t, void*) {
  if (object) server_of(object)->on_member(static_cast<int>(proc->rank), true);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_finalized(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t, void*) {
  if (object) server_of(object)->on_member(static_cast<int>(proc->rank), false);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_aborted(const pmix_proc_t* proc, void* object, int status,
                             const char message[], pmix_proc_t*, size_t, pmix_op_cbfunc_t, void*) {
  if (object)
    server_of(object)->on_abort(
        {static_cast<int>(proc->rank), status, message ? std::string(message) : ""});
  return PMIX_OPERATION_SUCCEEDED;
}

// All ranks are here, so what this node gave is what all gave. libpmix completes
// a fence without the ranks that died in it and says so in an attribute.
pmix_status_t fence(const pmix_proc_t*, size_t, const pmix_info_t* info, size_t info_count,
                    char* data, size_t bytes, pmix_modex_cbfunc_t done, void* done_data) {
  pmix_status_t status = PMIX_SUCCESS;
  for (size_t i = 0; i < info_count; ++i)
    if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS) && info[i].value.type == PMIX_STATUS)
      status = info[i].value.data.status;
  if (done) done(status, data, bytes, done_data, nullptr, nullptr);
  return PMIX_SUCCESS;
}

// Asked only for ranks of other nodes, of which there are none.
pmix_status_t direct_modex(const pmix_proc_t*, const pmix_info_t*, size_t, pmix_modex_cbfunc_t,
                           void*) {
  return PMIX_ERR_NOT_FOUND;
}

// libpmix has passed a rank's event to the ranks of this node already.
pmix_status_t notify_event(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t*,
                           size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t register_events(pmix_status_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t,
                              void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t make_module() {
  pmix_server_module_t module{};
  module.client_connected2 = client_connected;
  module.client_finalized = client_finalized;
  module.abort = client_aborted;
  module.fence_nb = fence;
  module.direct_modex = direct_modex;
  module.notify_event = notify_event;
  module.register_events = register_events;
  module.deregister_events = deregister_events;
  return module;
}

// ---- What the ranks are told of the job ---------------------------------------

std::string all_ranks(int ranks) {
  std::string list;
  for (int rank = 0; rank < ranks; ++rank) list += (rank ? "," : "") + std::to_string(rank);
  return list;
}

// libpmix's compressed form of a list of nodes or of ranks a node.
void add_map(Attributes& job, const char* key, const std::string& list,
             pmix_status_t (*compress)(const char*, char**)) {
  char* compressed = nullptr;
  if (compress(list.c_str(), &compressed) != PMIX_SUCCESS) return;
  job.add(key, compressed, PMIX_REGEX);
  std::free(compressed);
}

void describe_job(Attributes& job, const std::string& name, const std::string& host, int ranks) {
  uint32_t count = static_cast<uint32_t>(ranks);
  job.add(PMIX_JOBID, name);
  job.add(PMIX_UNIV_SIZE, count);
  job.add(PMIX_JOB_SIZE, count);
  job.add(PMIX_APP_SIZE, count);
  job.add(PMIX_LOCAL_SIZE, count);
  job.add(PMIX_NODE_SIZE, count);
  job.add(PMIX_MAX_PROCS, count);
  job.add(PMIX_JOB_NUM_APPS, 1);
  job.add(PMIX_NUM_NODES, 1);
  job.add_rank(PMIX_LOCALLDR, 0);
  job.add(PMIX_LOCAL_PEERS, all_ranks(ranks));
  add_map(job, PMIX_NODE_MAP, host, PMIx_generate_regex);
  add_map(job, PMIX_PROC_MAP, all_ranks(ranks), PMIx_generate_ppn);
}

void describe_node(Attributes& job, const std::string& host, int ranks) {
  Attributes node;
  node.add(PMIX_NODEID, 0);
  node.add(PMIX_HOSTNAME, host);
  node.add(PMIX_LOCAL_SIZE, static_cast<uint32_t>(ranks));
  node.add(PMIX_LOCAL_PEERS, all_ranks(ranks));
  job.add_list(PMIX_NODE_INFO_ARRAY, node);
}

void describe_rank(Attributes& job, const std::string& host, int rank) {
  Attributes proc;
  proc.add_rank(PMIX_RANK, rank);
  proc.add_rank(PMIX_GLOBAL_RANK, rank);
  proc.add_rank(PMIX_APP_RANK, rank);
  proc.add(PMIX_APPNUM, 0);
  proc.add_local_rank(PMIX_LOCAL_RANK, rank);
  proc.add_local_rank(PMIX_NODE_RANK, rank);
  proc.add(PMIX_NODEID, 0);
  proc.add(PMIX_HOSTNAME, host);
  job.add_list(PMIX_PROC_INFO_ARRAY, proc);
}

}  // namespace

PmixServer::PmixServer(const std::string& host, int ranks)
    : job_(fmt::format("sglrun-{}-{}", host, getpid())),
      host_(host),
      ranks_(ranks),
      abort_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      members_(static_cast<size_t>(ranks)) {}

Result<std::unique_ptr<PmixServer>> PmixServer::start(const std::string& scratch_dir,
                                                      const std::string& host, int ranks) {
  std::unique_ptr<PmixServer> server(new PmixServer(host, ranks));
  static pmix_server_module_t module = make_module();  // libpmix keeps the address
  Attributes settings;
  settings.add(PMIX_SERVER_TMPDIR, scratch_dir);
  settings.add(PMIX_SYSTEM_TMPDIR, scratch_dir);
  settings.add(PMIX_SERVER_NSPACE, server->job_ + "-server");
  settings.add_rank(PMIX_SERVER_RANK, 0);
  pmix_data_array_t array = settings.convert();
  pmix_status_t status =
      PMIx_server_init(&module, static_cast<pmix_info_t*>(array.array), array.size);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  if (!succeeded(status)) return pmix_error(status, "starting the PMIx server");
  server->running_ = true;
  SGL_TRY(server->register_job(scratch_dir));
  SGL_TRY(server->register_ranks());
  return server;
}

// libpmix waits where it is given no callback.
Status PmixServer::register_job(const std::string& scratch_dir) {
  Attributes job;
  describe_job(job, job_, host_, ranks_);
  job.add(PMIX_TMPDIR, scratch_dir);
  job.add(PMIX_NSDIR, scratch_dir);
  describe_node(job, host_, ranks_);
  for (int rank = 0; rank < ranks_; ++rank) describe_rank(job, host_, rank);
  pmix_data_array_t array = job.convert();
  pmix_status_t status = PMIx_server_register_nspace(
      job_.c_str(), ranks_, static_cast<pmix_info_t*>(array.array), array.size, nullptr, nullptr);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  return succeeded(status) ? Status() : pmix_error(status, "describing the job to the PMIx server");
}

Status PmixServer::register_ranks() {
  for (int rank = 0; rank < ranks_; ++rank) {
    pmix_proc_t proc;
    PMIX_PROC_LOAD(&proc, job_.c_str(), static_cast<pmix_rank_t>(rank));
    pmix_status_t status =
        PMIx_server_register_client(&proc, getuid(), getgid(), this, nullptr, nullptr);
    if (!succeeded(status)) return pmix_error(status, "announcing a rank to the PMIx server");
  }
  return {};
}

PmixServer::~PmixServer() {
  if (running_) {
    PMIx_server_deregister_nspace(job_.c_str(), nullptr, nullptr);
    PMIx_server_finalize();
  }
  close(abort_fd_);
}

Result<std::vector<std::string>> PmixServer::environment(int rank) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, job_.c_str(), static_cast<pmix_rank_t>(rank));
  char** variables = nullptr;
  pmix_status_t status = PMIx_server_setup_fork(&proc, &variables);
  if (!succeeded(status))
    return pmix_error(status, "asking the PMIx server for a rank's environment");
  std::vector<std::string> result;
  for (char** variable = variables; variable && *variable; ++variable) {
    result.emplace_back(*variable);
    std::free(*variable);
  }
  std::free(variables);
  return result;
}

void PmixServer::on_abort(AbortRequest request) {
  std::lock_guard guard(mutex_);
  abort_requests_.push_back(std::move(request));
  eventfd_write(abort_fd_, 1);
}

std::optional<AbortRequest> PmixServer::take_abort_request() {
  eventfd_t count;
  eventfd_read(abort_fd_, &count);
  std::lock_guard guard(mutex_);
  if (abort_requests_.empty()) return std::nullopt;
  AbortRequest first = std::move(abort_requests_.front());
  abort_requests_.clear();  // the first one decides, the job ends
  return first;
}

void PmixServer::notify_death(int rank, bool by_signal) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, job_.c_str(), static_cast<pmix_rank_t>(rank));
  pmix_info_t affected;
  PMIX_INFO_LOAD(&affected, PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
  static_cast<void>(
      PMIx_Notify_event(by_signal ? PMIX_ERR_PROC_ABORTED_BY_SIG : PMIX_ERR_PROC_TERM_WO_SYNC,
                        &proc, PMIX_RANGE_NAMESPACE, &affected, 1, nullptr, nullptr));
  PMIX_INFO_DESTRUCT(&affected);
}

}  // namespace sgl::run
