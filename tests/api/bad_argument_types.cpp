// Bad arguments of the datatype and packing functions.
#include "api/bad_argument_table.hpp"

namespace sgl::test {
namespace {

constexpr int64_t kHuge = INT64_MAX;
constexpr int64_t kTwo[] = {1, 1}, kNegative[] = {1, -1}, kFarApart[] = {0, INT64_MAX};
constexpr sglcoll_order kC = SGLCOLL_ORDER_C;

template <class Make>
void add_constructor(Table* table, const char* name, Make make) {
  auto add = [&](const char* argument, const char* value, sglcoll_status code, auto call) {
    table->push_back({name, argument, value, code, call});
  };
  add("old_type", "NULL", SGLCOLL_ERR_TYPE,
      [make](Site& s) { return make(nullptr, &s.outputs.type); });
  add("old_type", "freed", SGLCOLL_ERR_TYPE,
      [make](Site& s) { return make(s.freed_type, &s.outputs.type); });
  add("new_type", "NULL", SGLCOLL_ERR_ARG, [make](Site&) { return make(SGLCOLL_INT, nullptr); });
}

void add_strided(Table* table) {
  auto add = [&](const char* function, const char* argument, const char* value, sglcoll_status code,
                 auto call) {
    table->push_back({function, argument, value, code, call});
  };
  const char* name = "sglcoll_type_contiguous";
  add_constructor(table, name,
                  [](auto old, auto made) { return sglcoll_type_contiguous(2, old, made); });
  add(name, "count", "-1", SGLCOLL_ERR_COUNT,
      [](Site& s) { return sglcoll_type_contiguous(-1, SGLCOLL_INT, &s.outputs.type); });
  add(name, "count", "9223372036854775807", SGLCOLL_ERR_COUNT,
      [](Site& s) { return sglcoll_type_contiguous(kHuge, SGLCOLL_INT, &s.outputs.type); });
  for (bool bytes : {false, true}) {
    name = bytes ? "sglcoll_type_hvector" : "sglcoll_type_vector";
    const char* stride = bytes ? "stride_bytes" : "stride";
    auto make = bytes ? sglcoll_type_hvector : sglcoll_type_vector;
    add_constructor(table, name, [=](auto old, auto made) { return make(2, 1, 3, old, made); });
    add(name, "count", "-1", SGLCOLL_ERR_COUNT,
        [=](Site& s) { return make(-1, 1, 3, SGLCOLL_INT, &s.outputs.type); });
    add(name, "block_length", "-2", SGLCOLL_ERR_ARG,
        [=](Site& s) { return make(2, -2, 3, SGLCOLL_INT, &s.outputs.type); });
    add(name, stride, "9223372036854775807", SGLCOLL_ERR_COUNT,
        [=](Site& s) { return make(3, 1, kHuge, SGLCOLL_INT, &s.outputs.type); });
    add(name, "count", "4611686018427387904", SGLCOLL_ERR_COUNT,
        [=](Site& s) { return make(int64_t{1} << 62, 1, 8, SGLCOLL_INT, &s.outputs.type); });
  }
  name = "sglcoll_type_resized";
  add_constructor(table, name,
                  [](auto old, auto made) { return sglcoll_type_resized(old, 0, 8, made); });
  add(name, "lower_bound", "-9223372036854775808", SGLCOLL_ERR_COUNT,
      [](Site& s) { return sglcoll_type_resized(SGLCOLL_INT, INT64_MIN, 8, &s.outputs.type); });
  add(name, "extent", "9223372036854775807", SGLCOLL_ERR_COUNT,
      [](Site& s) { return sglcoll_type_resized(SGLCOLL_INT, 0, kHuge, &s.outputs.type); });
  add_constructor(table, "sglcoll_type_dup",
                  [](auto old, auto made) { return sglcoll_type_dup(old, made); });
}

void add_indexed(Table* table) {
  for (bool bytes : {false, true}) {
    const char* name = bytes ? "sglcoll_type_hindexed" : "sglcoll_type_indexed";
    const char* displacements = bytes ? "displacements_bytes" : "displacements";
    auto make = bytes ? sglcoll_type_hindexed : sglcoll_type_indexed;
    auto add = [&](const char* argument, const char* value, sglcoll_status code, int64_t count,
                   const int64_t* lengths, const int64_t* places) {
      table->push_back({name, argument, value, code, [=](Site& s) {
                          return make(count, lengths, places, SGLCOLL_INT, &s.outputs.type);
                        }});
    };
    add_constructor(table, name,
                    [=](auto old, auto made) { return make(2, kTwo, kTwo, old, made); });
    add("count", "-1", SGLCOLL_ERR_COUNT, -1, kTwo, kTwo);
    add("block_lengths", "NULL", SGLCOLL_ERR_ARG, 2, nullptr, kTwo);
    add(displacements, "NULL", SGLCOLL_ERR_ARG, 2, kTwo, nullptr);
    add("block_lengths[1]", "-1", SGLCOLL_ERR_ARG, 2, kNegative, kTwo);
    add("displacement", "9223372036854775807", SGLCOLL_ERR_COUNT, 2, kTwo, kFarApart);

    const char* block_name = bytes ? "sglcoll_type_hindexed_block" : "sglcoll_type_indexed_block";
    auto make_block = bytes ? sglcoll_type_hindexed_block : sglcoll_type_indexed_block;
    auto add_block = [&](const char* argument, const char* value, sglcoll_status code,
                         int64_t count, int64_t length, const int64_t* places) {
      table->push_back({block_name, argument, value, code, [=](Site& s) {
                          return make_block(count, length, places, SGLCOLL_INT, &s.outputs.type);
                        }});
    };
    add_constructor(table, block_name,
                    [=](auto old, auto made) { return make_block(2, 1, kTwo, old, made); });
    add_block("count", "-1", SGLCOLL_ERR_COUNT, -1, 1, kTwo);
    add_block("block_length", "-1", SGLCOLL_ERR_ARG, 2, -1, kTwo);
    add_block(displacements, "NULL", SGLCOLL_ERR_ARG, 2, 1, nullptr);
    add_block("displacement", "9223372036854775807", SGLCOLL_ERR_COUNT, 2, 1, kFarApart);
  }
}

void add_struct(Table* table) {
  const char* name = "sglcoll_type_struct";
  auto add = [&](const char* argument, const char* value, sglcoll_status code, auto call) {
    table->push_back({name, argument, value, code, call});
  };
  static const sglcoll_type kInts[] = {SGLCOLL_INT, SGLCOLL_INT};
  auto make = [](int64_t count, const int64_t* lengths, const int64_t* places,
                 const sglcoll_type* types) {
    return [=](Site& s) {
      return sglcoll_type_struct(count, lengths, places, types, &s.outputs.type);
    };
  };
  auto with_second = [](sglcoll_type second, Site& s) {
    const sglcoll_type types[] = {SGLCOLL_INT, second};
    return sglcoll_type_struct(2, kTwo, kTwo, types, &s.outputs.type);
  };
  add("count", "-1", SGLCOLL_ERR_COUNT, make(-1, kTwo, kTwo, kInts));
  add("block_lengths", "NULL", SGLCOLL_ERR_ARG, make(2, nullptr, kTwo, kInts));
  add("displacements_bytes", "NULL", SGLCOLL_ERR_ARG, make(2, kTwo, nullptr, kInts));
  add("types", "NULL", SGLCOLL_ERR_ARG, make(2, kTwo, kTwo, nullptr));
  add("block_lengths[1]", "-1", SGLCOLL_ERR_ARG, make(2, kNegative, kTwo, kInts));
  add("displacement", "9223372036854775807", SGLCOLL_ERR_COUNT, make(2, kTwo, kFarApart, kInts));
  add("types[1]", "NULL", SGLCOLL_ERR_TYPE, [=](Site& s) { return with_second(nullptr, s); });
  add("types[1]", "freed", SGLCOLL_ERR_TYPE, [=](Site& s) { return with_second(s.freed_type, s); });
  add("new_type", "NULL", SGLCOLL_ERR_ARG,
      [](Site&) { return sglcoll_type_struct(2, kTwo, kTwo, kInts, nullptr); });
}

void add_subarray(Table* table) {
  struct Call {
    int dims = 2;
    std::vector<int64_t> sizes = {4, 6}, subsizes = {2, 3}, starts = {1, 2};
    int order = kC;
  };
  const char* name = "sglcoll_type_subarray";
  auto make = [](const Call& c, sglcoll_type old, sglcoll_type* made) {
    auto array = [](const std::vector<int64_t>& values) {
      return values.empty() ? nullptr : values.data();
    };
    return sglcoll_type_subarray(c.dims, array(c.sizes), array(c.subsizes), array(c.starts),
                                 static_cast<sglcoll_order>(c.order), old, made);
  };
  auto add = [&](const char* argument, const char* value, sglcoll_status code, auto spoil) {
    table->push_back({name, argument, value, code, [=](Site& s) {
                        Call call;
                        spoil(call);
                        return make(call, SGLCOLL_INT, &s.outputs.type);
                      }});
  };
  add_constructor(table, name, [=](auto old, auto made) { return make({}, old, made); });
  add("dims", "0", SGLCOLL_ERR_ARG, [](Call& c) { c.dims = 0; });
  add("dims", "-3", SGLCOLL_ERR_ARG, [](Call& c) { c.dims = -3; });
  add("sizes", "NULL", SGLCOLL_ERR_ARG, [](Call& c) { c.sizes.clear(); });
  add("subsizes", "NULL", SGLCOLL_ERR_ARG, [](Call& c) { c.subsizes.clear(); });
  add("starts", "NULL", SGLCOLL_ERR_ARG, [](Call& c) { c.starts.clear(); });
  add("sizes[1]", "-6", SGLCOLL_ERR_ARG, [](Call& c) { c.sizes[1] = -6; });
  add("subsizes[0]", "5", SGLCOLL_ERR_ARG, [](Call& c) { c.subsizes[0] = 5; });
  add("starts[1]", "4", SGLCOLL_ERR_ARG, [](Call& c) { c.starts[1] = 4; });
  add("starts[0]", "-1", SGLCOLL_ERR_ARG, [](Call& c) { c.starts[0] = -1; });
  add("order", "7", SGLCOLL_ERR_ARG, [](Call& c) { c.order = 7; });
  add("sizes", "2^61", SGLCOLL_ERR_COUNT, [](Call& c) { c.sizes = {kHuge, kHuge}; });
}

void add_darray(Table* table) {
  struct Call {
    int size = 6, rank = 1, dims = 2;
    std::vector<int64_t> sizes = {8, 9}, args = {SGLCOLL_DISTRIBUTE_DEFAULT_ARG, 2};
    std::vector<int> distributions = {SGLCOLL_DISTRIBUTE_BLOCK, SGLCOLL_DISTRIBUTE_CYCLIC},
                     grid = {2, 3};
    int order = kC;
  };
  const char* name = "sglcoll_type_darray";
  auto make = [](const Call& c, sglcoll_type old, sglcoll_type* made) {
    auto array = [](const auto& values) { return values.empty() ? nullptr : values.data(); };
    std::vector<sglcoll_distribution> kinds;
    for (int kind : c.distributions) kinds.push_back(static_cast<sglcoll_distribution>(kind));
    return sglcoll_type_darray(c.size, c.rank, c.dims, array(c.sizes), array(kinds), array(c.args),
                               array(c.grid), static_cast<sglcoll_order>(c.order), old, made);
  };
  auto add = [&](const char* argument, const char* value, sglcoll_status code, auto spoil) {
    table->push_back({name, argument, value, code, [=](Site& s) {
                        Call call;
                        spoil(call);
                        return make(call, SGLCOLL_INT, &s.outputs.type);
                      }});
  };
  add_constructor(table, name, [=](auto old, auto made) { return make({}, old, made); });
  add("size", "0", SGLCOLL_ERR_ARG, [](Call& c) { c.size = 0; });
  add("rank", "6", SGLCOLL_ERR_ARG, [](Call& c) { c.rank = 6; });
  add("rank", "-1", SGLCOLL_ERR_ARG, [](Call& c) { c.rank = -1; });
  add("dims", "-2", SGLCOLL_ERR_ARG, [](Call& c) { c.dims = -2; });
  add("global_sizes", "NULL", SGLCOLL_ERR_ARG, [](Call& c) { c.sizes.clear(); });
  add("distributions", "NULL", SGLCOLL_ERR_ARG, [](Call& c) { c.distributions.clear(); });
  add("distribution_args", "NULL", SGLCOLL_ERR_ARG, [](Call& c) { c.args.clear(); });
  add("process_sizes", "NULL", SGLCOLL_ERR_ARG, [](Call& c) { c.grid.clear(); });
  add("global_sizes[0]", "-8", SGLCOLL_ERR_ARG, [](Call& c) { c.sizes[0] = -8; });
  add("distributions[1]", "9", SGLCOLL_ERR_ARG, [](Call& c) { c.distributions[1] = 9; });
  add("distribution_args[1]", "-2", SGLCOLL_ERR_ARG, [](Call& c) { c.args[1] = -2; });
  add("process_sizes[0]", "0", SGLCOLL_ERR_ARG, [](Call& c) { c.grid[0] = 0; });
  add("process_sizes", "9", SGLCOLL_ERR_ARG, [](Call& c) { c.grid[0] = 3; });
  add("order", "-1", SGLCOLL_ERR_ARG, [](Call& c) { c.order = -1; });
}

void add_queries(Table* table) {
  // `name`'s first parameter is the type; the rest is given by `call`.
  auto add_query = [&](const char* name, auto call) {
    table->push_back(
        {name, "type", "NULL", SGLCOLL_ERR_TYPE, [=](Site& s) { return call(nullptr, s); }});
    table->push_back(
        {name, "type", "freed", SGLCOLL_ERR_TYPE, [=](Site& s) { return call(s.freed_type, s); }});
  };
  auto add = [&](const char* name, const char* argument, const char* value, sglcoll_status code,
                 auto call) {
    table->push_back({name, argument, value, code, call});
  };
  add_query("sglcoll_type_size",
            [](sglcoll_type t, Site& s) { return sglcoll_type_size(t, &s.outputs.bytes); });
  add("sglcoll_type_size", "bytes", "NULL", SGLCOLL_ERR_ARG,
      [](Site&) { return sglcoll_type_size(SGLCOLL_INT, nullptr); });
  for (bool exact : {false, true}) {
    const char* name = exact ? "sglcoll_type_get_true_extent" : "sglcoll_type_get_extent";
    auto get = exact ? sglcoll_type_get_true_extent : sglcoll_type_get_extent;
    add_query(name, [=](sglcoll_type t, Site& s) {
      return get(t, &s.outputs.bytes, &s.outputs.more_bytes);
    });
    add(name, exact ? "true_lower_bound" : "lower_bound", "NULL", SGLCOLL_ERR_ARG,
        [=](Site& s) { return get(SGLCOLL_INT, nullptr, &s.outputs.bytes); });
    add(name, exact ? "true_extent" : "extent", "NULL", SGLCOLL_ERR_ARG,
        [=](Site& s) { return get(SGLCOLL_INT, &s.outputs.bytes, nullptr); });
  }
  const char* name = "sglcoll_type_get_envelope";
  add_query(name, [](sglcoll_type t, Site& s) {
    return sglcoll_type_get_envelope(t, &s.outputs.bytes, &s.outputs.more_bytes,
                                     &s.outputs.combiner);
  });
  add(name, "integer_count", "NULL", SGLCOLL_ERR_ARG, [](Site& s) {
    return sglcoll_type_get_envelope(s.mixed, nullptr, &s.outputs.bytes, &s.outputs.combiner);
  });
  add(name, "type_count", "NULL", SGLCOLL_ERR_ARG, [](Site& s) {
    return sglcoll_type_get_envelope(s.mixed, &s.outputs.bytes, nullptr, &s.outputs.combiner);
  });
  add(name, "combiner", "NULL", SGLCOLL_ERR_ARG, [](Site& s) {
    return sglcoll_type_get_envelope(s.mixed, &s.outputs.bytes, &s.outputs.more_bytes, nullptr);
  });
  name = "sglcoll_type_get_contents";
  auto contents = [](sglcoll_type t, int64_t integers, int64_t types, Site& s) {
    return sglcoll_type_get_contents(t, integers, types, s.outputs.integers, s.outputs.types);
  };
  add_query(name, [=](sglcoll_type t, Site& s) { return contents(t, 4, 4, s); });
  add(name, "type", "predefined", SGLCOLL_ERR_TYPE,
      [=](Site& s) { return contents(SGLCOLL_INT, 4, 4, s); });
  add(name, "max_integers", "2", SGLCOLL_ERR_ARG,
      [=](Site& s) { return contents(s.uncommitted, 2, 4, s); });
  add(name, "max_integers", "-1", SGLCOLL_ERR_ARG,
      [=](Site& s) { return contents(s.uncommitted, -1, 4, s); });
  add(name, "max_types", "0", SGLCOLL_ERR_ARG,
      [=](Site& s) { return contents(s.uncommitted, 4, 0, s); });
  add(name, "integers", "NULL", SGLCOLL_ERR_ARG, [](Site& s) {
    return sglcoll_type_get_contents(s.uncommitted, 4, 4, nullptr, s.outputs.types);
  });
  add(name, "types", "NULL", SGLCOLL_ERR_ARG, [](Site& s) {
    return sglcoll_type_get_contents(s.uncommitted, 4, 4, s.outputs.integers, nullptr);
  });
  name = "sglcoll_type_describe";
  add_query(name, [](sglcoll_type t, Site& s) {
    return sglcoll_type_describe(t, s.outputs.text, 8, &s.outputs.needed);
  });
  add(name, "text", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_type_describe(SGLCOLL_INT, nullptr, 8, &s.outputs.needed); });
}

void add_handles(Table* table) {
  for (bool frees : {false, true}) {
    const char* name = frees ? "sglcoll_type_free" : "sglcoll_type_commit";
    auto call = frees ? sglcoll_type_free : sglcoll_type_commit;
    auto add = [&](const char* value, sglcoll_status code, auto handle) {
      table->push_back({name, "type", value, code, [=](Site& s) {
                          sglcoll_type given = handle(s), now = given;
                          sglcoll_status status = call(&now);
                          EXPECT_EQ(now, given);
                          return status;
                        }});
    };
    table->push_back({name, "type", "NULL", SGLCOLL_ERR_ARG, [=](Site&) { return call(nullptr); }});
    add("NULL", SGLCOLL_ERR_TYPE, [](Site&) -> sglcoll_type { return nullptr; });
    add("freed", SGLCOLL_ERR_TYPE, [](Site& s) { return s.freed_type; });
    if (frees)
      add("predefined int32", SGLCOLL_ERR_TYPE, [](Site&) -> sglcoll_type { return SGLCOLL_INT; });
  }
}

void add_packing(Table* table) {
  struct Call {
    const void* buffer;
    int64_t count = 4;
    sglcoll_type type = SGLCOLL_INT;
    void* packed;
    int64_t packed_bytes = 16, position = 0;
    bool no_position = false;
  };
  auto add = [&](const char* argument, const char* value, sglcoll_status code, auto spoil) {
    for (bool unpacks : {false, true}) {
      table->push_back(
          {unpacks ? "sglcoll_unpack" : "sglcoll_pack", argument, value, code, [=](Site& s) {
             Call c{s.send.data(), 4, SGLCOLL_INT, s.recv.data()};
             spoil(c, s);
             const int64_t before = c.position;
             int64_t* position = c.no_position ? nullptr : &c.position;
             sglcoll_status status =
                 unpacks
                     ? sglcoll_unpack(c.packed, c.packed_bytes, position,
                                      const_cast<void*>(c.buffer), c.count, c.type)
                     : sglcoll_pack(c.buffer, c.count, c.type, c.packed, c.packed_bytes, position);
             EXPECT_EQ(c.position, before);
             return status;
           }});
    }
  };
  add("buffer", "NULL", SGLCOLL_ERR_BUFFER, [](Call& c, Site&) { c.buffer = nullptr; });
  add("buffer", "NULL", SGLCOLL_ERR_BUFFER,
      [](Call& c, Site& s) { c.buffer = nullptr, c.count = 1, c.type = s.offset; });
  add("count", "-4", SGLCOLL_ERR_COUNT, [](Call& c, Site&) { c.count = -4; });
  add("count", "9223372036854775807", SGLCOLL_ERR_COUNT, [](Call& c, Site&) { c.count = kHuge; });
  add("count", "100", SGLCOLL_ERR_COUNT, [](Call& c, Site& s) { c.count = 100, c.type = s.far; });
  add("type", "NULL", SGLCOLL_ERR_TYPE, [](Call& c, Site&) { c.type = nullptr; });
  add("type", "freed", SGLCOLL_ERR_TYPE, [](Call& c, Site& s) { c.type = s.freed_type; });
  add("type", "not committed", SGLCOLL_ERR_TYPE, [](Call& c, Site& s) { c.type = s.uncommitted; });
  add("packed", "NULL", SGLCOLL_ERR_BUFFER, [](Call& c, Site&) { c.packed = nullptr; });
  add("packed_bytes", "15", SGLCOLL_ERR_ARG, [](Call& c, Site&) { c.packed_bytes = 15; });
  add("packed", "-16", SGLCOLL_ERR_ARG, [](Call& c, Site&) { c.packed_bytes = -16; });
  add("position", "NULL", SGLCOLL_ERR_ARG, [](Call& c, Site&) { c.no_position = true; });
  add("position", "-1", SGLCOLL_ERR_ARG, [](Call& c, Site&) { c.position = -1; });
  add("position", "17", SGLCOLL_ERR_ARG, [](Call& c, Site&) { c.position = 17; });
  add("position", "1", SGLCOLL_ERR_ARG, [](Call& c, Site&) { c.position = 1; });

  auto add_size = [&](const char* argument, const char* value, sglcoll_status code, auto call) {
    table->push_back({"sglcoll_pack_size", argument, value, code, call});
  };
  add_size("count", "-1", SGLCOLL_ERR_COUNT,
           [](Site& s) { return sglcoll_pack_size(-1, SGLCOLL_INT, &s.outputs.bytes); });
  add_size("count", "9223372036854775807", SGLCOLL_ERR_COUNT,
           [](Site& s) { return sglcoll_pack_size(kHuge, SGLCOLL_INT, &s.outputs.bytes); });
  add_size("type", "NULL", SGLCOLL_ERR_TYPE,
           [](Site& s) { return sglcoll_pack_size(1, nullptr, &s.outputs.bytes); });
  add_size("type", "freed", SGLCOLL_ERR_TYPE,
           [](Site& s) { return sglcoll_pack_size(1, s.freed_type, &s.outputs.bytes); });
  add_size("type", "not committed", SGLCOLL_ERR_TYPE,
           [](Site& s) { return sglcoll_pack_size(1, s.uncommitted, &s.outputs.bytes); });
  add_size("bytes", "NULL", SGLCOLL_ERR_ARG,
           [](Site&) { return sglcoll_pack_size(1, SGLCOLL_INT, nullptr); });
}

}  // namespace

void add_type_rows(Table* table) {
  add_strided(table);
  add_indexed(table);
  add_struct(table);
  add_subarray(table);
  add_darray(table);
  add_queries(table);
  add_handles(table);
  add_packing(table);
}

}  // namespace sgl::test
