// A collective's call in the form that this thread uses.
#pragma once

#include "api/oracle.hpp"

namespace sgl::test {

// As use_form() has set it.
Form form_in_use();

template <class Blocking, class Nonblocking, class Persistent, class... Arguments>
sglcoll_status run_in_form(Blocking blocking, Nonblocking nonblocking, Persistent persistent,
                           Arguments... arguments) {
  sglcoll_request request = nullptr;
  switch (form_in_use()) {
    case Form::blocking:
      return blocking(arguments...);
    case Form::nonblocking: {
      const sglcoll_status status = nonblocking(arguments..., &request);
      return status == SGLCOLL_OK ? sglcoll_wait(&request) : status;
    }
    case Form::persistent: {
      sglcoll_status status = persistent(arguments..., &request);
      if (status == SGLCOLL_OK) status = sglcoll_start(request);
      if (status == SGLCOLL_OK) status = sglcoll_wait(&request);
      EXPECT_OK(sglcoll_request_free(&request));
      return status;
    }
  }
  return SGLCOLL_ERR_INTERNAL;
}

#define CALL(name, ...) \
  run_in_form(sglcoll_##name, sglcoll_i##name, sglcoll_##name##_init, __VA_ARGS__)

}  // namespace sgl::test
