// What a batch costs, from named constants: the base of the choice between an SGE
// and a copy, and of the number of SGEs a WR should have. docs/sgl.md says of each
// constant what it means and where its value comes from.
#pragma once

#include "sgl/batch.hpp"

#include <cstdint>
#include <vector>

namespace sgl {

// Additive: the parts of a batch are taken as one after the other, though a device
// overlaps them, so a time is an upper estimate; comparisons are what it is for.
struct CostModel {
  double doorbell_ns;           // telling the device, once a batch
  double completion_ns;         // polling the one completion of a batch
  double wr_ns;                 // building and processing one WR, its first block included
  double block_ns;              // each further 64-byte block of a WR
  double sge_ns;                // each entry of the local list
  double remote_sge_ns;         // each entry of a send's remote list; a remote range is in wr_ns
  double byte_ns;               // moving one byte
  double copy_run_ns;           // packing or unpacking: each run of memory
  double copy_byte_ns;          //   and each byte
  double registration_ns;       // registering a region
  double registration_page_ns;  //   and each page of it

  // A 100 Gb/s adapter of the mlx5 family. Assumed values, not measured.
  static CostModel device();
  // process_vm_readv between two processes of a node; a WR is one system call.
  // Measured by perf/micro/cost_bench.
  static CostModel cross_memory();
};

// 64-byte blocks of the WQE that holds a WR with `sges` local entries, as the mlx5
// family lays it out: 16 bytes of control, 16 of remote address for a write or
// read, 16 for each SGE. A write has 2 SGEs in one block and 6 in two, a send 3 and 7.
int wqe_blocks(TransferShape shape, int sges);

// The same for the receive queue, whose entries have no control segment: 4 SGEs a block.
int receive_wqe_blocks(int sges);

// The SGE counts up to `limit` that fill their blocks, ascending: 2, 6, 10 ... for
// writes and reads, 3, 7, 11 ... for sends, and `limit` itself.
std::vector<int> full_block_sge_counts(TransferShape shape, int limit);

double predict_request_ns(const CostModel& model, const WorkRequest& request);
// CPU time for the packed SGEs of a batch, on this side.
double predict_packing_ns(const CostModel& model, const Batch& batch);
double predict_batch_ns(const CostModel& model, const Batch& batch);
double predict_registration_ns(const CostModel& model, int64_t bytes, int64_t page_bytes);

// The length in bytes below which a run, one of many such neighbours, is cheaper
// copied into a packed SGE than sent by an SGE of its own, in WRs of `sges_per_wr`
// SGEs. 0: a copy never pays. The value for SglRules::pack_below_bytes.
int64_t pack_crossover_bytes(const CostModel& model, TransferShape shape, int sges_per_wr);

// The rules with what the model decides filled in; limits as for BatchCompiler.
SglRules rules_for(const CostModel& model, TransferShape shape, const SglLimits& limits);

}  // namespace sgl
