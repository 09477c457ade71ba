#include "info/probe.hpp"

#include "base/settings.hpp"
#include "info/cross_memory_probe.hpp"
#include "transport/verbs/verbs.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl::info {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevicesFolder = "/sys/class/infiniband";
constexpr const char* kVerbsFolder = "/sys/class/infiniband_verbs";

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The word in brackets of "always [madvise] never".
std::string chosen_word(const std::string& line) {
  const size_t open = line.find('['), close = line.find(']');
  return open < close && close != line.npos ? line.substr(open + 1, close - open - 1) : "unknown";
}

Probe probe_memfd() {
  const int fd = memfd_create("sglcoll-info", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  bool works = fd >= 0 && ftruncate(fd, 1 << 16) == 0 &&
               fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
  void* memory =
      works ? mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  works = memory != MAP_FAILED;
  const int cause = errno;
  if (works) munmap(memory, 1 << 16);
  if (fd >= 0) close(fd);
  if (works)
    return {kMemfdProbe, ProbeState::works, "sealed shared memory can be made and mapped", "",
            true};
  return {kMemfdProbe, ProbeState::fails,
          fmt::format("memfd_create, seal or mmap: {}", strerror(cause)),
          "use a kernel of 3.17 or later and allow memfd_create in the container's seccomp filter",
          true};
}

Probe probe_cross_memory() {
  const int failure = probe_sibling_read();
  // Only a user who insists on this path cannot do without it.
  const bool needed = setting_text("SGLCOLL_SHM_PATH") == "cma";
  if (failure == 0)
    return {kCrossMemoryProbe, ProbeState::works, "process_vm_readv reads a sibling's memory", "",
            needed};
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  std::string remedy =
      "allow process_vm_readv in the container's seccomp filter (docker run "
      "--cap-add SYS_PTRACE, or a profile that permits it)";
  if (failure == EPERM && !scope.empty() && scope != "0")
    remedy = "sysctl kernel.yama.ptrace_scope=0 (it is " + scope + ")";
  return {kCrossMemoryProbe, ProbeState::fails,
          fmt::format("process_vm_readv of a sibling's memory: {}", strerror(failure)),
          remedy + "; until then private memory is copied through shared slots", needed};
}

Probe probe_pidfd() {
  const long fd = syscall(SYS_pidfd_open, getpid(), 0);
  if (fd >= 0) {
    close(static_cast<int>(fd));
    return {"pidfd", ProbeState::works, "a peer's death is seen at once", "", false};
  }
  return {"pidfd", ProbeState::fails, fmt::format("pidfd_open: {}", strerror(errno)),
          "use a kernel of 5.3 or later; until then a peer's death is found by asking from time to "
          "time",
          false};
}

Probe probe_huge_pages() {
  const fs::path folder = "/sys/kernel/mm/transparent_hugepage";
  const std::string shared = chosen_word(first_line(folder / "shmem_enabled"));
  const std::string detail =
      fmt::format("transparent huge pages: {} for private memory, {} for shared",
                  chosen_word(first_line(folder / "enabled")), shared);
  const bool given =
      shared == "always" || shared == "advise" || shared == "within_size" || shared == "force";
  if (given) return {"huge pages", ProbeState::works, detail, "", false};
  return {"huge pages", ProbeState::absent, detail,
          "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled makes sglcoll_mem_alloc "
          "use them",
          false};
}

std::vector<fs::path> device_folders() {
  std::vector<fs::path> folders;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kDevicesFolder, none))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

Probe probe_memlock() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const std::string detail =
      unlimited ? "unlimited" : fmt::format("{} KiB may be locked", limit.rlim_cur >> 10);
  // Registration pins user buffers, so any limit is met sooner or later; shm pins nothing.
  if (unlimited) return {"memlock", ProbeState::works, detail, "", false};
  const bool needed = !device_folders().empty();
  return {"memlock", needed ? ProbeState::fails : ProbeState::absent,
          detail + (needed ? "" : ", and nothing needs it without an RDMA device"),
          "set \"* - memlock unlimited\" in /etc/security/limits.conf, LimitMEMLOCK=infinity for a "
          "service, --ulimit memlock=-1 for a container",
          needed};
}

Probe probe_pmix() {
  void* library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return {"PMIx", ProbeState::fails, dlerror(), "install the PMIx library (Debian: libpmix2)",
            true};
  using VersionFunction = const char* (*)();
  const auto version = reinterpret_cast<VersionFunction>(dlsym(library, "PMIx_Get_version"));
  std::string detail = version ? version() : "a library without PMIx_Get_version";
  dlclose(library);
  const char* job = std::getenv("PMIX_NAMESPACE");
  detail +=
      job ? fmt::format("; this process is in job {}", job) : "; not started by a PMIx launcher";
  return {"PMIx", ProbeState::works, detail, "", true};
}

std::string describe_ports(const fs::path& device) {
  std::vector<std::string> ports;
  std::error_code none;
  for (const auto& port : fs::directory_iterator(device / "ports", none))
    ports.push_back(fmt::format(
        "port {} {}, {}, {}", port.path().filename().string(), first_line(port.path() / "state"),
        first_line(port.path() / "link_layer"), first_line(port.path() / "rate")));
  std::ranges::sort(ports);
  return fmt::format("{}", fmt::join(ports, "; "));
}

// The character device through which a program drives it; an emulated one has no device folder.
std::string verbs_file(const fs::path& device) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kVerbsFolder, none))
    if (first_line(entry.path() / "ibdev") == device.filename())
      return "/dev/infiniband/" + entry.path().filename().string();
  return "";
}

void probe_devices(std::vector<Probe>* probes) {
  const std::vector<fs::path> folders = device_folders();
  if (folders.empty())
    probes->push_back(
        {"RDMA devices", ProbeState::absent, fmt::format("none in {}", kDevicesFolder), "", false});
  for (const fs::path& folder : folders) {
    Probe probe = {"RDMA device " + folder.filename().string(), ProbeState::works,
                   describe_ports(folder), "", false};
    const std::string file = verbs_file(folder);
    if (probe.detail.find("ACTIVE") == std::string::npos) {
      probe.state = ProbeState::fails;
      probe.remedy = "no port is active: check the cable and, on InfiniBand, the subnet manager";
    } else if (file.empty() || access(file.c_str(), R_OK | W_OK) != 0) {
      probe.state = ProbeState::fails;
      probe.remedy = file.empty() ? "load the kernel module ib_uverbs"
                                  : fmt::format("give this user access to {}", file);
    }
    probes->push_back(std::move(probe));
  }
}

// Which ports a rank would use, by the code that it runs, and why not the others.
void probe_ports(std::vector<Probe>* probes) {
  if (device_folders().empty()) return;
  Result<VerbsWishes> wishes = verbs_wishes();
  Result<PortChoices> choices =
      wishes.ok() ? choose_verbs_ports(wishes.value()) : std::move(wishes.status());
  if (!choices.ok()) {
    probes->push_back({"RDMA ports", ProbeState::fails, choices.status().text(), "", false});
    return;
  }
  for (const PortChoice& choice : choices.value().taken)
    probes->push_back({"RDMA port", ProbeState::works, "used: " + choice.why, "", false});
  for (const RefusedPort& refused : choices.value().refused)
    probes->push_back({"RDMA port", ProbeState::absent,
                       fmt::format("not used: {}: {}", refused.port, refused.why), "", false});
}

}  // namespace

const char* probe_state_name(ProbeState state) {
  switch (state) {
    case ProbeState::works:
      return "works";
    case ProbeState::absent:
      return "absent";
    case ProbeState::fails:
      return "fails";
  }
  return "";
}

std::vector<Probe> run_probes() {
  std::vector<Probe> probes = {probe_memfd(),      probe_cross_memory(), probe_pidfd(),
                               probe_huge_pages(), probe_memlock(),      probe_pmix()};
  probe_devices(&probes);
  probe_ports(&probes);
  return probes;
}

const Probe& find_probe(const std::vector<Probe>& probes, const std::string& name) {
  auto found = std::ranges::find(probes, name, &Probe::name);
  assert(found != probes.end());
  return *found;
}

bool check_passed(const std::vector<Probe>& probes) {
  return std::ranges::none_of(
      probes, [](const Probe& probe) { return probe.needed && probe.state == ProbeState::fails; });
}

std::vector<DataPath> data_paths(const std::vector<Probe>& probes) {
  const std::string wish = setting_text("SGLCOLL_SHM_PATH");
  const Probe& memfd = find_probe(probes, kMemfdProbe);
  const Probe& cross_memory = find_probe(probes, kCrossMemoryProbe);
  auto path = [&](const char* name, bool wanted, const Probe& probe, const char* use) {
    const bool works = probe.state == ProbeState::works;
    std::string reason = !wanted ? fmt::format("taken away by SGLCOLL_SHM_PATH={}", wish)
                         : works ? fmt::format("{}; {}", use, probe.detail)
                                 : probe.detail;
    return DataPath{name, wanted && works, std::move(reason)};
  };
  return {path("map", wish == "auto" || wish == "direct", memfd,
               "memory from sglcoll_mem_alloc is loaded and stored in place"),
          path("read", wish == "auto" || wish == "cma", cross_memory,
               "other memory is copied once, by the kernel"),
          path("push", true, memfd, "what remains is copied twice, through shared slots")};
}

}  // namespace sgl::info
