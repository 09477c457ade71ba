// Requests of the C interface: start, wait, test and free.
#include "api/requests.hpp"

#include <algorithm>

namespace sgl {
namespace {

// What a request owns goes back to where it came from.
void dispose(sglcoll_request request) {
  if (request->type) release_type(request->type);
  CommunicatorPtr communicator = request->communicator;
  communicator->recycle(std::move(request->operation));
  request_pool().drop(request);
}

bool is_complete(sglcoll_request request) {
  return !request || !request->active || !request->operation->running();
}

// The outcome of a complete request; frees it unless persistent.
Status collect(sglcoll_request* request) {
  if (!*request) return {};
  if (!(*request)->active) {
    if ((*request)->persistent) return {};
    return error(SGLCOLL_ERR_REQUEST, "the request is not active");
  }
  Status outcome = (*request)->operation->status().copy();
  (*request)->active = false;
  if (!(*request)->persistent) {
    dispose(*request);
    *request = nullptr;
  }
  return outcome;
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

// Requests freed while they were active, once they are complete.
void collect_abandoned() {
  std::vector<sglcoll_request> complete;
  request_pool().for_each_live([&](sglcoll_request_s& request) {
    if (request.abandoned && request.operation && !request.operation->running()) complete.push_back(&request);
  });
  for (sglcoll_request request : complete) dispose(request);
}

Status check_requests(int count, sglcoll_request* requests) {
  if (count < 0) return error(SGLCOLL_ERR_COUNT, "count is {}: it must be 0 or more", count);
  if (!requests && count > 0) return error(SGLCOLL_ERR_ARG, "requests is NULL: it must have {} entries", count);
  for (int i = 0; i < count; ++i)
    if (requests[i]) SGL_TRY(check_request("requests", i, requests[i]));
  return {};
}

// One turn of waiting in the world of each incomplete request.
void wait_turn_of(int count, sglcoll_request* requests, int64_t* idle_since) {
  World* last = nullptr;
  for (int i = 0; i < count; ++i) {
    if (is_complete(requests[i])) continue;
    World* world = requests[i]->communicator->world().get();
    if (world == last) continue;
    last = world;
    auto held = world->lock();
    world->wait_turn(held, idle_since);
  }
}

Status start_request(sglcoll_request request) {
  if (!request->persistent)
    return error(SGLCOLL_ERR_REQUEST, "request is not persistent: only those of the _init calls are started");
  if (request->active) return error(SGLCOLL_ERR_REQUEST, "request is active: wait for it before it is started again");
  auto held = request->communicator->world()->lock();
  SGL_TRY(request->communicator->start_persistent(*request->operation, request->id, request->epoch++));
  request->active = true;
  return {};
}

}  // namespace

Status run_collective(const CommunicatorPtr& communicator, std::unique_ptr<Operation> operation,
                      sglcoll_type user_type, Form form, sglcoll_request* request,
                      std::unique_lock<std::recursive_mutex>& held) {
  if (form == Form::blocking) {
    SGL_TRY(communicator->start(*operation));
    int64_t idle_since = 0;
    while (operation->running()) communicator->world()->wait_turn(held, &idle_since);
    Status outcome = operation->status().copy();
    communicator->recycle(std::move(operation));
    return outcome;
  }
  if (form == Form::nonblocking) SGL_TRY(communicator->start(*operation));
  collect_abandoned();
  sglcoll_request handle = request_pool().make(kLiveRequest);
  handle->communicator = communicator;
  handle->operation = std::move(operation);
  handle->persistent = form == Form::persistent;
  handle->active = form == Form::nonblocking;
  if (handle->persistent) handle->id = communicator->next_persistent_id();
  if (user_type) {
    ++user_type->users;
    handle->type = user_type;
  }
  *request = handle;
  return {};
}

}  // namespace sgl

using namespace sgl;  // NOLINT(google-build-using-namespace): this file is the C face of the namespace

extern "C" {

sglcoll_status sglcoll_start(sglcoll_request request) {
  return guarded([&]() -> Status {
    if (!request) return error(SGLCOLL_ERR_REQUEST, "request is NULL: give one of the _init calls");
    SGL_TRY(check_request("request", -1, request));
    return start_request(request);
  });
}

sglcoll_status sglcoll_startall(int count, sglcoll_request requests[]) {
  return guarded([&]() -> Status {
    SGL_TRY(check_requests(count, requests));
    for (int i = 0; i < count; ++i) {
      if (!requests[i]) return error(SGLCOLL_ERR_REQUEST, "requests[{}] is NULL: give one of the _init calls", i);
      SGL_TRY(start_request(requests[i]));
    }
    return {};
  });
}

sglcoll_status sglcoll_wait(sglcoll_request* request) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("request", request));
    if (!*request) return {};
    SGL_TRY(check_request("*request", -1, *request));
    int64_t idle_since = 0;
    while (!is_complete(*request)) wait_turn_of(1, request, &idle_since);
    return collect_all(1, request);
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
    world->engine().progress();
    if (!is_complete(*request)) {
      *complete = 0;
      return {};
    }
    *complete = 1;
    return collect(request);
  });
}

sglcoll_status sglcoll_waitall(int count, sglcoll_request requests[]) {
  return guarded([&]() -> Status {
    SGL_TRY(check_requests(count, requests));
    int64_t idle_since = 0;
    while (!std::all_of(requests, requests + count, is_complete)) wait_turn_of(count, requests, &idle_since);
    return collect_all(count, requests);
  });
}

sglcoll_status sglcoll_testall(int count, sglcoll_request requests[], int* complete) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("complete", complete));
    SGL_TRY(check_requests(count, requests));
    for (int i = 0; i < count; ++i) {
      if (is_complete(requests[i])) continue;
      auto held = requests[i]->communicator->world()->lock();
      requests[i]->communicator->world()->engine().progress();
    }
    *complete = std::all_of(requests, requests + count, is_complete);
    return *complete ? collect_all(count, requests) : Status();
  });
}

sglcoll_status sglcoll_waitany(int count, sglcoll_request requests[], int* index) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("index", index));
    SGL_TRY(check_requests(count, requests));
    auto waits = [](sglcoll_request request) { return request && request->active; };
    if (std::none_of(requests, requests + count, waits)) {
      *index = -1;
      return {};
    }
    for (int64_t idle_since = 0;;) {
      for (int i = 0; i < count; ++i) {
        if (!waits(requests[i]) || !is_complete(requests[i])) continue;
        std::shared_ptr<World> world = requests[i]->communicator->world();
        auto held = world->lock();
        *index = i;
        return collect(&requests[i]);
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
    bool running = (*request)->active && (*request)->operation->running();
    if (running && (*request)->persistent)
      return error(SGLCOLL_ERR_REQUEST, "*request is persistent and active: wait for it before it is freed");
    if (running) (*request)->abandoned = true;
    else dispose(*request);
    *request = nullptr;
    return {};
  });
}

}  // extern "C"
