// Runs drawn collectives on the ranks of a job and compares each buffer with what MPI's
// text says must be in it.
//
//   compare_NAME SEED FIRST LAST RESULT_PREFIX
//
// Each rank writes to RESULT_PREFIX.RANK, for each of the draws FIRST to LAST - 1, a line
// "NUMBER start DESCRIPTION" before the call and "NUMBER right" or "NUMBER wrong WHY"
// after it, so that a crash or a hang can be blamed on its draw.
#include "compare/backend.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>

namespace sgl::compare {
namespace {

// Where the blocks of a rank's buffer lie.
struct Piece {
  int block = 0;
  int64_t displacement = 0, count = 0;  // in elements of the side's type
};

uint64_t hash(int rank, int block, int64_t element) {
  uint64_t x = static_cast<uint64_t>(rank + 1) * 0x9e3779b97f4a7c15u ^
               static_cast<uint64_t>(block + 1) * 0xc2b2ae3d27d4eb4fu ^
               static_cast<uint64_t>(element) * 0x165667b19e3779f9u;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
  return x ^ x >> 32;
}

class Image {
 public:
  Image(const Side& side, std::vector<Piece> pieces) : side_(&side), pieces_(std::move(pieces)) {
    int64_t highest = 0;
    for (const Piece& piece : pieces_) {
      int64_t last = (piece.displacement + std::max<int64_t>(piece.count, 1) - 1) * extent();
      for (const auto& element : side.map.elements) {
        lowest_ = std::min(lowest_, piece.displacement * extent() + element.offset);
        highest = std::max(highest, last + element.offset + basic_info(element.basic).extent);
      }
    }
    bytes_.assign(static_cast<size_t>(highest - lowest_ + 2 * kMargin), kGap);
  }

  void* address() { return at(0); }
  const std::vector<Piece>& pieces() const { return pieces_; }
  bool operator==(const Image& other) const { return bytes_ == other.bytes_; }
  size_t first_difference(const Image& other) const {
    return static_cast<size_t>(
        std::mismatch(bytes_.begin(), bytes_.end(), other.bytes_.begin()).first - bytes_.begin());
  }

  // Calls visit(basic type, number in the piece's signature, address).
  template <class Visit>
  void for_each(const Piece& piece, Visit visit) {
    int64_t number = 0;
    for (int64_t i = 0; i < piece.count; ++i)
      for (const auto& element : side_->map.elements)
        visit(element.basic, number++, at((piece.displacement + i) * extent() + element.offset));
  }
  // The piece's part of `other`, which has the same form.
  void copy_piece(const Piece& piece, const Image& other) {
    for_each(piece, [&](Basic basic, int64_t, uint8_t* to) {
      std::memcpy(to, other.bytes_.data() + (to - bytes_.data()),
                  static_cast<size_t>(basic_info(basic).size));
    });
  }

 private:
  static constexpr uint8_t kGap = 0xA5;
  static constexpr int64_t kMargin = 64;
  int64_t extent() const { return side_->map.extent(); }
  uint8_t* at(int64_t offset) { return bytes_.data() + kMargin - lowest_ + offset; }

  const Side* side_;
  std::vector<Piece> pieces_;
  int64_t lowest_ = 0;
  std::vector<uint8_t> bytes_;
};

void write_contribution(Image* image, const Piece& piece, int rank) {
  image->for_each(piece, [&](Basic basic, int64_t number, uint8_t* to) {
    write_value(basic, hash(rank, piece.block, number), to);
  });
}

void write_reduced(Image* image, const Piece& piece, const Draw& draw) {
  bool pairs = draw.op == Op::affine;
  write_contribution(image, piece, draw.size - 1);
  for (int rank = draw.size - 2; rank >= 0; --rank) {
    image->for_each(piece, [&](Basic basic, int64_t number, uint8_t* to) {
      if (pairs && number % 2 != 0) return;
      alignas(16) uint8_t left[16];
      write_value(basic, hash(rank, piece.block, number), left);
      if (pairs) write_value(basic, hash(rank, piece.block, number + 1), left + 4);
      combine(draw.op, basic, left, to);
    });
  }
}

// What the collective leaves in a block of this rank.
void write_result(Image* image, const Piece& piece, const Draw& draw, int rank) {
  if (is_reduction(draw.collective)) return write_reduced(image, piece, draw);
  if (exchanges(draw.collective))
    return write_contribution(image, {rank, piece.displacement, piece.count}, piece.block);
  write_contribution(image, piece, gathers(draw.collective) ? piece.block : draw.root);
}

std::vector<Piece> all_blocks(const Draw& draw) {
  std::vector<Piece> pieces;
  for (int block = 0; block < draw.size; ++block)
    pieces.push_back({block, draw.displacements[static_cast<size_t>(block)],
                      draw.count(draw.all_side(), block)});
  return pieces;
}

std::vector<Piece> peer_blocks(const Draw& draw, const Side& side, int rank) {
  const std::vector<int64_t> counts = draw.peer_counts(side, rank);
  const std::vector<int64_t> places = draw.peer_places(side, rank);
  std::vector<Piece> pieces;
  for (int block = 0; block < draw.size; ++block)
    pieces.push_back(
        {block, places[static_cast<size_t>(block)], counts[static_cast<size_t>(block)]});
  return pieces;
}

std::string compare(const char* name, const Image& is, const Image& should) {
  if (is == should) return "";
  return std::string(name) + " buffer differs from byte " +
         std::to_string(is.first_difference(should)) + " on";
}

// One rank's part in a draw.
class Part {
 public:
  Part(const Draw& draw, int rank) : draw_(draw), rank_(rank) {
    Collective collective = draw.collective;
    bool reduction = is_reduction(collective), root = rank == draw.root || !is_rooted(collective);
    bool whole = reduction && !scattered();  // one block that is the same on all ranks
    std::vector<Piece> own_send = {{rank, 0, draw.count(draw.send, rank)}};
    std::vector<Piece> own_recv = {{rank, 0, draw.count(draw.recv, rank)}};
    std::vector<Piece> first = {{0, 0, draw.count(draw.recv, 0)}};
    if (collective == Collective::bcast) {
      recv_.emplace(draw.recv, first);
    } else if (whole) {
      send_.emplace(draw.recv, first);
      if (root) recv_.emplace(draw.recv, first);
    } else if (reduction) {
      send_.emplace(draw.recv, all_blocks(draw));
      recv_.emplace(draw.recv, own_recv);
    } else if (exchanges(collective)) {
      send_.emplace(draw.send, peer_blocks(draw, draw.send, rank));
      recv_.emplace(draw.recv, peer_blocks(draw, draw.recv, rank));
    } else if (gathers(collective)) {
      send_.emplace(draw.send, own_send);
      if (root) recv_.emplace(draw.recv, all_blocks(draw));
    } else {
      if (root) send_.emplace(draw.send, all_blocks(draw));
      recv_.emplace(draw.recv, own_recv);
    }
    in_place_ = draw.in_place && root;
    fill(root);
  }

  std::string run(Backend& backend) {
    std::optional<Image> expected_send = send_, expected_recv = recv_;
    if (expected_recv) expect(&*expected_recv);
    Call call;
    if (send_) call.send.address = send_->address();
    if (recv_) call.recv.address = recv_->address();
    if (in_place_) (scatters(draw_.collective) ? call.recv : call.send).in_place = true;
    std::string failure = backend.run(draw_, call);
    if (!failure.empty()) return failure;
    if (expected_send) failure = compare("send", *send_, *expected_send);
    if (!failure.empty() || !expected_recv) return failure;
    if (in_place_ && scattered()) {  // what was an input there is anything now
      Image left = *recv_;
      Piece mine{rank_, 0, draw_.count(draw_.recv, rank_)};
      left.copy_piece(mine, *expected_recv);
      for (const Piece& piece : all_blocks(draw_)) expected_recv->copy_piece(piece, left);
    }
    return compare("receive", *recv_, *expected_recv);
  }

 private:
  bool scattered() const { return draw_.collective >= Collective::reduce_scatter_block; }

  void fill(bool root) {
    if (in_place_ && is_reduction(draw_.collective)) {
      recv_ = send_;
      send_.reset();
      for (const Piece& piece : recv_->pieces()) write_contribution(&*recv_, piece, rank_);
    } else if (in_place_ && exchanges(draw_.collective)) {
      send_.reset();
      for (const Piece& piece : recv_->pieces()) write_contribution(&*recv_, piece, rank_);
    } else if (in_place_ && gathers(draw_.collective)) {
      send_.reset();
      write_contribution(&*recv_, recv_->pieces()[static_cast<size_t>(rank_)], rank_);
    } else if (in_place_) {
      recv_.reset();  // scatter: the root's block stays where it is
    }
    if (draw_.collective == Collective::bcast && root)
      write_contribution(&*recv_, recv_->pieces()[0], rank_);
    if (send_)
      for (const Piece& piece : send_->pieces()) write_contribution(&*send_, piece, rank_);
  }

  void expect(Image* image) {
    if (in_place_ && scattered())  // the result is at the start, whatever its block
      return write_result(image, {rank_, 0, draw_.count(draw_.recv, rank_)}, draw_, rank_);
    for (const Piece& piece : image->pieces()) write_result(image, piece, draw_, rank_);
  }

  const Draw& draw_;
  int rank_;
  bool in_place_ = false;
  std::optional<Image> send_, recv_;
};

// An MPI's error text has several lines; a result has one.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

int run(uint64_t seed, int64_t first, int64_t last, const std::string& prefix) {
  std::unique_ptr<Backend> backend = make_backend();
  std::ofstream results(prefix + "." + std::to_string(backend->rank()));
  for (int64_t index = first; index < last; ++index) {
    Draw draw = make_draw(seed, index, backend->size());
    results << index << " start " << describe(draw) << std::endl;
    std::string failure = Part(draw, backend->rank()).run(*backend);
    results << index << (failure.empty() ? " right" : " wrong " + on_one_line(failure))
            << std::endl;
  }
  return results ? 0 : 1;
}

}  // namespace

void apply(Op op, const test::TypeMap& map, int64_t count, const void* in, void* inout) {
  size_t step = op == Op::affine ? 2 : 1;
  for (int64_t i = 0; i < count; ++i)
    for (size_t e = 0; e < map.elements.size(); e += step) {
      int64_t offset = i * map.extent() + map.elements[e].offset;
      combine(op, map.elements[e].basic, static_cast<const uint8_t*>(in) + offset,
              static_cast<uint8_t*>(inout) + offset);
    }
}

}  // namespace sgl::compare

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s SEED FIRST LAST RESULT_PREFIX\n", argv[0]);
    return 2;
  }
  try {
    return sgl::compare::run(std::stoull(argv[1]), std::stoll(argv[2]), std::stoll(argv[3]),
                             argv[4]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return 2;
  }
}
