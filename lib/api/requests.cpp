// Requests of the C interface: start, wait, test and free.
#include "api/requests.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace sgl {
namespace {

// Requests that were freed while active; each is ended once it is complete, by the next
// nonblocking call in its world.
struct FreedRequests {
  std::mutex mutex;
  std::vector<sglcoll_request> list;
};
FreedRequests& freed_requests() {
  static auto* freed = new FreedRequests;  // never destroyed, as the pools
  return *freed;
}

// The functions that take a request expect the lock of its world held.

bool is_running(sglcoll_request request) {
  return request->active && request->operation->running();
}

// What a request owns goes back to where it came from.
void dispose(sglcoll_request request) {
  if (request->type) release_type(request->type);
  CommunicatorPtr communicator = request->communicator;
  communicator->recycle(std::move(request->operation));
  request_pool().drop(request);
}

// The outcome of a request that is not running; frees it unless persistent.
Status collect(sglcoll_request* request) {
  if (!(*request)->active) return {};
  Status outcome = (*request)->operation->status().copy();
  (*request)->active = false;
  if (!(*request)->persistent) {
    dispose(*request);
    *request = nullptr;
  }
  return outcome;
}

// Takes complete requests of the world off the list and ends them; returns how many of
// the world are left.
int collect_freed(const World& world) {
  FreedRequests& freed = freed_requests();
  std::vector<sglcoll_request> complete;
  int running = 0;
  {
    std::lock_guard lock(freed.mutex);
    std::erase_if(freed.list, [&](sglcoll_request request) {
      if (request->communicator->world().get() != &world) return false;
      if (is_running(request)) return ++running, false;
      complete.push_back(request);
      return true;
    });
  }
  for (sglcoll_request request : complete) dispose(request);
  return running;
}

// The functions below take the lock themselves, as a list may be of several worlds.

bool is_complete(sglcoll_request request) {
  if (!request) return true;
  auto held = request->communicator->world()->lock();
  return !is_running(request);
}

bool all_complete(int count, sglcoll_request* requests) {
  return std::all_of(requests, requests + count, is_complete);
}

// The first failure in list order, once all are collected.
Status collect_all(int count, sglcoll_request* requests) {
  Status first;
  for (int i = 0; i < count; ++i) {
    if (!requests[i]) continue;
    std::shared_ptr<World> world = requests[i]->communicator->world();
    auto held = world->lock();
    Status outcome = collect(&requests[i]);
    if (first.ok()) first = std::move(outcome);
  }
  return first;
}

Status check_requests(int count, sglcoll_request* requests) {
  if (count < 0) return error(SGLCOLL_ERR_COUNT, "count is {}: it must be 0 or more", count);
  if (!requests && count > 0)
    return error(SGLCOLL_ERR_ARG, "requests is NULL: it must have {} entries", count);
  static std::atomic<uint64_t> lists{0};
  const uint64_t list = ++lists;
  for (int i = 0; i < count; ++i) {
    if (!requests[i]) continue;
    SGL_TRY(check_request("requests", i, requests[i]));
    if (std::exchange(requests[i]->listed, list) == list)
      return error(SGLCOLL_ERR_REQUEST, "requests[{}] is the same as requests[{}]: list each once",
                   i, std::find(requests, requests + i, requests[i]) - requests);
  }
  return {};
}

// One step, `turn`, in the world of each incomplete request.
template <class Turn>
void in_each_world(int count, sglcoll_request* requests, Turn turn) {
  World* last = nullptr;
  for (int i = 0; i < count; ++i) {
    if (!requests[i]) continue;
    World* world = requests[i]->communicator->world().get();
    if (world == last) continue;
    auto held = world->lock();
    if (!is_running(requests[i])) continue;
    last = world;
    turn(*world, held);
  }
}

void wait_turn_of(int count, sglcoll_request* requests, int64_t* idle_since) {
  in_each_world(count, requests,
                [&](World& world, auto& held) { world.wait_turn(held, idle_since); });
}

Status check_startable(const char* name, int index, sglcoll_request request) {
  std::string where = index < 0 ? name : fmt::format("{}[{}]", name, index);
  if (!request) return error(SGLCOLL_ERR_REQUEST, "{} is NULL: give one of the _init calls", where);
  SGL_TRY(check_request(name, index, request));
  if (!request->persistent)
    return error(SGLCOLL_ERR_REQUEST,
                 "{} is not persistent: only those of the _init calls are started", where);
  auto held = request->communicator->world()->lock();
  if (request->active)
    return error(SGLCOLL_ERR_REQUEST, "{} is active: wait for it before it is started again",
                 where);
  return {};
}

Status start_request(sglcoll_request request) {
  auto held = request->communicator->world()->lock();
  SGL_TRY(
      request->communicator->start_persistent(*request->operation, request->id, request->epoch));
  ++request->epoch;
  request->active = true;
  return {};
}

}  // namespace

Status run_collective(const CommunicatorPtr& communicator, std::unique_ptr<Operation> operation,
                      sglcoll_type user_type, Form form, sglcoll_request* request,
                      std::unique_lock<std::recursive_mutex>& held) {
  if (form == Form::blocking) {
    SGL_TRY(communicator->run(*operation, held));
    communicator->recycle(std::move(operation));
    return {};
  }
  if (form == Form::nonblocking) SGL_TRY(communicator->start(*operation));
  collect_freed(*communicator->world());
  const bool persistent = form == Form::persistent;
  const uint32_t id = persistent ? communicator->next_persistent_id() : 0;
  if (user_type) keep_type(user_type);
  *request = request_pool().make(kLiveRequest, {0, communicator, std::move(operation), persistent,
                                                !persistent, false, id, 0, user_type});
  return {};
}

void finish_freed_requests(World& world, std::unique_lock<std::recursive_mutex>& held) {
  int64_t idle_since = 0;
  while (collect_freed(world) > 0) world.wait_turn(held, &idle_since);
}

void end_requests_of(const World& world) {
  request_pool().drop_if([&](sglcoll_request_s& request) {
    if (request.communicator->world().get() != &world) return false;
    if (request.type) release_type(request.type);
    return true;
  });
}

}  // namespace sgl

using namespace sgl;  // NOLINT(google-build-using-namespace): this file is the C face of the
                      // namespace

extern "C" {

sglcoll_status sglcoll_start(sglcoll_request request) {
  return guarded([&]() -> Status {
    SGL_TRY(check_startable("request", -1, request));
    return start_request(request);
  });
}

sglcoll_status sglcoll_startall(int count, sglcoll_request requests[]) {
  return guarded([&]() -> Status {
    SGL_TRY(check_requests(count, requests));
    for (int i = 0; i < count; ++i) {
      SGL_TRY(check_startable("requests", i, requests[i]));
    }
    for (int i = 0; i < count; ++i) SGL_TRY(start_request(requests[i]));
    return {};
  });
}

sglcoll_status sglcoll_wait(sglcoll_request* request) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("request", request));
    if (!*request) return {};
    SGL_TRY(check_request("*request", -1, *request));
    std::shared_ptr<World> world = (*request)->communicator->world();
    auto held = world->lock();
    int64_t idle_since = 0;
    while (is_running(*request)) world->wait_turn(held, &idle_since);
    return collect(request);
  });
}

sglcoll_status sglcoll_test(sglcoll_request* request, int* complete) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("complete", complete));
    SGL_TRY(check_output("request", request));
    if (!*request) {
      *complete = 1;
      return {};
    }
    SGL_TRY(check_request("*request", -1, *request));
    std::shared_ptr<World> world = (*request)->communicator->world();
    auto held = world->lock();
    world->progress();
    *complete = !is_running(*request);
    return *complete ? collect(request) : Status();
  });
}

sglcoll_status sglcoll_waitall(int count, sglcoll_request requests[]) {
  return guarded([&]() -> Status {
    SGL_TRY(check_requests(count, requests));
    int64_t idle_since = 0;
    while (!all_complete(count, requests)) wait_turn_of(count, requests, &idle_since);
    return collect_all(count, requests);
  });
}

sglcoll_status sglcoll_testall(int count, sglcoll_request requests[], int* complete) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("complete", complete));
    SGL_TRY(check_requests(count, requests));
    in_each_world(count, requests, [](World& world, auto&) { world.progress(); });
    *complete = all_complete(count, requests);
    return *complete ? collect_all(count, requests) : Status();
  });
}

sglcoll_status sglcoll_waitany(int count, sglcoll_request requests[], int* index) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("index", index));
    SGL_TRY(check_requests(count, requests));
    for (int64_t idle_since = 0;;) {
      bool none_active = true;
      for (int i = 0; i < count; ++i) {
        if (!requests[i]) continue;
        std::shared_ptr<World> world = requests[i]->communicator->world();
        auto held = world->lock();
        if (!requests[i]->active) continue;
        none_active = false;
        if (is_running(requests[i])) continue;
        *index = i;
        return collect(&requests[i]);
      }
      if (none_active) {
        *index = -1;
        return {};
      }
      wait_turn_of(count, requests, &idle_since);
    }
  });
}

sglcoll_status sglcoll_request_free(sglcoll_request* request) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("request", request));
    if (!*request) return {};
    SGL_TRY(check_request("*request", -1, *request));
    std::shared_ptr<World> world = (*request)->communicator->world();
    auto held = world->lock();
    const bool running = is_running(*request);
    if ((*request)->active && (*request)->persistent)
      return error(SGLCOLL_ERR_REQUEST,
                   "*request is persistent and active: wait for it before it is freed");
    if (running) {
      (*request)->abandoned = true;
      std::lock_guard lock(freed_requests().mutex);
      freed_requests().list.push_back(*request);
    } else {
      dispose(*request);
    }
    *request = nullptr;
    return {};
  });
}

}  // extern "C"
