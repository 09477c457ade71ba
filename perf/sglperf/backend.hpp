// What sglperf measures, over this library or over an MPI: the same loops, the same
// layouts, the same checks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/layout_grammar.hpp"

namespace perf {

using sgl::tools::has_fixed_size;
using sgl::tools::parse_layout;
using sgl::tools::Shape;

enum class Memory { private_memory, shared };

// Derived: the collective on the layout's datatype. Packed: pack, collective on
// contiguous data, unpack (with buffers allocated beforehand).
enum class Mode { derived, packed };

// The names of the collectives, and "memcpy": every rank copies, by itself, the bytes
// that it would receive in an allgather (the floor).
const std::vector<std::string>& collective_names();

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string describe() const = 0;  // library, version and data path

  virtual int32_t* allocate(int64_t elements, Memory memory) = 0;
  virtual void release(int32_t* memory) = 0;

  // The datatype of later runs.
  virtual void set_layout(const Shape& shape, Mode mode) = 0;
  // One collective: one layout a rank (or a block); buffers hold size() of them where
  // the collective needs it, at shape.extent elements.
  virtual void run(const std::string& collective, const int32_t* send, int32_t* recv, int root) = 0;
  virtual void barrier() = 0;
  // Gathers doubles from all ranks, equal lengths.
  virtual std::vector<double> gather_all(const std::vector<double>& mine) = 0;

  // Blocks that this rank gives to and gets from a collective (bcast gives none here:
  // its data is in the receive buffer).
  int blocks_sent(const std::string& collective, int root) const {
    if (collective == "reduce_scatter_block" || collective == "reduce_scatter") return size();
    if (collective == "scatter" || collective == "scatterv") return rank() == root ? size() : 0;
    return collective == "bcast" || collective == "barrier" ? 0 : 1;
  }
  int blocks_received(const std::string& collective, int root) const {
    if (collective == "allgather" || collective == "allgatherv" || collective == "memcpy") return size();
    if (collective == "gather" || collective == "gatherv") return rank() == root ? size() : 0;
    if (collective == "reduce") return rank() == root ? 1 : 0;
    return collective == "barrier" ? 0 : 1;
  }
};

std::unique_ptr<Backend> make_backend();

}  // namespace perf
