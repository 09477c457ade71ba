// How the ranks of a job find each other before any transport exists, and hear
// of each other's death.
//
// An object belongs to one thread at a time, except poll_failed_rank(), which
// any thread may call at any time. The collective functions (allgather,
// node_ranks) must be called by all ranks in the same order; they are
// for start-up and shutdown only, at O(size) bytes a call and rank.
#pragma once

#include "base/status.hpp"

#include <sglcoll/sglcoll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sgl {

class Boot {
 public:
  Boot(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Boot() = default;
  Boot(const Boot&) = delete;
  Boot& operator=(const Boot&) = delete;

  virtual int rank() const { return rank_; }
  virtual int size() const { return size_; }

  // Collective. Every rank gives the same number of bytes; *all becomes
  // size() * mine.size() bytes in rank order. Unequal lengths are an error. Returns when
  // every rank has called it, also with no bytes at all.
  virtual Status allgather(std::span<const std::byte> mine, std::vector<std::byte>* all) = 0;

  // The ranks that share this rank's node (one kernel and one process-id
  // namespace, so that memory can be shared and processes watched), itself
  // included, ascending. Collective.
  virtual Result<std::vector<int>> node_ranks() = 0;

  // A rank that the launcher reported dead, each at most once; does not block.
  virtual std::optional<int> poll_failed_rank() { return std::nullopt; }

  // Ends the use of this object; only the destructor and poll_failed_rank() may
  // follow. Does not wait for the other ranks. A later boot_*() may join again.
  virtual Status finalize() = 0;

 private:
  int rank_;
  int size_;
};

// Rank 0 of 1: a program started without a launcher.
std::unique_ptr<Boot> boot_single();

// The job of the PMIx launcher that started this process (PMIX_NAMESPACE and
// PMIX_RANK are set): sglrun, srun --mpi=pmix or Open MPI's mpirun.
Result<std::unique_ptr<Boot>> boot_pmix();

// An embedding program's own allgather. `exchange` is copied; its context must
// outlive the object.
Result<std::unique_ptr<Boot>> boot_exchange(const sglcoll_exchange& exchange);

// What a program without a wish of its own gets: `exchange` if it is not null,
// else PMIx if its launcher started this process, else a job of one rank.
Result<std::unique_ptr<Boot>> boot_auto(const sglcoll_exchange* exchange);

}  // namespace sgl
