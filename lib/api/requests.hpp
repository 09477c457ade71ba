// Running a collective in one of its three forms.
#pragma once

#include "api/handles.hpp"

namespace sgl {

enum class Form { blocking, nonblocking, persistent };

// `call` as made by comm/arguments.hpp; `user_type` is kept alive for a user's
// operation (may be null). request: null for the blocking form.
Status run_collective(const CommunicatorPtr& communicator, CollectiveCall call, sglcoll_type user_type, Form form,
                      sglcoll_request* request);

}  // namespace sgl
