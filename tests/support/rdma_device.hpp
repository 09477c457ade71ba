// Whether this machine has a device for the tests that need one.
#pragma once

#include <filesystem>
#include <system_error>

namespace sgl::test {

inline constexpr const char* kNoRdmaDevice = "this machine has no RDMA device";

inline bool has_rdma_device() {
  std::error_code failure;
  return !std::filesystem::is_empty("/sys/class/infiniband", failure) && !failure;
}

}  // namespace sgl::test
