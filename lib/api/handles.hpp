// What the C handles point to, and the way in and out of every C function.
//
// Handles live in pools that are never given back, so that a freed handle is
// recognised instead of being read after its end.
#pragma once

#include "base/status.hpp"
#include "comm/communicator.hpp"
#include "datatype/type.hpp"
#include "op/op.hpp"

#include <sglcoll/sglcoll.h>

#include <deque>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

struct sglcoll_type_s {
  uint64_t live = 0;  // the handle's kind while it is live, else 0
  sgl::TypePtr type;
  bool committed = false;
  bool predefined = false;
  int users = 0;  // the user's handle and operations in flight; by keep_type and release_type
};

struct sglcoll_op_s {
  uint64_t live = 0;
  sgl::Op op;
  bool predefined = false;
};

struct sglcoll_comm_s {
  uint64_t live = 0;
  sgl::CommunicatorPtr communicator;
  bool is_world = false;
};

struct sglcoll_request_s {
  uint64_t live = 0;
  sgl::CommunicatorPtr communicator;
  std::unique_ptr<sgl::Operation> operation;
  bool persistent = false;
  bool active = false;
  bool abandoned = false;  // freed while active: goes when it is complete
  uint32_t id = 0, epoch = 0;
  sglcoll_type type = nullptr;  // kept for a user's operation
  uint64_t listed = 0;          // the last list of requests that it was found in
};

namespace sgl {

// Marks of live handles, a kind each.
inline constexpr uint64_t kLiveType = 0x7479'7065'5347'4c31;
inline constexpr uint64_t kLiveOp = 0x6f70'6f70'5347'4c31;
inline constexpr uint64_t kLiveComm = 0x636f'6d6d'5347'4c31;
inline constexpr uint64_t kLiveRequest = 0x7265'7175'5347'4c31;

void bump_handle_generation();

template <class T>
class HandlePool {
 public:
  // A handle that holds `content` is live from now on; never before it is filled, as
  // visitors on other threads see every live handle.
  T* make(uint64_t mark, T content) {
    std::lock_guard lock(mutex_);
    T* handle = nullptr;
    if (free_.empty()) {
      handle = &storage_.emplace_back();
    } else {
      handle = free_.back();
      free_.pop_back();
    }
    *handle = std::move(content);
    handle->live = mark;
    return handle;
  }
  void drop(T* handle) {
    T emptied;  // destroyed outside the lock
    std::lock_guard lock(mutex_);
    std::swap(emptied, *handle);
    free_.push_back(handle);
    if constexpr (!std::is_same_v<T, sglcoll_request_s>) bump_handle_generation();
  }
  // Ends the live handles that `belongs` picks.
  template <class F>
  void drop_if(F belongs) {
    std::vector<T> emptied;
    std::lock_guard lock(mutex_);
    for (T& handle : storage_) {
      if (!handle.live || !belongs(handle)) continue;
      std::swap(emptied.emplace_back(), handle);
      free_.push_back(&handle);
    }
  }

 private:
  std::mutex mutex_;
  std::deque<T> storage_;
  std::vector<T*> free_;
};

// Changes whenever a handle is freed: a remembered handle may then be another's.
uint64_t handle_generation();

HandlePool<sglcoll_type_s>& type_pool();
HandlePool<sglcoll_op_s>& op_pool();
HandlePool<sglcoll_comm_s>& comm_pool();
HandlePool<sglcoll_request_s>& request_pool();

// Keeps the text for sglcoll_last_error and gives the code (and aborts when
// SGLCOLL_ABORT_ON_ERROR asks for it).
Code report(Status status);

// Runs the body of a C function; nothing it throws leaves the library.
template <class Body>
Code guarded(Body body) {
  try {
    Status status = body();
    return status.ok() ? SGLCOLL_OK : report(std::move(status));
  } catch (const std::bad_alloc&) {
    return report(Status(SGLCOLL_ERR_NO_MEMORY, "memory could not be allocated"));
  } catch (const std::exception& failure) {
    return report(Status(SGLCOLL_ERR_INTERNAL, failure.what()));
  } catch (...) {
    return report(Status(SGLCOLL_ERR_INTERNAL, "a function of the caller threw"));
  }
}

template <class T>
Status check_output(const char* name, T* output) {
  if (output) return {};
  return error(SGLCOLL_ERR_ARG, "{} is NULL: it must point to the place of the result", name);
}

// The object of a handle, or why there is none.
Result<TypePtr> use_type(const char* name, sglcoll_type type);  // any live type
Result<TypePtr> use_committed_type(const char* name, sglcoll_type type);
Result<Op> use_op(sglcoll_op op);
Status check_comm(sglcoll_comm comm);  // where use_comm's share in it would take too long
Result<CommunicatorPtr> use_comm(sglcoll_comm comm);
Status check_request(const char* name, int index, sglcoll_request request);

// Adds a user to a type's handle, and takes one away; the last one ends the handle.
void keep_type(sglcoll_type type);
void release_type(sglcoll_type type);

// Writes as much of the value as `text` has room for with a final 0; needed_bytes may be null.
Status give_text(const std::string& value, char* text, size_t text_bytes, size_t* needed_bytes);

// Declares `variable` from a Result, or returns its failure.
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared takes none
#define SGL_ASSIGN(variable, expression)                                     \
  auto variable##_result = (expression);                                     \
  if (!variable##_result.ok()) return std::move(variable##_result.status()); \
  auto variable = variable##_result.take()
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace sgl
