#include "perf/sge_sweep/fit.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <cmath>

namespace sge_sweep {

namespace {

constexpr int kRounds = 9;

template <class Run>
Result<double> median_ns(Run run) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; round++) {
    const int64_t start = sgl::now_ns();
    SGL_TRY(run());
    times.push_back(static_cast<double>(sgl::now_ns() - start));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// ns of a WR = fixed + sges * entry + bytes * byte: least squares of relative errors, so
// that the small ones count as much as the large ones. Negative results become 0.
struct WrCost {
  double fixed = 0, entry = 0, byte = 0;
};
WrCost fit_wr(const std::vector<Row>& rows, Shape shape) {
  double a[3][4] = {};
  for (const Row& row : rows) {
    if (row.what.shape != shape || row.what.way != Way::sgl) continue;
    const double ns = row.timing.ns / row.what.messages();
    const double x[3] = {1, static_cast<double>(row.what.sges),
                         static_cast<double>(row.what.sges) * row.what.segment_bytes};
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 3; j++) a[i][j] += x[i] * x[j] / (ns * ns);
      a[i][3] += x[i] / ns;
    }
  }
  for (int pivot = 0; pivot < 3; pivot++) {
    if (std::abs(a[pivot][pivot]) < 1e-30) return {};
    for (int i = 0; i < 3; i++) {
      if (i == pivot) continue;
      const double factor = a[i][pivot] / a[pivot][pivot];
      for (int j = pivot; j < 4; j++) a[i][j] -= factor * a[pivot][j];
    }
  }
  const auto solution = [&](int i) { return std::max(0.0, a[i][3] / a[i][i]); };
  return {solution(0), solution(1), solution(2)};
}

// A copy's constants from packing short and longer segments.
Status fit_copy(const Buffers& buffers, sgl::CostModel* model) {
  constexpr uint32_t segments = 2048, small = 8, large = 512;
  Result<double> times[2] = {0.0, 0.0};
  for (uint32_t bytes : {small, large}) {
    const Case what{Shape::gather, Way::packed, 1, bytes, segments};
    times[bytes == large] = median_ns([&] {
      buffers.pack(what, 0, segments);
      return Status();
    });
  }
  model->copy_byte_ns =
      std::max(0.0, (times[1].value() - times[0].value()) / segments / (large - small));
  model->copy_run_ns = std::max(0.0, times[0].value() / segments - small * model->copy_byte_ns);
  return {};
}

// A chain of 8-byte writes with one doorbell and one completion, then with one of each more.
Status fit_posting(Link& link, sgl::CostModel* model) {
  constexpr int count = 16;
  ibv_sge word{reinterpret_cast<uint64_t>(link.buffers().flat_memory.data()), 8,
               link.buffers().flat_memory.lkey()};
  const auto writes = [&](bool chained, bool all_signalled) {
    return median_ns([&]() -> Status {
      ibv_send_wr wrs[count] = {};
      for (int i = 0; i < count; i++) {
        wrs[i].opcode = IBV_WR_RDMA_WRITE;
        wrs[i].sg_list = &word;
        wrs[i].num_sge = 1;
        wrs[i].send_flags = all_signalled || i == count - 1 ? IBV_SEND_SIGNALED : 0;
        wrs[i].wr.rdma.remote_addr = link.remote().flat;
        wrs[i].wr.rdma.rkey = link.remote().flat_rkey;
        wrs[i].next = chained && i < count - 1 ? &wrs[i + 1] : nullptr;
      }
      for (int i = 0; i < (chained ? 1 : count); i++) SGL_TRY(link.endpoint().post(&wrs[i]));
      return link.endpoint().await_sends(all_signalled ? count : 1);
    });
  };
  Result<double> chain = writes(true, false), doorbells = writes(false, false),
                 completions = writes(true, true);
  for (auto* result : {&chain, &doorbells, &completions}) {
    if (!result->ok()) return std::move(result->status());
  }
  model->doorbell_ns = std::max(0.0, (doorbells.value() - chain.value()) / (count - 1));
  model->completion_ns = std::max(0.0, (completions.value() - chain.value()) / (count - 1));
  return {};
}

Status fit_registration(Link& link, sgl::CostModel* model) {
  constexpr size_t page = 4096, pages = 256;
  const auto registering = [&](size_t bytes) {
    return median_ns([&] {
      Result<Region> region =
          register_memory(link.domain(), link.buffers().strided_memory.data(), bytes);
      return std::move(region.status());
    });
  };
  Result<double> one = registering(page), many = registering(page * pages);
  if (!one.ok()) return std::move(one.status());
  if (!many.ok()) return std::move(many.status());
  model->registration_page_ns = std::max(0.0, (many.value() - one.value()) / (pages - 1));
  model->registration_ns = std::max(0.0, one.value() - model->registration_page_ns);
  return {};
}

}  // namespace

Result<sgl::CostModel> fit_model(Link& link, const std::vector<Row>& rows) {
  sgl::CostModel model{};  // no block_ns: it cannot be told from sge_ns
  const WrCost write = fit_wr(rows, Shape::gather), send = fit_wr(rows, Shape::both);
  model.wr_ns = write.fixed;
  model.sge_ns = write.entry;
  model.byte_ns = write.byte;
  model.remote_sge_ns = std::max(0.0, send.entry - write.entry);
  SGL_TRY(fit_copy(link.buffers(), &model));
  SGL_TRY(fit_posting(link, &model));
  SGL_TRY(fit_registration(link, &model));
  return model;
}

}  // namespace sge_sweep
