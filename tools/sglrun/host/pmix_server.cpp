#include "sglrun/host/pmix_server.hpp"

#include "sglrun/host/pmix_attributes.hpp"
#include "sglrun/host/pmix_job.hpp"
#include "sglrun/wire/bytes.hpp"

#include <cstdlib>

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

// The server that start() made; libpmix does not hand every callback an object.
std::atomic<PmixServer*> the_server{nullptr};

// ---- What libpmix calls, on its own thread -----------------------------------

pmix_status_t client_connected(const pmix_proc_t* proc, void*, pmix_info_t*, size_t,
                               pmix_op_cbfunc_t, void*) {
  if (PmixServer* server = the_server) server->on_member(static_cast<int>(proc->rank), true);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  if (PmixServer* server = the_server) server->on_member(static_cast<int>(proc->rank), false);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_aborted(const pmix_proc_t* proc, void*, int status, const char text[],
                             pmix_proc_t*, size_t, pmix_op_cbfunc_t, void*) {
  Message message;
  message.kind = MessageKind::aborted;
  message.rank = static_cast<int>(proc->rank);
  message.number = status;
  if (text) message.text = text;
  if (PmixServer* server = the_server) server->on_message(std::move(message));
  return PMIX_OPERATION_SUCCEEDED;
}

// Called once this host's ranks of the fence are here. libpmix completes a fence
// without the ranks that died in it and says so in an attribute.
pmix_status_t fence(const pmix_proc_t* procs, size_t proc_count, const pmix_info_t* info,
                    size_t info_count, char* data, size_t bytes, pmix_modex_cbfunc_t done,
                    void* done_data) {
  PmixServer* server = the_server;
  if (!server) return PMIX_ERR_INIT;
  Message message;
  message.kind = MessageKind::fence;
  message.number = PMIX_SUCCESS;
  for (size_t i = 0; i < info_count; ++i)
    if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS) && info[i].value.type == PMIX_STATUS)
      message.number = info[i].value.data.status;
  for (size_t i = 0; i < proc_count; ++i) {
    if (!server->is_job(procs[i].nspace)) return PMIX_ERR_NOT_SUPPORTED;
    if (procs[i].rank == PMIX_RANK_WILDCARD)
      message.text = "*";
    else if (message.text != "*")
      message.text += fmt::format("{}{}", message.text.empty() ? "" : " ", procs[i].rank);
  }
  if (data) message.data.assign(data, bytes);
  server->on_question(std::move(message), done, done_data);
  return PMIX_SUCCESS;
}

// Asked only for ranks of other hosts.
pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t*, size_t,
                           pmix_modex_cbfunc_t done, void* done_data) {
  PmixServer* server = the_server;
  if (!server || !server->is_job(proc->nspace)) return PMIX_ERR_NOT_FOUND;
  Message message;
  message.kind = MessageKind::modex_request;
  message.rank = static_cast<int>(proc->rank);
  server->on_question(std::move(message), done, done_data);
  return PMIX_SUCCESS;
}

// libpmix has passed a rank's event to the ranks of this host already.
pmix_status_t notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                           pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t, void*) {
  if (PmixServer* server = the_server) server->on_event(code, *source, range, info, info_count);
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

void release_text(void* text) {
  delete static_cast<std::string*>(text);
}

void modex_found(pmix_status_t status, char* data, size_t bytes, void* question) {
  std::unique_ptr<uint64_t> id(static_cast<uint64_t*>(question));
  Message message;
  message.kind = MessageKind::modex_answer;
  message.id = *id;
  message.number = status;
  if (data) message.text.assign(data, bytes);
  if (PmixServer* server = the_server) server->on_message(std::move(message));
}

}  // namespace

// ---- Starting and ending ----------------------------------------------------------

PmixServer::PmixServer(const Setup& setup)
    : setup_(setup),
      own_ranks_(setup.ranks_on(setup.host)),
      message_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      members_(static_cast<size_t>(setup.ranks())) {}

Result<std::unique_ptr<PmixServer>> PmixServer::start(const std::string& scratch_dir,
                                                      const Setup& setup) {
  std::unique_ptr<PmixServer> server(new PmixServer(setup));
  static pmix_server_module_t module = make_module();  // libpmix keeps the address
  Attributes settings;
  settings.add(PMIX_SERVER_TMPDIR, scratch_dir);
  settings.add(PMIX_SYSTEM_TMPDIR, scratch_dir);
  settings.add(PMIX_SERVER_NSPACE, setup.job + "-server");
  settings.add_rank(PMIX_SERVER_RANK, setup.host);
  settings.add(PMIX_HOSTNAME, setup.hosts[static_cast<size_t>(setup.host)]);
  pmix_data_array_t array = settings.convert();
  pmix_status_t status =
      PMIx_server_init(&module, static_cast<pmix_info_t*>(array.array), array.size);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  if (!succeeded(status)) return pmix_error(status, "starting the PMIx server");
  server->running_ = true;
  the_server = server.get();
  SGL_TRY(server->register_job(scratch_dir));
  SGL_TRY(server->register_ranks());
  return server;
}

// libpmix waits where it is given no callback.
Status PmixServer::register_job(const std::string& scratch_dir) {
  Attributes job;
  describe_job(setup_, scratch_dir, &job);
  pmix_data_array_t array = job.convert();
  pmix_status_t status = PMIx_server_register_nspace(
      setup_.job.c_str(), static_cast<int>(own_ranks_.size()),
      static_cast<pmix_info_t*>(array.array), array.size, nullptr, nullptr);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  return succeeded(status) ? Status() : pmix_error(status, "describing the job to the PMIx server");
}

pmix_proc_t PmixServer::proc_of(int rank) const {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, setup_.job.c_str(), static_cast<pmix_rank_t>(rank));
  return proc;
}

Status PmixServer::register_ranks() {
  for (int rank : own_ranks_) {
    pmix_proc_t proc = proc_of(rank);
    pmix_status_t status =
        PMIx_server_register_client(&proc, getuid(), getgid(), this, nullptr, nullptr);
    if (!succeeded(status)) return pmix_error(status, "announcing a rank to the PMIx server");
  }
  return {};
}

PmixServer::~PmixServer() {
  if (running_) {
    PMIx_server_deregister_nspace(setup_.job.c_str(), nullptr, nullptr);
    PMIx_server_finalize();
    the_server = nullptr;
  }
  close(message_fd_);
}

Result<std::vector<std::string>> PmixServer::environment(int rank) {
  pmix_proc_t proc = proc_of(rank);
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

// ---- Messages to the other hosts ------------------------------------------------------

void PmixServer::on_message(Message message) {
  std::lock_guard guard(mutex_);
  messages_.push_back(std::move(message));
  eventfd_write(message_fd_, 1);
}

void PmixServer::on_question(Message message, pmix_modex_cbfunc_t done, void* done_data) {
  std::lock_guard guard(mutex_);
  message.id = ++last_id_;
  waiting_[message.id] = {done, done_data};
  messages_.push_back(std::move(message));
  eventfd_write(message_fd_, 1);
}

std::vector<Message> PmixServer::take_messages() {
  eventfd_t count;
  eventfd_read(message_fd_, &count);
  std::lock_guard guard(mutex_);
  return std::exchange(messages_, {});
}

// Of this host's ranks only; what came from another host has been there.
pmix_status_t PmixServer::on_event(pmix_status_t code, const pmix_proc_t& source,
                                   pmix_data_range_t range, pmix_info_t* info, size_t info_count) {
  bool own = is_job(source.nspace) && source.rank < members_.size() &&
             setup_.host_of_rank[source.rank] == setup_.host;
  if (!own || range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL) return PMIX_SUCCESS;
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_proc_t self = proc_of(own_ranks_.front());
  pmix_status_t status = PMIX_SUCCESS;
  for (size_t i = 0; i < info_count && status == PMIX_SUCCESS; ++i)
    status = PMIx_Data_pack(&self, &buffer, &info[i], 1, PMIX_INFO);
  ByteWriter out;
  out.u32(static_cast<uint32_t>(code));
  out.u32(source.rank);
  out.u8(range);
  out.u32(static_cast<uint32_t>(info_count));
  out.text({buffer.base_ptr, buffer.bytes_used});
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  if (status != PMIX_SUCCESS) return status;
  Message message;
  message.kind = MessageKind::event;
  message.text = out.take();
  on_message(std::move(message));
  return PMIX_SUCCESS;
}

// ---- Messages from the other hosts ------------------------------------------------------

void PmixServer::take(const Message& message) {
  switch (message.kind) {
    case MessageKind::fence_done:
    case MessageKind::modex_given:
      return answer(message);
    case MessageKind::modex_wanted:
      return look_up(message);
    case MessageKind::event:
      return deliver_event(message.text);
    case MessageKind::death:
      return tell_death(message.rank, message.number != 0);
    default:
      return;
  }
}

void PmixServer::answer(const Message& message) {
  Waiting waiting;
  {
    std::lock_guard guard(mutex_);
    auto found = waiting_.find(message.id);
    if (found == waiting_.end()) return;
    waiting = found->second;
    waiting_.erase(found);
  }
  // libpmix reads it on its own thread, then releases it.
  auto* text = new std::string(message.text);
  if (waiting.done)
    waiting.done(static_cast<pmix_status_t>(message.number), text->data(), text->size(),
                 waiting.data, release_text, text);
  else
    delete text;
}

void PmixServer::look_up(const Message& question) {
  bool own = question.rank >= 0 && question.rank < setup_.ranks() &&
             setup_.host_of_rank[static_cast<size_t>(question.rank)] == setup_.host;
  auto id = std::make_unique<uint64_t>(question.id);
  pmix_status_t status = PMIX_ERR_NOT_FOUND;
  if (own) {
    pmix_proc_t proc = proc_of(question.rank);
    status = PMIx_server_dmodex_request(&proc, modex_found, id.get());
  }
  if (status == PMIX_SUCCESS)
    static_cast<void>(id.release());  // modex_found deletes it
  else
    modex_found(status, nullptr, 0, id.release());
}

void PmixServer::deliver_event(const std::string& packed) {
  ByteReader in(packed);
  auto code = static_cast<pmix_status_t>(in.u32());
  pmix_proc_t source = proc_of(static_cast<int>(in.u32()));
  pmix_data_range_t range = in.u8();
  uint32_t count = in.u32();
  std::string bytes = in.text();
  if (!in.at_end() || count > bytes.size()) return;
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_byte_object_t object{bytes.data(), bytes.size()};
  pmix_status_t status = PMIx_Data_embed(&buffer, &object);  // copies
  pmix_info_t* info = nullptr;
  PMIX_INFO_CREATE(info, std::max(count, 1U));
  pmix_proc_t self = proc_of(own_ranks_.front());
  for (uint32_t i = 0; i < count && status == PMIX_SUCCESS; ++i) {
    int32_t one = 1;
    status = PMIx_Data_unpack(&self, &buffer, &info[i], &one, PMIX_INFO);
  }
  if (status == PMIX_SUCCESS)
    static_cast<void>(PMIx_Notify_event(code, &source, range, info, count, nullptr, nullptr));
  PMIX_INFO_FREE(info, std::max(count, 1U));
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

void PmixServer::tell_death(int rank, bool by_signal) {
  pmix_proc_t proc = proc_of(rank);
  pmix_info_t affected;
  PMIX_INFO_LOAD(&affected, PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
  static_cast<void>(
      PMIx_Notify_event(by_signal ? PMIX_ERR_PROC_ABORTED_BY_SIG : PMIX_ERR_PROC_TERM_WO_SYNC,
                        &proc, PMIX_RANGE_NAMESPACE, &affected, 1, nullptr, nullptr));
  PMIX_INFO_DESTRUCT(&affected);
}

}  // namespace sgl::run
