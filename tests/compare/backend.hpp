// The library under test, behind one call.
#pragma once

#include "compare/draw.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sgl::compare {

// What one rank passes to the draw's collective. A null buffer is one that does not
// matter on this rank, `in_place` the library's own marker in place of the buffer.
struct Call {
  struct Buffer {
    void* address = nullptr;
    bool in_place = false;
  };
  Buffer send, recv;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The failure's text, or "".
  virtual std::string run(const Draw& draw, const Call& call) = 0;
};

std::unique_ptr<Backend> make_backend();

// A user's operation as both libraries call it: `count` elements of the type with `map`.
void apply(Op op, const test::TypeMap& map, int64_t count, const void* in, void* inout);

}  // namespace sgl::compare
