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

}  // namespace sgl
