#include "perf/sge_sweep/cases.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace sge_sweep {

namespace {

constexpr uint32_t kMisalignment = 13;
constexpr size_t kPatternSteps = 64 << 10;

uint32_t stride_of(const Case& what) {
  return 2 * ((what.segment_bytes + 63) / 64 * 64);
}
std::byte gap_byte() {
  return std::byte{0xa5};
}

}  // namespace

const char* name_of(Shape shape) {
  constexpr std::array names{"gather", "scatter", "both"};
  return names[static_cast<size_t>(shape)];
}
const char* name_of(Way way) {
  constexpr std::array names{"sgl", "packed", "single", "apart", "unaligned"};
  return names[static_cast<size_t>(way)];
}

// Whole WRs, so that the segments of each are neighbours in the flat memory.
uint32_t Case::ring() const {
  const uint32_t wrs = std::max(1U, static_cast<uint32_t>(kFlatBytes) / (segment_bytes * sges));
  return std::min((segments + sges - 1) / sges, wrs) * sges;
}

std::span<const std::byte> pattern(uint64_t position, size_t bytes) {
  static const std::vector<std::byte> source = [] {
    std::vector<std::byte> made(kFlatBytes + kPatternSteps);
    std::mt19937_64 random(1);
    for (std::byte& value : made) value = static_cast<std::byte>(random());
    return made;
  }();
  return {source.data() + position % kPatternSteps, bytes};
}

Result<Buffers> Buffers::make(ibv_pd* domain) {
  Buffers buffers;
  Result<Memory> strided = Memory::make(domain, kStridedBytes);
  if (!strided.ok()) return std::move(strided.status());
  Result<Memory> flat = Memory::make(domain, kFlatBytes);
  if (!flat.ok()) return std::move(flat.status());
  buffers.strided_memory = strided.take();
  buffers.flat_memory = flat.take();
  return buffers;
}

std::byte* Buffers::strided(const Case& what, uint32_t segment) const {
  return strided_memory.data() + size_t{segment % what.ring()} * stride_of(what) +
         (what.way == Way::unaligned ? kMisalignment : 0);
}

std::byte* Buffers::flat(const Case& what, uint32_t segment) const {
  return flat_memory.data() + size_t{segment % what.ring()} * what.segment_bytes;
}

void Buffers::clear() const {
  std::memset(strided_memory.data(), static_cast<int>(gap_byte()), strided_memory.size());
  std::memset(flat_memory.data(), static_cast<int>(gap_byte()), flat_memory.size());
}

void Buffers::fill(const Case& what, uint32_t seed, bool in_strided) const {
  for (uint32_t i = 0; i < std::min(what.ring(), what.segments); i++) {
    std::byte* to = in_strided ? strided(what, i) : flat(what, i);
    std::memcpy(to, pattern(seed + uint64_t{i} * 101, what.segment_bytes).data(),
                what.segment_bytes);
  }
}

Status Buffers::check(const Case& what, uint32_t seed, bool in_strided) const {
  for (uint32_t i = 0; i < std::min(what.ring(), what.segments); i++) {
    const std::byte* at = in_strided ? strided(what, i) : flat(what, i);
    const auto wanted = pattern(seed + uint64_t{i} * 101, what.segment_bytes);
    const bool gap_kept = !in_strided || at[what.segment_bytes] == gap_byte();
    if (gap_kept && std::memcmp(at, wanted.data(), what.segment_bytes) == 0) continue;
    return sgl::error(SGLCOLL_ERR_INTERNAL, "wrong data: {} {}, {} SGEs of {} bytes, segment {}{}",
                      name_of(what.shape), name_of(what.way), what.sges, what.segment_bytes, i,
                      gap_kept ? "" : ", the gap after it");
  }
  return {};
}

void Buffers::pack(const Case& what, uint32_t first, uint32_t count) const {
  for (uint32_t i = first; i < first + count; i++) {
    std::memcpy(flat(what, i), strided(what, i), what.segment_bytes);
  }
}

void Buffers::unpack(const Case& what, uint32_t first, uint32_t count) const {
  for (uint32_t i = first; i < first + count; i++) {
    std::memcpy(strided(what, i), flat(what, i), what.segment_bytes);
  }
}

Status LocalTarget::prepare(const Case& what, uint32_t seed) {
  buffers_.clear();
  if (what.shape == Shape::scatter) buffers_.fill(what, seed, /*in_strided=*/false);
  return what.shape == Shape::both ? post_receives(what) : Status();
}

Status LocalTarget::post_receives(const Case& what) {
  const uint32_t step = what.per_wr();
  std::vector<ibv_sge> list(what.way == Way::packed ? 1 : step);
  for (uint32_t first = 0; first < what.segments; first += step) {
    const uint32_t count = std::min(step, what.segments - first);
    ibv_recv_wr request{};
    request.sg_list = list.data();
    request.num_sge = what.way == Way::packed ? 1 : static_cast<int>(count);
    if (what.way == Way::packed) {
      list[0] = {reinterpret_cast<uint64_t>(buffers_.flat(what, first)), count * what.segment_bytes,
                 buffers_.flat_memory.lkey()};
    } else {
      for (uint32_t i = 0; i < count; i++) {
        list[i] = {reinterpret_cast<uint64_t>(buffers_.strided(what, first + i)),
                   what.segment_bytes, buffers_.strided_memory.lkey()};
      }
    }
    SGL_TRY(endpoint_.receive(&request));
  }
  return {};
}

Status LocalTarget::finish(const Case& what) {
  if (what.shape != Shape::both) return {};
  SGL_TRY(endpoint_.await_receives(static_cast<int>(what.messages())));
  if (what.way == Way::packed) buffers_.unpack(what, 0, what.segments);
  return {};
}

Status LocalTarget::check(const Case& what, uint32_t seed) {
  if (what.shape == Shape::scatter) return {};
  return buffers_.check(what, seed, /*in_strided=*/what.shape == Shape::both);
}

}  // namespace sge_sweep
