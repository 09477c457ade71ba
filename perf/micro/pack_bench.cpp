// Pack and unpack: this library, hand-written loops and MPI_Pack on the same layouts.
//
// Names are direction/layout/working set/who. Run with
//   --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
// and compare medians; docs/performance.md has the table and its command.
#include <benchmark/benchmark.h>

#if SGLCOLL_HAVE_MPI
#include <mpi.h>
#endif

#include "handwritten.hpp"
#include "sgl/copy.hpp"

#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

struct WorkingSet {
  const char* name;
  int64_t memory_bytes;  // of the laid-out side
};
constexpr WorkingSet kWorkingSets[] = {{"L1", 24 << 10}, {"L2", 512 << 10}, {"memory", 256 << 20}};

// One layout, at one size, as everyone describes it.
struct Scene {
  std::string name;
  sgl::Layout layout;
  std::function<void(std::byte*memory, std::byte*packed)> pack_by_hand, unpack_by_hand;
#if SGLCOLL_HAVE_MPI
  MPI_Datatype mpi_type = MPI_DATATYPE_NULL;
#endif
};
using ScenePtr = std::shared_ptr<const Scene>;

// Two buffers that all benchmarks share, so that they fit in memory. Both begin 16 bytes behind a
// page's begin, as malloc's large ones do, the packed one half a page further: the processor takes
// a load for a store's with the same place in a page.
std::byte* buffer(int which, int64_t bytes) {
  constexpr int64_t kPage = 4096;
  static std::vector<std::byte> buffers[2];
  auto& bytes_of = buffers[which];
  const auto needed = static_cast<size_t>(bytes + 2 * kPage);
  if (bytes_of.size() < needed) bytes_of.resize(needed);
  const auto address = reinterpret_cast<uintptr_t>(bytes_of.data());
  const int64_t to_page = kPage - static_cast<int64_t>(address % kPage);
  return bytes_of.data() + to_page + 16 + which * kPage / 2;
}

using Body = std::function<void(const Scene&, std::byte* memory, std::byte* packed)>;

void add(const char* direction, const ScenePtr& scene, const char* who, const Body& body) {
  const std::string name = std::string(direction) + "/" + scene->name + "/" + who;
  benchmark::RegisterBenchmark(name.c_str(), [scene, body](benchmark::State& state) {
    std::byte* memory = buffer(0, scene->layout.true_ub());
    std::byte* packed = buffer(1, scene->layout.size());
    for (auto _ : state) {
      body(*scene, memory, packed);
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * scene->layout.size());
  });
}

sgl::View whole(const Scene& scene, std::byte* memory) {
  return {memory, &scene.layout, 0, scene.layout.size()};
}

void add_all(const ScenePtr& scene) {
  add("pack", scene, "sglcoll", [](const Scene& s, std::byte* memory, std::byte* packed) {
    sgl::pack(whole(s, memory), packed);
  });
  add("pack", scene, "hand",
      [](const Scene& s, std::byte* memory, std::byte* packed) { s.pack_by_hand(memory, packed); });
  if (scene->unpack_by_hand) {
    add("unpack", scene, "sglcoll", [](const Scene& s, std::byte* memory, std::byte* packed) {
      sgl::unpack(whole(s, memory), packed);
    });
    add("unpack", scene, "hand", [](const Scene& s, std::byte* memory, std::byte* packed) {
      s.unpack_by_hand(memory, packed);
    });
  }
#if SGLCOLL_HAVE_MPI
  add("pack", scene, "mpi", [](const Scene& s, std::byte* memory, std::byte* packed) {
    int position = 0;
    MPI_Pack(memory, 1, s.mpi_type, packed, static_cast<int>(s.layout.size()), &position,
             MPI_COMM_SELF);
  });
  if (!scene->unpack_by_hand) return;
  add("unpack", scene, "mpi", [](const Scene& s, std::byte* memory, std::byte* packed) {
    int position = 0;
    MPI_Unpack(packed, static_cast<int>(s.layout.size()), &position, memory, 1, s.mpi_type,
               MPI_COMM_SELF);
  });
#endif
}

#if SGLCOLL_HAVE_MPI
MPI_Datatype mpi_vector(int64_t count, int64_t block, int64_t stride, MPI_Datatype of) {
  MPI_Datatype type;
  MPI_Type_create_hvector(static_cast<int>(count), static_cast<int>(block), stride, of, &type);
  MPI_Type_commit(&type);
  return type;
}
#endif

void use_loops(Scene* scene, handwritten::Loops loops, int64_t count) {
  scene->pack_by_hand = [=](std::byte* m, std::byte* p) { loops.pack(m, p, count); };
  scene->unpack_by_hand = [=](std::byte* m, std::byte* p) { loops.unpack(m, p, count); };
}

ScenePtr vector_scene(const WorkingSet& set, int64_t block, int64_t stride_blocks) {
  auto scene = std::make_shared<Scene>();
  const int64_t stride = block * stride_blocks;
  const int64_t count = set.memory_bytes / stride;
  scene->name = "vector:" + std::to_string(block) + ":" + std::to_string(stride) + "/" + set.name;
  scene->layout = sgl::Layout::loop(count, stride, sgl::Layout::run(0, block));
  use_loops(scene.get(), handwritten::vector_loops(block, stride_blocks), count);
#if SGLCOLL_HAVE_MPI
  scene->mpi_type = mpi_vector(count, block, stride, MPI_BYTE);
#endif
  return scene;
}

ScenePtr rows_scene(const WorkingSet& set, int64_t block) {
  auto scene = std::make_shared<Scene>();
  const int64_t count = set.memory_bytes / (16 * block);
  scene->name = "rows:4x" + std::to_string(block) + "/" + set.name;
  const sgl::Layout row = sgl::Layout::loop(4, 2 * block, sgl::Layout::run(0, block));
  scene->layout = sgl::Layout::loop(count, 16 * block, row);
  use_loops(scene.get(), handwritten::rows_loops(block), count);
#if SGLCOLL_HAVE_MPI
  scene->mpi_type = mpi_vector(count, 1, 16 * block, mpi_vector(4, block, 2 * block, MPI_BYTE));
#endif
  return scene;
}

ScenePtr struct_scene(const WorkingSet& set) {
  auto scene = std::make_shared<Scene>();
  const int64_t count = set.memory_bytes / handwritten::kStructExtent;
  scene->name = std::string("struct:4+8+2/") + set.name;
  scene->layout = sgl::Layout::loop(
      count, handwritten::kStructExtent,
      sgl::Layout::seq({sgl::Layout::run(0, 4), sgl::Layout::run(8, 8), sgl::Layout::run(16, 2)}));
  use_loops(scene.get(), handwritten::struct_loops(), count);
#if SGLCOLL_HAVE_MPI
  const int lengths[] = {4, 8, 2};
  const MPI_Aint places[] = {0, 8, 16};
  const MPI_Datatype types[] = {MPI_BYTE, MPI_BYTE, MPI_BYTE};
  MPI_Datatype one;
  MPI_Type_create_struct(3, lengths, places, types, &one);
  scene->mpi_type = mpi_vector(count, 1, handwritten::kStructExtent, one);
#endif
  return scene;
}

// Blocks at drawn places; with `touching`, neighbours often meet, so that the normal
// form has runs of several lengths.
ScenePtr indexed_scene(const WorkingSet& set, int64_t block, bool touching) {
  auto scene = std::make_shared<Scene>();
  const int64_t slot = touching ? 2 : 3;  // blocks
  const int64_t count = set.memory_bytes / (slot * block);
  std::mt19937_64 random(5);
  auto places = std::make_shared<std::vector<int64_t>>();
  for (int64_t i = 0; i < count; ++i) {
    places->push_back(slot * block * i + static_cast<int64_t>(random() % 2) * block);
  }
  scene->name =
      std::string(touching ? "touching:" : "indexed:") + std::to_string(block) + "/" + set.name;
  scene->layout = sgl::Layout::indexed(*places, sgl::Layout::run(0, block));
  scene->pack_by_hand = [=](std::byte* memory, std::byte* packed) {
    handwritten::pack_indexed(memory, packed, places->data(), count, block);
  };
#if SGLCOLL_HAVE_MPI
  const std::vector<MPI_Aint> aints(places->begin(), places->end());
  MPI_Type_create_hindexed_block(static_cast<int>(count), static_cast<int>(block), aints.data(),
                                 MPI_BYTE, &scene->mpi_type);
  MPI_Type_commit(&scene->mpi_type);
#endif
  return scene;
}

void add_scenes() {
  for (const WorkingSet& set : kWorkingSets) {
    for (int64_t block = 1; block <= 256; block *= 2) {
      add_all(vector_scene(set, block, 2));
      add_all(vector_scene(set, block, 9));
    }
    // Millions of displacements would be no layout that anyone keeps.
    if (set.memory_bytes > (1 << 20)) continue;
    for (int64_t block : {4, 8, 64}) add_all(rows_scene(set, block));
    add_all(struct_scene(set));
    for (int64_t block : {8, 64}) {
      add_all(indexed_scene(set, block, false));
      add_all(indexed_scene(set, block, true));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
#if SGLCOLL_HAVE_MPI
  MPI_Init(&argc, &argv);
#endif
  benchmark::Initialize(&argc, argv);
  add_scenes();
  benchmark::RunSpecifiedBenchmarks();
#if SGLCOLL_HAVE_MPI
  MPI_Finalize();
#endif
  return 0;
}
