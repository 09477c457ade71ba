// Contents: symbolic bytes. Which input bytes of which ranks a range of a buffer holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace sgl::verifier {

// A combination of ranks' inputs, interned: equal numbers mean equal combinations.
using Term = int;
inline constexpr Term kUninitialised = 0;

// One byte of a reduction's result: the input bytes position + shift of ranks
// [first, last), combined in this order.
struct Run {
  int first = 0, last = 0;
  int64_t shift = 0;
  bool operator==(const Run&) const = default;
  bool operator<(const Run& other) const {
    return std::tie(first, last, shift) < std::tie(other.first, other.last, other.shift);
  }
};

// Bytes [0, length): byte k holds the combination `term` of the input bytes that
// position + k names.
struct Piece {
  int64_t length = 0;
  Term term = kUninitialised;
  int64_t position = 0;
  bool operator==(const Piece&) const = default;
};
using Pieces = std::vector<Piece>;

class Terms {
 public:
  // Commutative: a term is a multiset of inputs, otherwise a sequence.
  explicit Terms(bool commutative);

  Term of_ranks(int first, int last);
  // Byte-wise, of pieces of equal length.
  Piece combine(const Piece& left, const Piece& right);
  Pieces combine(const Pieces& left, const Pieces& right);
  // "bytes 8..15 of rank 0 to 3's input"
  std::string describe(const Piece& piece) const;

 private:
  using Key = std::tuple<Term, Term, int64_t>;
  struct Combined {
    Term term;
    int64_t shift;  // of the result's position against the left one's
  };
  Term intern(std::vector<Run> runs);
  Combined join(Term left, Term right, int64_t distance);

  bool commutative_;
  std::vector<std::vector<Run>> runs_;
  std::map<std::vector<Run>, Term> terms_;
  std::map<Key, Combined> joined_;
};

// What one buffer holds. Neighbours that continue each other are one piece, and a read
// or write costs O(pieces it touches + log of all).
class Contents {
 public:
  explicit Contents(int64_t bytes);

  Pieces read(int64_t offset, int64_t length) const;
  void write(int64_t offset, const Pieces& pieces);

 private:
  struct Value {
    Term term = kUninitialised;
    int64_t position = 0;
  };
  using Map = std::map<int64_t, Value>;
  Map::iterator cut(int64_t offset);
  bool continues(Map::const_iterator before, Map::const_iterator after) const;

  int64_t bytes_;
  Map values_;  // by the offset where they start; each ends where the next one starts
};

}  // namespace sgl::verifier
