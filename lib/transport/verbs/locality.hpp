// How far a device is from the processors of a rank, by what the kernel tells of memory nodes.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace sgl {

// The kernel's distance (10 within a node) from the device's memory node to the nearest that has
// one of the processors; 0 where that is not known. `sys`: where sysfs is.
int distance_to_device(const std::filesystem::path& sys, const std::string& device,
                       std::span<const int> processors);

}  // namespace sgl
