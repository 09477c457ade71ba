// A collective of the C interface by name, on one layout of the tools' grammar.
#pragma once

#include "support/layout_grammar.hpp"

#include <sglcoll/sglcoll.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sgl::test {

sglcoll_type committed_type(const tools::Shape& shape);

// Buffers for `size` layouts on each side.
struct CallBuffers {
  std::vector<int32_t> send, recv;
  CallBuffers(const tools::Shape& send_shape, const tools::Shape& recv_shape, int size);
};

sglcoll_status call(const std::string& collective, CallBuffers& buffers, sglcoll_type send_type,
                    sglcoll_type recv_type, int root, sglcoll_comm comm);

}  // namespace sgl::test
