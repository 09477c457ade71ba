#include "compare/draw.hpp"

#include <algorithm>
#include <numeric>

namespace sgl::compare {
namespace {

constexpr Basic kMoved[] = {Basic::int8,    Basic::int16,     Basic::int32,         Basic::int64,
                            Basic::uint8,   Basic::uint16,    Basic::uint32,        Basic::uint64,
                            Basic::float32, Basic::float64,   Basic::complex_float, Basic::byte,
                            Basic::int_int, Basic::float_int, Basic::complex_double};

bool has_counts(Collective collective) {
  return collective == Collective::alltoallv || collective == Collective::alltoallw ||
         collective == Collective::allgatherv || collective == Collective::gatherv ||
         collective == Collective::scatterv || collective == Collective::reduce_scatter;
}

// Bytes of a unit: mostly those of a small message, now and then past every limit.
int64_t draw_unit_bytes(Random& random) {
  int64_t percent = draw_number(random, 1, 100);
  if (percent <= 60) return draw_number(random, 1, 2 << 10);
  return percent <= 85 ? draw_number(random, 2 << 10, 32 << 10)
                       : draw_number(random, 64 << 10, 160 << 10);
}

// A side of `leaves` leaves a unit, of which `repeated` as one type or as a count.
Side make_side(Random& random, Recipe recipe, int64_t count, int64_t repeated) {
  bool in_type = repeated > 1 && chance(random, 60);
  if (in_type) recipe = draw_repeated(random, repeated, recipe);
  test::TypeMap map = map_of(recipe);
  if (recipe.kind != Recipe::Kind::basic) {
    // An extent of its own at the top, so that its rounding is not what is compared.
    int64_t room = chance(random, 40) ? 16 * draw_number(random, 1, 3) : 0;
    recipe = resized_recipe(map.lb(), map.extent() + room, recipe);
    map = map_of(recipe);
  }
  return {recipe, map, in_type ? count : count * repeated};
}

void draw_sides(Random& random, Draw* draw) {
  Recipe leaf = basic_recipe(kMoved[draw_number(random, 0, std::size(kMoved) - 1)]);
  bool reduction = is_reduction(draw->collective);
  if (reduction) {
    auto ops = ops_of(leaf.basic);
    draw->op = ops[static_cast<size_t>(draw_number(random, 0, std::ssize(ops) - 1))];
    if (chance(random, 10)) {
      draw->op = Op::affine;
      leaf = contiguous_recipe(2, basic_recipe(Basic::uint32));
    }
  } else if (chance(random, 25)) {
    leaf = draw_struct_leaf(random);
  }
  int64_t leaf_bytes = std::ssize(map_of(leaf).byte_offsets());
  int64_t target = draw_unit_bytes(random) / leaf_bytes, sent = 1, received = 1;
  bool plain = reduction && draw->op != Op::affine && chance(random, 35);
  constexpr int64_t kMostNested = 30;
  bool run = target > kMostNested && chance(random, 25);  // one long run
  int64_t nested = plain || run ? 1 : std::clamp<int64_t>(target, 1, kMostNested);
  Recipe send = draw_nested(random, leaf, nested, &sent);
  Recipe recv = draw_nested(random, leaf, nested, &received);
  if (reduction || draw->collective == Collective::bcast) {
    send = recv;
    sent = received;
  }
  int64_t unit = std::lcm(sent, received), repeated = std::max<int64_t>(1, target / unit);
  draw->send = make_side(random, send, unit / sent, plain ? 1 : repeated);
  draw->recv = make_side(random, recv, unit / received, plain ? 1 : repeated);
  if (plain) draw->recv.count = std::max<int64_t>(1, target);
}

void draw_blocks(Random& random, Draw* draw) {
  auto size = static_cast<size_t>(draw->size);
  bool uneven = has_counts(draw->collective);
  draw->units.assign(size, chance(random, 5) ? 0 : draw_number(random, 1, 2));
  if (uneven)
    for (int64_t& units : draw->units) units = draw_number(random, 0, 3);
  draw->displacements.assign(size, 0);
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  bool free_places = uneven && draw->collective != Collective::reduce_scatter;
  if (free_places && chance(random, 50)) std::shuffle(order.begin(), order.end(), random);
  int64_t next = 0;
  for (size_t block : order) {
    draw->displacements[block] = next;
    next += draw->count(draw->all_side(), static_cast<int>(block));
    if (free_places) next += draw_number(random, 0, 2);
  }
}

// In place, what goes is where what comes will be, so both are equally long.
void draw_pairs(Random& random, Draw* draw) {
  const int size = draw->size;
  const bool uneven = has_counts(draw->collective), shuffled = uneven && chance(random, 50);
  for (int i = 0; i < size * size; ++i)
    draw->pairs.push_back(uneven ? draw_number(random, 0, 3) : draw->units[0]);
  for (int from = 0; draw->in_place && from < size; ++from)
    for (int to = 0; to < from; ++to)
      draw->pairs[static_cast<size_t>(from * size + to)] =
          draw->pairs[static_cast<size_t>(to * size + from)];
  draw->order.resize(static_cast<size_t>(size));
  std::iota(draw->order.begin(), draw->order.end(), 0);
  if (shuffled) std::shuffle(draw->order.begin(), draw->order.end(), random);
  for (int i = 0; i < size; ++i) draw->room.push_back(uneven ? draw_number(random, 0, 2) : 0);
}

using Places = std::vector<std::pair<int64_t, int64_t>>;  // first element and count of a block

bool overlap(const Side& side, const Places& blocks) {
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (const auto& [first, count] : blocks) {
    for (int64_t i = 0; i < count; ++i)
      for (const auto& element : side.map.elements)
        pieces.emplace_back((first + i) * side.map.extent() + element.offset,
                            basic_info(element.basic).size);
  }
  std::sort(pieces.begin(), pieces.end());
  for (size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i - 1].first + pieces[i - 1].second > pieces[i].first) return true;
  return false;
}

bool overlap(const Side& side, const Draw& draw) {
  Places blocks;
  if (exchanges(draw.collective)) {
    for (int rank = 0; rank < draw.size; ++rank) {
      const std::vector<int64_t> counts = draw.peer_counts(side, rank);
      const std::vector<int64_t> places = draw.peer_places(side, rank);
      blocks.clear();
      for (size_t i = 0; i < counts.size(); ++i) blocks.emplace_back(places[i], counts[i]);
      if (overlap(side, blocks)) return true;
    }
    return false;
  }
  const bool all = &side == &draw.all_side();
  for (int block = 0; block < (all ? draw.size : 1); ++block)
    blocks.emplace_back(all ? draw.displacements[static_cast<size_t>(block)] : 0,
                        draw.count(side, block));
  return overlap(side, blocks);
}

int64_t bytes_of(const Draw& draw) {
  const std::vector<int64_t>& blocks = exchanges(draw.collective) ? draw.pairs : draw.units;
  int64_t units = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
  return units * draw.recv.count * std::ssize(draw.recv.map.byte_offsets());
}

}  // namespace

const char* name_of(Collective collective) {
  constexpr const char* kNames[] = {"allgather",
                                    "allgatherv",
                                    "gather",
                                    "gatherv",
                                    "scatter",
                                    "scatterv",
                                    "bcast",
                                    "alltoall",
                                    "alltoallv",
                                    "alltoallw",
                                    "allreduce",
                                    "reduce",
                                    "reduce_scatter_block",
                                    "reduce_scatter"};
  return kNames[static_cast<size_t>(collective)];
}

bool is_reduction(Collective collective) {
  return collective >= Collective::allreduce;
}
bool gathers(Collective collective) {
  return collective <= Collective::gatherv;
}
bool scatters(Collective collective) {
  return collective == Collective::scatter || collective == Collective::scatterv;
}
bool exchanges(Collective collective) {
  return collective >= Collective::alltoall && collective <= Collective::alltoallw;
}
bool is_rooted(Collective collective) {
  return (collective >= Collective::gather && collective <= Collective::bcast) ||
         collective == Collective::reduce;
}

std::vector<int64_t> Draw::peer_counts(const Side& side, int rank) const {
  std::vector<int64_t> counts;
  for (int peer = 0; peer < size; ++peer) {
    const int from = &side == &send ? rank : peer, to = &side == &send ? peer : rank;
    counts.push_back(pairs[static_cast<size_t>(from * size + to)] * side.count);
  }
  return counts;
}

std::vector<int64_t> Draw::peer_places(const Side& side, int rank) const {
  const std::vector<int64_t> counts = peer_counts(side, rank);
  std::vector<int64_t> places(counts.size());
  int64_t next = 0;
  for (int peer : order) {
    const auto block = static_cast<size_t>(peer);
    places[block] = next;
    next += counts[block] + room[block];
  }
  return places;
}

Draw make_draw(uint64_t seed, int64_t index, int size) {
  std::seed_seq seeds{seed & 0xffffffff, seed >> 32, static_cast<uint64_t>(index),
                      static_cast<uint64_t>(size)};
  Random random(seeds);
  constexpr int64_t kMostBytes = 2 << 20;
  while (true) {
    Draw draw;
    draw.size = size;
    draw.collective = static_cast<Collective>(draw_number(random, 0, kCollectiveCount - 1));
    draw.form = static_cast<Form>(draw_number(random, 0, 2));
    draw.root = static_cast<int>(draw_number(random, 0, size - 1));
    draw.in_place = draw.collective != Collective::bcast && chance(random, 30);
    draw_sides(random, &draw);
    draw_blocks(random, &draw);
    if (exchanges(draw.collective)) draw_pairs(random, &draw);
    if (bytes_of(draw) > kMostBytes) continue;
    if (overlap(draw.recv, draw) || overlap(draw.send, draw)) continue;
    return draw;
  }
}

std::string describe(const Draw& draw) {
  constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent"};
  std::string text = std::string(name_of(draw.collective)) + " of " + std::to_string(draw.size) +
                     " ranks, " + kForms[static_cast<size_t>(draw.form)];
  if (is_reduction(draw.collective)) text += std::string(", ") + name_of(draw.op);
  if (is_rooted(draw.collective)) text += ", root " + std::to_string(draw.root);
  if (draw.in_place) text += ", in place";
  text += ", units";
  for (int64_t units : exchanges(draw.collective) ? draw.pairs : draw.units)
    text += " " + std::to_string(units);
  if (!is_reduction(draw.collective) && draw.collective != Collective::bcast)
    text += ", send " + std::to_string(draw.send.count) + " " + describe(draw.send.recipe);
  return text + ", recv " + std::to_string(draw.recv.count) + " " + describe(draw.recv.recipe);
}

}  // namespace sgl::compare
