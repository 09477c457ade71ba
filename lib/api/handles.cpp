#include "api/handles.hpp"

#include "base/settings.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace sgl {
namespace {

thread_local std::string last_error_text;

}  // namespace

// Never destroyed: handles may be used while static objects of the program go.
namespace {
std::atomic<uint64_t> freed_handles{0};
}  // namespace

uint64_t handle_generation() {
  return freed_handles.load(std::memory_order_relaxed);
}
void bump_handle_generation() {
  freed_handles.fetch_add(1, std::memory_order_relaxed);
}

HandlePool<sglcoll_type_s>& type_pool() {
  static auto* pool = new HandlePool<sglcoll_type_s>;
  return *pool;
}
HandlePool<sglcoll_op_s>& op_pool() {
  static auto* pool = new HandlePool<sglcoll_op_s>;
  return *pool;
}
HandlePool<sglcoll_comm_s>& comm_pool() {
  static auto* pool = new HandlePool<sglcoll_comm_s>;
  return *pool;
}
HandlePool<sglcoll_request_s>& request_pool() {
  static auto* pool = new HandlePool<sglcoll_request_s>;
  return *pool;
}

Code report(Status status) {
  last_error_text = status.text();
  if (setting_boolean("SGLCOLL_ABORT_ON_ERROR")) {
    std::fprintf(stderr, "[sglcoll] %s: %s\n", sglcoll_strerror(status.code()),
                 status.text().c_str());
    std::abort();
  }
  return status.code();
}

Result<TypePtr> use_type(const char* name, sglcoll_type type) {
  if (!type)
    return error(SGLCOLL_ERR_TYPE, "{} is NULL: give a datatype such as SGLCOLL_DOUBLE", name);
  if (type->live != kLiveType)
    return error(SGLCOLL_ERR_TYPE, "{} is not a live datatype: it was freed", name);
  return type->type;
}

Result<TypePtr> use_committed_type(const char* name, sglcoll_type type) {
  Result<TypePtr> found = use_type(name, type);
  if (found.ok() && !type->committed)
    return error(SGLCOLL_ERR_TYPE, "{} ({}) is not committed: call sglcoll_type_commit first", name,
                 found.value()->describe());
  return found;
}

Result<Op> use_op(sglcoll_op op) {
  if (!op) return error(SGLCOLL_ERR_OP, "op is NULL: give an operation such as SGLCOLL_SUM");
  if (op->live != kLiveOp) return error(SGLCOLL_ERR_OP, "op is not a live operation: it was freed");
  return op->op;
}

Status check_comm(sglcoll_comm comm) {
  if (!comm)
    return error(SGLCOLL_ERR_COMM,
                 "comm is NULL: give a communicator from sglcoll_init or made from one");
  if (comm->live != kLiveComm)
    return error(SGLCOLL_ERR_COMM,
                 "comm is not a live communicator: it was freed or its world is finalized");
  return comm->communicator->world()->check_caller();
}

Result<CommunicatorPtr> use_comm(sglcoll_comm comm) {
  SGL_TRY(check_comm(comm));
  return comm->communicator;
}

Status check_request(const char* name, int index, sglcoll_request request) {
  std::string where = index < 0 ? name : fmt::format("{}[{}]", name, index);
  if (request->live != kLiveRequest || request->abandoned)
    return error(SGLCOLL_ERR_REQUEST,
                 "{} is not a live request: it was freed or its world is finalized", where);
  return request->communicator->world()->check_caller();
}

void keep_type(sglcoll_type type) {
  std::atomic_ref(type->users).fetch_add(1);
}

void release_type(sglcoll_type type) {
  if (type->predefined) return;
  if (std::atomic_ref(type->users).fetch_sub(1) == 1) type_pool().drop(type);
}

Status give_text(const std::string& value, char* text, size_t text_bytes, size_t* needed_bytes) {
  if (!text && text_bytes > 0)
    return error(SGLCOLL_ERR_ARG, "text is NULL with text_bytes {}", text_bytes);
  if (needed_bytes) *needed_bytes = value.size() + 1;
  if (text_bytes == 0) return {};
  const size_t copied = value.copy(text, text_bytes - 1);
  text[copied] = '\0';
  return {};
}

}  // namespace sgl

extern "C" {

const char* sglcoll_strerror(sglcoll_status status) {
  switch (status) {
    case SGLCOLL_OK:
      return "success";
    case SGLCOLL_ERR_ARG:
      return "invalid argument";
    case SGLCOLL_ERR_TYPE:
      return "invalid datatype";
    case SGLCOLL_ERR_OP:
      return "invalid reduction operation";
    case SGLCOLL_ERR_COMM:
      return "invalid communicator";
    case SGLCOLL_ERR_REQUEST:
      return "invalid request";
    case SGLCOLL_ERR_COUNT:
      return "invalid count";
    case SGLCOLL_ERR_BUFFER:
      return "invalid buffer";
    case SGLCOLL_ERR_MISMATCH:
      return "arguments do not match";
    case SGLCOLL_ERR_NO_MEMORY:
      return "out of memory";
    case SGLCOLL_ERR_UNSUPPORTED:
      return "not supported here";
    case SGLCOLL_ERR_PEER_FAILED:
      return "a peer failed";
    case SGLCOLL_ERR_TIMEOUT:
      return "timed out";
    case SGLCOLL_ERR_BOOT:
      return "start-up failed";
    case SGLCOLL_ERR_SYSTEM:
      return "system call failed";
    case SGLCOLL_ERR_FORKED:
      return "used in a forked process";
    case SGLCOLL_ERR_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

const char* sglcoll_last_error(void) {
  return sgl::last_error_text.c_str();
}

sglcoll_status sglcoll_report_error(sglcoll_status status, const char* text) {
  return sgl::guarded([&]() -> sgl::Status {
    if (status == SGLCOLL_OK) return {};
    return sgl::Status(status, text ? text : sglcoll_strerror(status));
  });
}

void sglcoll_version(int* major, int* minor, int* patch) {
  if (major) *major = SGLCOLL_VERSION_MAJOR;
  if (minor) *minor = SGLCOLL_VERSION_MINOR;
  if (patch) *patch = SGLCOLL_VERSION_PATCH;
}

}  // extern "C"
