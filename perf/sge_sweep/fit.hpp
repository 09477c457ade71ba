// The constants of the cost model from what was measured.
#pragma once

#include "perf/sge_sweep/sweep.hpp"

namespace sge_sweep {

// Needs rows of gather and of both, way sgl; measures by itself what they do not
// show: doorbell, completion, copying and registration.
Result<sgl::CostModel> fit_model(Link& link, const std::vector<Row>& rows);

}  // namespace sge_sweep
