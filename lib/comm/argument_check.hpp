// Checks that several collectives share.
#pragma once

#include "base/status.hpp"
#include "comm/arguments.hpp"

#include <cstdint>

namespace sgl {

// A count that is not negative, whose elements' bytes and span fit in 64 bits and
// whose address is not null (unless there is nothing at it).
Status check_buffer(const BufferArgument& buffer, int64_t elements);
Status check_blocks(const BlocksArgument& blocks, int size);
Status check_root(int root, int size);
Status check_not_in_place(const char* name, bool in_place);
// The operation is defined on the type (all its elements of one basic type).
Status check_reduction(const OpArgument& op, const TypePtr& type);
Status check_signatures(const BufferArgument& send, int64_t send_elements, const char* recv_name,
                        const TypePtr& recv_type, int64_t recv_elements);
// The payloads of two bindings share no byte. Exact for up to some thousands of
// runs; beyond that only overlapping ranges of contiguous layouts are refused.
Status check_no_overlap(const char* first_name, const Binding& first, const char* second_name,
                        const Binding& second);

}  // namespace sgl
