// What the ranks of a host are told of their job.
#pragma once

#include "sglrun/host/pmix_attributes.hpp"
#include "sglrun/wire/message.hpp"

#include <string>

namespace sgl::run {

// The job, its hosts and each of its ranks, as seen from the host setup.host.
void describe_job(const Setup& setup, const std::string& scratch_dir, Attributes* job);

}  // namespace sgl::run
