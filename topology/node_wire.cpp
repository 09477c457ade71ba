// The compact form of a Node: magic, name, PUs, domains by level, devices, as integers of
// seven bits a byte (most are small), each with its sign in the lowest bit.
#include "topology/node.hpp"
#include "topology/node_build.hpp"

namespace sgl {
namespace {

constexpr int64_t kMagic = 0x53474c4e01;  // "SGLN", format 1

class Writer {
 public:
  void number(int64_t value) {
    uint64_t rest = static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<std::byte>(rest | 0x80));
    bytes_.push_back(static_cast<std::byte>(rest));
  }
  void text(const std::string& value) {
    number(static_cast<int64_t>(value.size()));
    for (char c : value) bytes_.push_back(static_cast<std::byte>(c));
  }
  void domain(const Domain& value) {
    number(value.os_index);
    number(value.first_pu);
    number(value.pu_count);
    number(value.bytes);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// After the first failure every read gives zero and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

  int64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = std::to_integer<uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
    }
    ok_ = false;
    return 0;
  }
  int int_number() {
    const int64_t value = number();
    if (value != static_cast<int>(value)) ok_ = false;
    return ok_ ? static_cast<int>(value) : 0;
  }
  // Of things that take at least one byte each: a forged count costs no memory.
  size_t count() {
    const int64_t value = number();
    if (value < 0 || static_cast<uint64_t>(value) > bytes_.size()) ok_ = false;
    return ok_ ? static_cast<size_t>(value) : 0;
  }
  std::string text() {
    const size_t length = count();
    std::string value(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return value;
  }
  Domain domain() {
    Domain value;
    value.os_index = int_number();
    value.first_pu = int_number();
    value.pu_count = int_number();
    value.bytes = number();
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace

std::vector<std::byte> serialise_node(const Node& node) {
  Writer out;
  out.number(kMagic);
  out.text(node.name);
  out.number(static_cast<int64_t>(node.pus.size()));
  for (const Pu& pu : node.pus) out.number(pu.os_index);
  for (const auto& domains : node.domains) {
    out.number(static_cast<int64_t>(domains.size()));
    for (const Domain& domain : domains) out.domain(domain);
  }
  out.number(static_cast<int64_t>(node.devices.size()));
  for (const NearDevice& device : node.devices) {
    out.text(device.name);
    out.domain(device.locality);
  }
  return out.take();
}

Result<Node> deserialise_node(std::span<const std::byte> bytes) {
  Reader in(bytes);
  if (in.number() != kMagic)
    return error(SGLCOLL_ERR_ARG, "{} bytes do not begin as a serialised node of this library",
                 bytes.size());
  Node node;
  node.name = in.text();
  node.pus.resize(in.count());
  for (Pu& pu : node.pus) pu.os_index = in.int_number();
  for (auto& domains : node.domains) {
    domains.resize(in.count());
    for (Domain& domain : domains) domain = in.domain();
  }
  node.devices.resize(in.count());
  for (NearDevice& device : node.devices) {
    device.name = in.text();
    device.locality = in.domain();
  }
  if (!in.ok() || !in.at_end())
    return error(SGLCOLL_ERR_ARG, "a serialised node of {} bytes is {}", bytes.size(),
                 in.ok() ? "followed by other bytes" : "cut off or damaged");
  SGL_TRY(finish_node(&node));
  return node;
}

}  // namespace sgl
