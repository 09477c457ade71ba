#include "transport/shm/segment.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace sgl {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

size_t round_to_page(size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

size_t channel_stride(const RingGeometry& geometry) {
  return round_to_page(geometry.channel_bytes());
}

size_t segment_bytes(int node_size) {
  size_t channels = static_cast<size_t>(node_size);
  return kPageBytes + channels * channel_stride(ring_geometry(node_size));
}

}  // namespace

uint32_t shm_abi() {
  constexpr uint32_t parts[] = {sizeof(SegmentHeader),
                                offsetof(SegmentHeader, sleeping),
                                offsetof(SegmentHeader, closed),
                                sizeof(RingLine),
                                offsetof(RingLine, payload),
                                sizeof(MessageHeader),
                                sizeof(void*),
                                std::endian::native == std::endian::little,
                                SGLCOLL_VERSION_MAJOR,
                                SGLCOLL_VERSION_MINOR};
  uint32_t hash = 2166136261U;
  for (uint32_t part : parts) hash = (hash ^ part) * 16777619U;
  return hash;
}

RingGeometry ring_geometry(int node_size) {
  constexpr uint32_t kBudgetBytes = 4 << 20;  // of one process
  uint32_t share = kBudgetBytes / static_cast<uint32_t>(std::max(node_size, 1));
  RingGeometry geometry;
  geometry.data_bytes = std::clamp(std::bit_floor(std::max(share, 1U)), 64U << 10, 512U << 10);
  return geometry;
}

Result<OwnedFd> make_sealed_memfd(const char* name, uint64_t bytes) {
  OwnedFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid())
    return error(SGLCOLL_ERR_SYSTEM, "memfd_create(\"{}\") failed: {}", name, strerror(errno));
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "a memfd of {} bytes was refused: {}", bytes, strerror(errno));
  if (fcntl(fd.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "memfd \"{}\" could not be sealed: {}", name, strerror(errno));
  return fd;
}

Status check_sealed_memfd(int fd, uint64_t bytes, int rank) {
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals)
    return error(SGLCOLL_ERR_BOOT, "rank {} sent a descriptor that is not a sealed memfd", rank);
  struct stat status = {};
  if (fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) != bytes)
    return error(SGLCOLL_ERR_BOOT, "rank {} sent shared memory of {} bytes where {} were announced",
                 rank, status.st_size, bytes);
  return {};
}

Result<SharedSegment> SharedSegment::create(int rank, int node_size) {
  size_t bytes = segment_bytes(node_size);
  Result<OwnedFd> fd = make_sealed_memfd("sglcoll-segment", bytes);
  if (!fd.ok()) return std::move(fd.status());
  SharedSegment segment;
  segment.fd_ = fd.take();
  segment.mapping_ = Mapping::shared(segment.fd(), bytes);
  if (segment.mapping_.empty())
    return error(SGLCOLL_ERR_NO_MEMORY, "a segment of {} bytes could not be mapped: {}", bytes,
                 strerror(errno));
  segment.channel_stride_ = channel_stride(ring_geometry(node_size));
  auto* header = new (segment.mapping_.data()) SegmentHeader();
  header->magic = kShmMagic;
  header->version = kShmVersion;
  header->abi = shm_abi();
  header->segment_bytes = bytes;
  header->channels = static_cast<uint32_t>(node_size);
  header->geometry = ring_geometry(node_size);
  header->rank = rank;
  return segment;
}

Result<SharedSegment> SharedSegment::attach(int fd, int rank, int node_size) {
  size_t bytes = segment_bytes(node_size);
  SGL_TRY(check_sealed_memfd(fd, bytes, rank));
  SharedSegment segment;
  segment.mapping_ = Mapping::shared(fd, bytes);
  if (segment.mapping_.empty())
    return error(SGLCOLL_ERR_NO_MEMORY, "the segment of rank {} ({} bytes) could not be mapped: {}",
                 rank, bytes, strerror(errno));
  segment.channel_stride_ = channel_stride(ring_geometry(node_size));
  const SegmentHeader& header = segment.header();
  bool same_build =
      header.magic == kShmMagic && header.version == kShmVersion && header.abi == shm_abi();
  bool same_shape = header.segment_bytes == bytes && header.rank == rank &&
                    header.channels == static_cast<uint32_t>(node_size) &&
                    header.geometry == ring_geometry(node_size);
  if (!same_build || !same_shape)
    return error(
        SGLCOLL_ERR_MISMATCH,
        "the shared segment of rank {} has another form (version {}, ABI {:08x}) than this "
        "build's (version {}, ABI {:08x}); all ranks must load the same libsglcoll",
        rank, header.version, header.abi, kShmVersion, shm_abi());
  return segment;
}

std::byte* SharedSegment::channel(int from) const {
  return mapping_.data() + kPageBytes + static_cast<size_t>(from) * channel_stride_;
}

}  // namespace sgl
