// What sglperf measures, over this library or over an MPI: the same loops, the same
// layouts, the same checks.
#pragma once

#include "support/layout_grammar.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace perf {

using sgl::tools::has_fixed_size;
using sgl::tools::parse_layout;
using sgl::tools::Shape;

// Where buffers come from: malloc, or the library's own allocator.
enum class Memory { malloced, allocated };

// Derived: the collective on the layout's datatype. Packed: pack, collective on
// contiguous data, unpack (with buffers allocated beforehand).
enum class Mode { derived, packed };

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string describe() const = 0;  // library, version and data path

  // Zeroed and touched, aligned to a cache line.
  virtual int32_t* allocate(int64_t elements, Memory memory) = 0;
  virtual void release(int32_t* memory) = 0;

  // What later runs do: one layout a rank (or a block). All that depends on it is made here, so
  // that a run is a call of the library and nothing else.
  virtual void prepare(const std::string& collective, int root, const Shape& shape, Mode mode) = 0;
  // One collective. Buffers hold as many layouts as traffic.hpp says, at shape.extent elements.
  virtual void run(const int32_t* send, int32_t* recv) = 0;
  virtual void barrier() = 0;
  // Gathers doubles from all ranks, equal lengths.
  virtual std::vector<double> gather_all(const std::vector<double>& mine) = 0;

  // What this rank did since the start, by name; empty where the library does not tell.
  virtual std::vector<std::pair<std::string, double>> counters() const { return {}; }
};

std::unique_ptr<Backend> make_backend();

// Memory::malloced: zeroed, aligned to a cache line, to be freed with free().
int32_t* allocate_private(size_t bytes);

}  // namespace perf
