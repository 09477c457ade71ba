// Finds and loads the verbs component: <folder of this library>/sglcoll/libsglcoll_verbs.so.
#include "base/settings.hpp"
#include "transport/verbs/module.hpp"
#include "transport/verbs/verbs.hpp"

#include <algorithm>
#include <climits>

#include <dlfcn.h>
#include <unistd.h>

namespace sgl {
namespace {

constexpr char kModuleFile[] = "sglcoll/libsglcoll_verbs.so";

// The folder of the file that holds this code.
std::string own_folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&own_folder), &info) || !info.dli_fname) return ".";
  std::string file = info.dli_fname;
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// Beside the library, or where the library is when this is a program of bin.
std::string module_file() {
  std::string beside = own_folder() + "/" + kModuleFile;
  for (const char* library : {SGLCOLL_LIBRARY_FOLDER, "lib"}) {
    std::string file = own_folder() + "/../" + library + "/" + kModuleFile;
    if (access(beside.c_str(), R_OK) != 0 && access(file.c_str(), R_OK) == 0) return file;
  }
  return beside;
}

Result<const VerbsModule*> load() {
  const std::string file = module_file();
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "the verbs component cannot be loaded: {} (it needs libibverbs.so.1 and "
                 "librdmacm.so.1, of Debian's libibverbs1 with ibverbs-providers, and librdmacm1)",
                 dlerror());
  auto entry = reinterpret_cast<VerbsModuleEntry>(dlsym(handle, kVerbsModuleEntry));
  const VerbsModule* module = entry ? entry() : nullptr;
  if (!module || module->version != kVerbsModuleVersion) {
    dlclose(handle);
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "{} is of another version of the library: install both from one build", file);
  }
  return module;  // stays loaded: threads of libibverbs' providers may live in it
}

Result<const VerbsModule*> loaded() {
  static Result<const VerbsModule*> module = load();
  if (!module.ok()) return module.status().copy();
  return module.value();
}

std::optional<int> wished(std::string_view name) {
  std::optional<int64_t> value = setting_automatic(name);
  if (!value) return std::nullopt;
  return static_cast<int>(std::min<int64_t>(*value, INT_MAX));
}

}  // namespace

Result<RcDevices> open_verbs_devices(const VerbsWishes& wishes, int rank) {
  Result<const VerbsModule*> module = loaded();
  if (!module.ok()) return std::move(module.status());
  return module.value()->open(wishes, rank);
}

Result<PortChoices> choose_verbs_ports(const VerbsWishes& wishes) {
  Result<const VerbsModule*> module = loaded();
  if (!module.ok()) return std::move(module.status());
  return module.value()->choose(wishes);
}

Result<VerbsWishes> verbs_wishes() {
  VerbsWishes wishes;
  wishes.device = setting_text("SGLCOLL_DEVICE");
  wishes.port = wished("SGLCOLL_PORT");
  wishes.gid_index = wished("SGLCOLL_GID_INDEX");
  wishes.pkey = wished("SGLCOLL_PKEY");
  wishes.mtu_bytes = wished("SGLCOLL_MTU");
  auto number = [](const char* name) {
    return static_cast<int>(std::min<int64_t>(setting_integer(name), INT_MAX));
  };
  wishes.service_level = number("SGLCOLL_SL");
  wishes.traffic_class = number("SGLCOLL_TRAFFIC_CLASS");
  wishes.max_sge = number("SGLCOLL_MAX_SGE");
  wishes.rails = wished("SGLCOLL_RAILS").value_or(0);
  wishes.connect_by_cm = setting_text("SGLCOLL_CONNECT") != "start";
  return wishes;
}

Result<std::unique_ptr<Transport>> make_verbs_transport(const RcBootstrap& bootstrap) {
  RcDevices devices;
  Result<VerbsWishes> wishes = verbs_wishes();
  Status opened = wishes.ok() ? Status() : std::move(wishes.status());
  if (opened.ok()) {
    Result<RcDevices> made = open_verbs_devices(wishes.value(), bootstrap.rank);
    opened = made.ok() ? Status() : std::move(made.status());
    if (made.ok()) devices = made.take();
  }
  // A rank without a device tells the others, who would else wait for it.
  const std::byte failed{!opened.ok()};
  std::vector<std::byte> all;
  SGL_TRY(bootstrap.allgather({&failed, 1}, &all));
  SGL_TRY(std::move(opened));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != std::byte{0})
      return error(SGLCOLL_ERR_UNSUPPORTED,
                   "rank {} has no RDMA device that can be used; its own error says why", rank);
  return connect_rc(bootstrap, std::move(devices), rc_options());
}

}  // namespace sgl
