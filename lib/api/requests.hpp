// Running a collective in one of its three forms.
#pragma once

#include "api/handles.hpp"

namespace sgl {

enum class Form { blocking, nonblocking, persistent };

// `operation` as prepared and not started; `user_type` is kept alive for a user's
// operation (may be null). request: null for the blocking form. The world's lock is held.
Status run_collective(const CommunicatorPtr& communicator, std::unique_ptr<Operation> operation,
                      sglcoll_type user_type, Form form, sglcoll_request* request,
                      std::unique_lock<std::recursive_mutex>& held);

// Waits for the operations of the world whose requests were freed while active: nobody
// else can.
void finish_freed_requests(World& world, std::unique_lock<std::recursive_mutex>& held);
// Ends all requests of the world; none may be running.
void end_requests_of(const World& world);

}  // namespace sgl
