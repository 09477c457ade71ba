// The plan of a request as a text.
#include "api/requests.hpp"
#include "comm/explain_operation.hpp"

using namespace sgl;  // NOLINT(google-build-using-namespace): this file is the C face of the
                      // namespace

extern "C" {

sglcoll_status sglcoll_explain_request(sglcoll_request request, char* text, size_t text_bytes,
                                       size_t* needed_bytes) {
  return guarded([&]() -> Status {
    if (!request) return error(SGLCOLL_ERR_REQUEST, "request is NULL: it must be a live request");
    SGL_TRY(check_request("request", -1, request));
    std::shared_ptr<World> world = request->communicator->world();
    auto held = world->lock();
    SGL_ASSIGN(explanation, explain_operation(*world, *request->operation));
    return give_text(explanation, text, text_bytes, needed_bytes);
  });
}

}  // extern "C"
