// The only file that knows hwloc: from its object tree to a Node.
#include "base/settings.hpp"
#include "topology/node.hpp"
#include "topology/node_build.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <hwloc.h>

namespace sgl {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

Result<Topology> make_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "hwloc cannot make a topology object: {}", strerror(errno));
  Topology topology(raw);
  // Accelerators are not in the model, so their runtimes need not be asked.
  // PCI devices are read from /sys by hwloc itself: libpciaccess is slower and leaks.
  for (const char* component : {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl", "pci"})
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  // Devices are wanted, but not the bridges between.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  return topology;
}

std::vector<int> os_indexes_of(hwloc_const_bitmap_t set) {
  std::vector<int> indexes;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) indexes.push_back(i);
  return indexes;
}

// Turns the objects of one loaded topology into the parts of a Node.
class Converter {
 public:
  explicit Converter(hwloc_topology_t topology) : topology_(topology) {}

  Result<Node> convert(std::string name) {
    node_.name = std::move(name);
    add_pus();
    const hwloc_obj_t root = hwloc_get_root_obj(topology_);
    add_domain(Level::machine, root, static_cast<int64_t>(root->total_memory));
    add_level(Level::package, HWLOC_OBJ_PACKAGE);
    add_level(Level::numa, HWLOC_OBJ_NUMANODE);
    add_level(Level::l3, HWLOC_OBJ_L3CACHE);
    add_level(Level::l2, HWLOC_OBJ_L2CACHE);
    add_level(Level::core, HWLOC_OBJ_CORE);
    add_level(Level::pu, HWLOC_OBJ_PU);
    // Without cores in the description every PU is one, so that all may count on cores.
    if (!node_.has(Level::core))
      node_.domains[static_cast<size_t>(Level::core)] =
          node_.domains[static_cast<size_t>(Level::pu)];
    add_devices();
    SGL_TRY(finish_node(&node_));
    return std::move(node_);
  }

 private:
  void add_pus() {
    const int count = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_PU);
    for (int i = 0; i < count; ++i) {
      const auto os_index = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PU, i)->os_index;
      if (os_index >= positions_.size()) positions_.resize(os_index + 1, -1);
      positions_[os_index] = i;
      node_.pus.push_back({static_cast<int>(os_index), {}});
    }
  }

  Domain range_of(hwloc_obj_t object) const {
    Domain range;
    range.os_index =
        object->os_index == HWLOC_UNKNOWN_INDEX ? -1 : static_cast<int>(object->os_index);
    range.first_pu = static_cast<int>(node_.pus.size());
    for (int os_index : os_indexes_of(object->cpuset)) {
      if (os_index >= static_cast<int>(positions_.size()) || positions_[os_index] < 0) continue;
      range.first_pu = std::min(range.first_pu, positions_[os_index]);
      ++range.pu_count;
    }
    return range;
  }

  void add_domain(Level level, hwloc_obj_t object, int64_t bytes) {
    Domain domain = range_of(object);
    domain.bytes = bytes;
    // Memory without processors has no place in the model. A second kind of memory of the
    // same processors (high-bandwidth beside normal) is no domain of its own either.
    auto& domains = node_.domains[static_cast<size_t>(level)];
    const bool again = std::ranges::any_of(domains, [&](const Domain& other) {
      return domain.first_pu < other.first_pu + other.pu_count &&
             other.first_pu < domain.first_pu + domain.pu_count;
    });
    if (domain.pu_count > 0 && !again) domains.push_back(domain);
  }

  void add_level(Level level, hwloc_obj_type_t type) {
    const int count = hwloc_get_nbobjs_by_type(topology_, type);
    for (int i = 0; i < count; ++i) {
      const hwloc_obj_t object = hwloc_get_obj_by_type(topology_, type, i);
      int64_t bytes = 0;
      if (type == HWLOC_OBJ_NUMANODE)
        bytes = static_cast<int64_t>(object->attr->numanode.local_memory);
      if (hwloc_obj_type_is_cache(type)) bytes = static_cast<int64_t>(object->attr->cache.size);
      add_domain(level, object, bytes);
    }
    std::ranges::sort(node_.domains[static_cast<size_t>(level)], {}, &Domain::first_pu);
  }

  void add_devices() {
    for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology_, device));) {
      if (device->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS) continue;
      Domain near = range_of(hwloc_get_non_io_ancestor_obj(topology_, device));
      if (near.pu_count == 0) near = node_.at(Level::machine).front();
      node_.devices.push_back({device->name ? device->name : "unnamed", near});
    }
    std::ranges::sort(node_.devices, {}, &NearDevice::name);
  }

  hwloc_topology_t topology_;
  Node node_;
  std::vector<int> positions_;  // by OS index
};

// Of this process; empty when hwloc cannot tell.
std::vector<int> allowed_pus(hwloc_topology_t topology) {
  Bitmap set(hwloc_bitmap_alloc());
  if (!set || hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) != 0) return {};
  return os_indexes_of(set.get());
}

enum class Source { xml_text, xml_file, synthetic };

bool looks_like_file_name(std::string_view text) {
  return text.ends_with(".xml") || (text.find('/') != text.npos && text.find(':') == text.npos);
}

Source source_of(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start != text.npos && text[start] == '<') return Source::xml_text;
  std::error_code ignored;
  const bool exists = text.size() < 4096 && std::filesystem::is_regular_file(text, ignored);
  return exists || looks_like_file_name(text) ? Source::xml_file : Source::synthetic;
}

Status set_source(hwloc_topology_t topology, Source source, const std::string& text) {
  switch (source) {
    case Source::xml_text:
      if (hwloc_topology_set_xmlbuffer(topology, text.c_str(), static_cast<int>(text.size() + 1)) ==
          0)
        return {};
      return error(SGLCOLL_ERR_ARG, "the topology's text begins with '<' but is not hwloc XML");
    case Source::xml_file:
      if (std::error_code missing; !std::filesystem::is_regular_file(text, missing))
        return error(SGLCOLL_ERR_ARG, "there is no topology file \"{}\"", text);
      if (hwloc_topology_set_xml(topology, text.c_str()) == 0) return {};
      return error(SGLCOLL_ERR_ARG,
                   "the topology file \"{}\" is not hwloc XML, as lstopo writes it", text);
    case Source::synthetic:
      if (hwloc_topology_set_synthetic(topology, text.c_str()) == 0) return {};
      return error(SGLCOLL_ERR_ARG,
                   "\"{}\" is neither a topology file nor a synthetic description, "
                   "e.g. \"package:2 l3:4 core:8 pu:2\"",
                   text);
  }
  return {};
}

std::string name_of(Source source, const std::string& text) {
  switch (source) {
    case Source::xml_text:
      return "hwloc XML";
    case Source::xml_file:
      return text;
    case Source::synthetic:
      return "synthetic " + text;
  }
  return {};
}

}  // namespace

Result<Node> load_node(std::string_view given) {
  const std::string text(given);
  const Source source = source_of(text);
  Result<Topology> topology = make_topology();
  if (!topology.ok()) return std::move(topology.status());
  SGL_TRY(set_source(topology.value().get(), source, text));
  if (hwloc_topology_load(topology.value().get()) != 0)
    return error(SGLCOLL_ERR_ARG, "hwloc cannot load the topology {}: {}", name_of(source, text),
                 strerror(errno));
  return Converter(topology.value().get()).convert(name_of(source, text));
}

Result<Node> discover_node(Scope scope) {
  if (const std::string planned = setting_text("SGLCOLL_TOPOLOGY"); !planned.empty()) {
    Result<Node> node = load_node(planned);
    if (node.ok()) return node;
    return error(node.status().code(), "SGLCOLL_TOPOLOGY: {}", node.status().text());
  }
  Result<Topology> topology = make_topology();
  if (!topology.ok()) return std::move(topology.status());
  const hwloc_topology_t raw = topology.value().get();
  if (hwloc_topology_load(raw) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "hwloc cannot discover this machine: {}", strerror(errno));
  // HWLOC_XMLFILE and HWLOC_SYNTHETIC make hwloc show another machine.
  const bool here = hwloc_topology_is_thissystem(raw) != 0;
  Result<Node> node = Converter(raw).convert(here ? "this machine" : "given to hwloc");
  if (!node.ok() || !here || scope == Scope::machine) return node;
  const std::vector<int> allowed = allowed_pus(raw);
  return allowed.empty() ? std::move(node) : restrict_node(node.value(), allowed);
}

}  // namespace sgl
