// What this machine gives the library: each probe tries the thing itself.
#pragma once

#include <string>
#include <vector>

namespace sgl::info {

enum class ProbeState { works, absent, fails };
const char* probe_state_name(ProbeState state);

struct Probe {
  std::string name;
  ProbeState state = ProbeState::works;
  std::string detail;   // what was found
  std::string remedy;   // what to do about it; empty when it works
  bool needed = false;  // the library does not run (as configured) without it
};

// Names of the probes that others ask for.
inline constexpr const char* kCrossMemoryProbe = "cross-memory access";
inline constexpr const char* kMemfdProbe = "memfd";

// Runs all of them, some milliseconds; forks two short-lived children.
std::vector<Probe> run_probes();

const Probe& find_probe(const std::vector<Probe>& probes, const std::string& name);

// Nothing that the library needs failed.
bool check_passed(const std::vector<Probe>& probes);

// A data path of the shm transport (docs/shm.md) on this machine.
struct DataPath {
  std::string name;
  bool used = false;
  std::string reason;
};

// In the order in which the transport prefers them, under the setting SGLCOLL_SHM_PATH.
std::vector<DataPath> data_paths(const std::vector<Probe>& probes);

}  // namespace sgl::info
