// Random MPI datatypes of every constructor, for tests of sglcoll/mpi.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <mpi.h>

namespace sgl::test {

// Owns an MPI datatype unless it is predefined.
class MpiType {
 public:
  MpiType(MPI_Datatype type, bool owned) : type_(type), owned_(owned) {}
  MpiType(MpiType&& other) noexcept : type_(other.type_), owned_(other.owned_) {
    other.owned_ = false;
  }
  MpiType& operator=(MpiType&&) = delete;
  ~MpiType() {
    if (owned_) MPI_Type_free(&type_);
  }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
  bool owned_;
};

class RandomMpiType {
 public:
  explicit RandomMpiType(uint64_t seed) : random_(seed) {}

  // Nested up to `nesting` deep, of about `elements` basic elements at most, with data:
  // where a part of a type has none, MPICH counts its bounds, and may divide by zero.
  MpiType make(int nesting, int elements) {
    for (;;) {
      MpiType made = make_any(nesting, elements);
      int bytes = 0;
      MPI_Type_size(made.get(), &bytes);
      if (bytes > 0) return made;
    }
  }

  int draw(int lowest, int highest) {
    return std::uniform_int_distribution<int>(lowest, highest)(random_);
  }

 private:
  MpiType make_any(int nesting, int elements) {
    if (nesting == 0 || draw(1, 100) <= 8) return basic();
    const int choice = draw(0, 11);
    if (choice == 0) return structure(nesting, elements);
    const int part = draw(1, std::clamp(elements, 1, 8));
    const MpiType old = make(nesting - 1, elements / part);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    construct(choice, part, old.get(), &made);
    return {made, true};
  }

  MpiType basic() {
    std::vector<MPI_Datatype> choices = {
        MPI_CHAR,   MPI_SHORT,     MPI_INT,  MPI_DOUBLE,          MPI_FLOAT,
        MPI_C_BOOL, MPI_SHORT_INT, MPI_BYTE, MPI_C_FLOAT_COMPLEX, MPI_DOUBLE_INT,
        MPI_AINT,   MPI_UINT16_T,  MPI_2INT, MPI_UINT64_T};
#ifndef MPICH_VERSION  // it packs the padding of a long double as zeros, not as it is in memory
    choices.push_back(MPI_LONG_DOUBLE);
#endif
    return {choices[static_cast<size_t>(draw(0, static_cast<int>(choices.size()) - 1))], false};
  }

  std::vector<MPI_Aint> places(int count) {
    return numbers<MPI_Aint>(count, -99, 150);
  }

  template <class Number>
  std::vector<Number> numbers(int count, int lowest, int highest) {
    std::vector<Number> drawn(static_cast<size_t>(count));
    for (Number& number : drawn) number = static_cast<Number>(draw(lowest, highest));
    return drawn;
  }

  MpiType structure(int nesting, int elements) {
    const int members = draw(0, 3);
    std::vector<MpiType> owned;
    std::vector<MPI_Datatype> types;
    for (int i = 0; i < members; ++i) {
      owned.push_back(make(nesting - 1, elements / (2 * members)));
      types.push_back(owned.back().get());
    }
    const auto lengths = numbers<int>(members, 0, 2);
    const auto displacements = places(members);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(members, lengths.data(), displacements.data(), types.data(), &made);
    return {made, true};
  }

  // `part`: about how many copies of `old`.
  void construct(int choice, int part, MPI_Datatype old, MPI_Datatype* made) {
    const int count = draw(0, 3), length = draw(0, part);
    switch (choice) {
      case 1:
        MPI_Type_contiguous(part, old, made);
        return;
      // No stride of -1: Open MPI 4.1 takes such blocks for one run.
      case 2:
        MPI_Type_vector(part, draw(0, 2), 2 * draw(-2, 2), old, made);
        return;
      case 3:
        MPI_Type_create_hvector(part, draw(0, 2), 2 * draw(-50, 50), old, made);
        return;
      case 4:
        MPI_Type_indexed(count, numbers<int>(count, 0, 2).data(), numbers<int>(count, -8, 8).data(),
                         old, made);
        return;
      case 5:
        MPI_Type_create_hindexed(count, numbers<int>(count, 0, 2).data(), places(count).data(), old,
                                 made);
        return;
      case 6:
        MPI_Type_create_indexed_block(count, length, numbers<int>(count, -8, 8).data(), old, made);
        return;
      case 7:
        MPI_Type_create_hindexed_block(count, length, places(count).data(), old, made);
        return;
      case 8:
        subarray(old, made);
        return;
      case 9:
        darray(old, made);
        return;
      case 10:
        MPI_Type_create_resized(old, draw(-30, 30), draw(0, 150), made);
        return;
      default:
        MPI_Type_dup(old, made);
    }
  }

  int order() {
    return draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  }

  void subarray(MPI_Datatype old, MPI_Datatype* made) {
    const int dims = draw(1, 3);
    const auto parts = numbers<int>(dims, 1, 3);
    std::vector<int> sizes, starts;
    for (int part : parts) {
      sizes.push_back(part + draw(0, 3));
      starts.push_back(draw(0, sizes.back() - part));
    }
    MPI_Type_create_subarray(dims, sizes.data(), parts.data(), starts.data(), order(), old, made);
  }

  void darray(MPI_Datatype old, MPI_Datatype* made) {
    const int dims = draw(1, 3);
    std::vector<int> sizes, kinds, arguments, grid;
    int processes = 1;
    for (int i = 0; i < dims; ++i) {
      const int kind = draw(0, 2);
      sizes.push_back(draw(1, 6));
      grid.push_back(kind == 0 ? 1 : draw(1, 3));
      kinds.push_back(kind == 0   ? MPI_DISTRIBUTE_NONE
                      : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                  : MPI_DISTRIBUTE_CYCLIC);
      const int least = kind == 1 ? (sizes.back() + grid.back() - 1) / grid.back() : 1;
      arguments.push_back(draw(0, 1) ? MPI_DISTRIBUTE_DFLT_DARG : draw(least, least + 1));
      processes *= grid.back();
    }
    MPI_Type_create_darray(processes, draw(0, processes - 1), dims, sizes.data(), kinds.data(),
                           arguments.data(), grid.data(), order(), old, made);
  }

  std::mt19937_64 random_;
};

}  // namespace sgl::test
