// Bad arguments of the collectives, each in all three forms.
#include "api/bad_argument_table.hpp"

namespace sgl::test {
namespace {

constexpr int64_t kCount = 4;

// The arguments of any collective, good until a row spoils them. This rank is the root.
struct Arguments {
  const void* send;
  int64_t send_count = kCount;
  sglcoll_type send_type = SGLCOLL_INT;
  void* recv;
  int64_t recv_count = kCount;
  sglcoll_type recv_type = SGLCOLL_INT;
  const int64_t* counts;
  const int64_t* displacements;
  sglcoll_op op = SGLCOLL_SUM;
  int root;
  // The alltoalls, whose receiving side has counts and displacements.
  const int64_t* send_counts;
  const int64_t* send_displacements;
  const sglcoll_type* send_types;
  const sglcoll_type* recv_types;
};

Arguments good_arguments(Site& s) {
  return {s.send.data(),  kCount,        SGLCOLL_INT,     s.recv.data(),
          kCount,         SGLCOLL_INT,   s.counts.data(), s.displacements.data(),
          SGLCOLL_SUM,    s.rank,        s.counts.data(), s.displacements.data(),
          s.types.data(), s.types.data()};
}

using Spoil = std::function<void(Site& site, Arguments& arguments)>;

// Adds rows for the three functions of a collective. `list` makes its parameters, up to
// the communicator, of Arguments.
template <class List, class Blocking, class Nonblocking, class Persistent>
class Rows {
 public:
  Rows(Table* table, const std::string& name, List list, Blocking blocking, Nonblocking nonblocking,
       Persistent persistent)
      : table_(table),
        name_(name),
        list_(list),
        blocking_(blocking),
        nonblocking_(nonblocking),
        persistent_(persistent) {
    auto nothing = [](Site&, Arguments&) {};
    add("comm", "NULL", SGLCOLL_ERR_COMM, nothing, [](Site&) -> sglcoll_comm { return nullptr; });
    add("comm", "freed", SGLCOLL_ERR_COMM, nothing, [](Site& s) { return s.freed_comm; });
    add("comm", "finalized", SGLCOLL_ERR_COMM, nothing, [](Site& s) { return s.finalized_comm; });
    auto add_null_request = [&](const std::string& function, auto call) {
      table_->push_back({function, "request", "NULL", SGLCOLL_ERR_ARG, [=](Site& s) {
                           return std::apply(call, std::tuple_cat(list(good_arguments(s)),
                                                                  std::tuple(s.comm, nullptr)));
                         }});
    };
    add_null_request("sglcoll_i" + name_, nonblocking_);
    add_null_request("sglcoll_" + name_ + "_init", persistent_);
  }

  void add(const char* argument, const char* value, sglcoll_status code, const Spoil& spoil) {
    add(argument, value, code, spoil, [](Site& s) { return s.comm; });
  }

 private:
  void add(const char* argument, const char* value, sglcoll_status code, const Spoil& spoil,
           const std::function<sglcoll_comm(Site&)>& comm) {
    List list = list_;
    auto spoilt = [list, spoil, comm](Site& s) {
      Arguments arguments = good_arguments(s);
      spoil(s, arguments);
      return std::tuple_cat(list(arguments), std::tuple(comm(s)));
    };
    auto with_request = [spoilt](Site& s) {
      return std::tuple_cat(spoilt(s), std::tuple(&s.outputs.request));
    };
    table_->push_back(
        {"sglcoll_" + name_, argument, value, code,
         [call = blocking_, spoilt](Site& s) { return std::apply(call, spoilt(s)); }});
    table_->push_back(
        {"sglcoll_i" + name_, argument, value, code, [call = nonblocking_, with_request](Site& s) {
           return std::apply(call, with_request(s));
         }});
    table_->push_back({"sglcoll_" + name_ + "_init", argument, value, code,
                       [call = persistent_, with_request](Site& s) {
                         return std::apply(call, with_request(s));
                       }});
  }

  Table* table_;
  std::string name_;
  List list_;
  Blocking blocking_;
  Nonblocking nonblocking_;
  Persistent persistent_;
};

#define ROWS(name, ...)                 \
  Rows(                                 \
      table, #name,                     \
      [](const Arguments& a) {          \
        (void)a;                        \
        return std::tuple(__VA_ARGS__); \
      },                                \
      sglcoll_##name, sglcoll_i##name, sglcoll_##name##_init)

constexpr auto kType = SGLCOLL_ERR_TYPE;
constexpr auto kBuffer = SGLCOLL_ERR_BUFFER;
constexpr auto kCountCode = SGLCOLL_ERR_COUNT;

template <class R>
void add_bad_types(R& rows, const char* name, sglcoll_type Arguments::*member) {
  rows.add(name, "NULL", kType, [=](Site&, Arguments& a) { a.*member = nullptr; });
  rows.add(name, "freed", kType, [=](Site& s, Arguments& a) { a.*member = s.freed_type; });
  rows.add(name, "not committed", kType, [=](Site& s, Arguments& a) { a.*member = s.uncommitted; });
}

template <class R>
void add_send(R& rows) {
  rows.add("send_buffer", "NULL", kBuffer, [](Site&, Arguments& a) { a.send = nullptr; });
  rows.add("send_count", "-1", kCountCode, [](Site&, Arguments& a) { a.send_count = -1; });
  rows.add("send_count", "9223372036854775807", kCountCode,
           [](Site&, Arguments& a) { a.send_count = INT64_MAX; });
  rows.add("send_count", "1000", kCountCode,
           [](Site& s, Arguments& a) { a.send_count = 1000, a.send_type = s.far; });
  add_bad_types(rows, "send_type", &Arguments::send_type);
}

template <class R>
void add_recv(R& rows) {
  rows.add("recv_buffer", "NULL", kBuffer, [](Site&, Arguments& a) { a.recv = nullptr; });
  rows.add("recv_count", "-2", kCountCode, [](Site&, Arguments& a) { a.recv_count = -2; });
  rows.add("recv_count", "9223372036854775807", kCountCode,
           [](Site&, Arguments& a) { a.recv_count = INT64_MAX; });
  rows.add("recv_count", "1000", kCountCode,
           [](Site& s, Arguments& a) { a.recv_count = 1000, a.recv_type = s.far; });
  add_bad_types(rows, "recv_type", &Arguments::recv_type);
}

template <class R>
void add_mismatch(R& rows) {
  rows.add("send_buffer", "float", SGLCOLL_ERR_MISMATCH,
           [](Site&, Arguments& a) { a.send_type = SGLCOLL_FLOAT; });
  rows.add("send_buffer", "3 elements", SGLCOLL_ERR_MISMATCH,
           [](Site&, Arguments& a) { a.send_count = kCount - 1; });
  rows.add("recv_buffer", "double", SGLCOLL_ERR_MISMATCH,
           [](Site& s, Arguments& a) { a.send_type = s.mixed; });
}

void overlap(Site& s, Arguments& a) {
  a.send = s.recv.data();
  a.recv = s.recv.data();
}
void overlap_last(Site& s, Arguments& a) {
  a.send = s.recv.data() + kCount - 1;
  a.recv = s.recv.data();
}

template <class R>
void add_overlap(R& rows) {
  rows.add("send_buffer", "overlap", kBuffer, overlap);
  rows.add("recv_buffer", "overlap", kBuffer, overlap_last);
}

// kCount elements that end below 2^63, but not when the buffer's address is added.
template <class R>
void add_past_end(R& rows, const char* count, sglcoll_type Arguments::*type) {
  rows.add(count, "pass the end", kCountCode, [type](Site& s, Arguments& a) { a.*type = s.past; });
}

// The arrays of a v form's side.
struct Arrays {
  std::string counts, displacements;
  const int64_t* Arguments::*counts_member = &Arguments::counts;
  const int64_t* Arguments::*displacements_member = &Arguments::displacements;
};

// The blocks of a v form, at recv_buffer or send_buffer.
template <class R>
void add_blocks(R& rows, bool receives, const Arrays& arrays) {
  static const int64_t kNegative[] = {4, -4, 4}, kMany[] = {4, INT64_MAX, 4},
                       kTooMany[] = {INT64_MAX / 4, INT64_MAX / 8, 4};
  static const int64_t kFar[] = {0, INT64_MAX, 8};
  const auto counts = arrays.counts_member;
  const auto places = arrays.displacements_member;
  auto add = [&](const std::string& name, const char* value, sglcoll_status code, auto member,
                 const int64_t* array) {
    rows.add(name.c_str(), value, code, [=](Site&, Arguments& a) { a.*member = array; });
  };
  add(arrays.counts, "NULL", SGLCOLL_ERR_ARG, counts, nullptr);
  add(arrays.counts + "[1]", "-4", kCountCode, counts, kNegative);
  add(arrays.counts, "9223372036854775807", kCountCode, counts, kMany);
  add(arrays.counts + "[1]", "1152921504606846975", kCountCode, counts, kTooMany);
  add(arrays.displacements, "NULL", SGLCOLL_ERR_ARG, places, nullptr);
  add(arrays.displacements + "[1]", "9223372036854775807", kCountCode, places, kFar);
  rows.add(receives ? "recv_buffer" : "send_buffer", "NULL", kBuffer,
           [=](Site&, Arguments& a) { receives ? a.recv = nullptr : a.send = nullptr; });
}

// The same with displacements.
template <class R>
void add_block_past_end(R& rows, const Arrays& arrays, const int64_t* displacements) {
  rows.add((arrays.displacements + "[1]").c_str(), "passes the end", kCountCode,
           [displacements, member = arrays.displacements_member](Site&, Arguments& a) {
             a.*member = displacements;
           });
}

// In units of a type's extent, with that type.
template <class R>
void add_typed_blocks(R& rows, bool receives, const Arrays& arrays) {
  static const int64_t kFarBack[] = {0, INT64_MIN / 2, 8}, kPast[] = {0, INT64_MAX / 4 - 1024, 8};
  add_blocks(rows, receives, arrays);
  add_block_past_end(rows, arrays, kPast);
  rows.add((arrays.displacements + "[1]").c_str(), "-4611686018427387904", kCountCode,
           [member = arrays.displacements_member](Site&, Arguments& a) { a.*member = kFarBack; });
  add_bad_types(rows, receives ? "recv_type" : "send_type",
                receives ? &Arguments::recv_type : &Arguments::send_type);
}

template <class R>
void add_root(R& rows) {
  rows.add("root", "-1", SGLCOLL_ERR_ARG, [](Site&, Arguments& a) { a.root = -1; });
  rows.add("root", "3", SGLCOLL_ERR_ARG, [](Site& s, Arguments& a) { a.root = s.size; });
}

void elsewhere(Site& s, Arguments& a) {
  a.root = (s.rank + 1) % s.size;
}

template <class R>
void add_no_in_place(R& rows, const char* name, bool sends, bool at_root) {
  rows.add(name, "SGLCOLL_IN_PLACE", kBuffer, [=](Site& s, Arguments& a) {
    if (!at_root) elsewhere(s, a);
    sends ? a.send = SGLCOLL_IN_PLACE : a.recv = SGLCOLL_IN_PLACE;
  });
}

// The count and type are named `count` and "type" there.
template <class R>
void add_reduction(R& rows, const char* count) {
  rows.add("send_buffer", "NULL", kBuffer, [](Site&, Arguments& a) { a.send = nullptr; });
  rows.add("recv_buffer", "NULL", kBuffer, [](Site&, Arguments& a) { a.recv = nullptr; });
  rows.add("recv_buffer", "NULL", kBuffer,
           [](Site&, Arguments& a) { a.recv = nullptr, a.send = SGLCOLL_IN_PLACE; });
  rows.add("recv_buffer", "NULL", kBuffer,
           [](Site& s, Arguments& a) { a.recv = nullptr, a.recv_type = s.offset; });
  if (count) {
    rows.add(count, "-3", kCountCode, [](Site&, Arguments& a) { a.recv_count = -3; });
    rows.add(count, "9223372036854775807", kCountCode,
             [](Site&, Arguments& a) { a.recv_count = INT64_MAX; });
    rows.add(count, "1000", kCountCode,
             [](Site& s, Arguments& a) { a.recv_count = 1000, a.recv_type = s.far; });
    rows.add(count, "-5", kCountCode,
             [](Site&, Arguments& a) { a.recv_count = -5, a.send = SGLCOLL_IN_PLACE; });
  }
  add_bad_types(rows, "type", &Arguments::recv_type);
  rows.add("op", "NULL", SGLCOLL_ERR_OP, [](Site&, Arguments& a) { a.op = nullptr; });
  rows.add("op", "freed", SGLCOLL_ERR_OP, [](Site& s, Arguments& a) { a.op = s.freed_op; });
  rows.add("op", "band is not defined on float", SGLCOLL_ERR_OP,
           [](Site&, Arguments& a) { a.op = SGLCOLL_BAND, a.recv_type = SGLCOLL_FLOAT; });
  rows.add("op", "maxloc", SGLCOLL_ERR_OP, [](Site&, Arguments& a) { a.op = SGLCOLL_MAXLOC; });
  rows.add("op", "one basic type", SGLCOLL_ERR_OP,
           [](Site& s, Arguments& a) { a.recv_type = s.mixed; });
  add_no_in_place(rows, "recv_buffer", false, true);
  rows.add("recv_buffer", "SGLCOLL_IN_PLACE", kBuffer,
           [](Site&, Arguments& a) { a.send = a.recv = SGLCOLL_IN_PLACE; });
  add_overlap(rows);
}

}  // namespace

static void add_symmetric_rows(Table* table) {
  auto allgather =
      ROWS(allgather, a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type);
  add_send(allgather);
  add_past_end(allgather, "send_count", &Arguments::send_type);
  add_recv(allgather);
  add_mismatch(allgather);
  add_overlap(allgather);
  add_no_in_place(allgather, "recv_buffer", false, true);
  allgather.add("recv_buffer", "NULL", kBuffer,
                [](Site&, Arguments& a) { a.send = SGLCOLL_IN_PLACE, a.recv = nullptr; });

  auto allgatherv = ROWS(allgatherv, a.send, a.send_count, a.send_type, a.recv, a.counts,
                         a.displacements, a.recv_type);
  add_send(allgatherv);
  add_past_end(allgatherv, "send_count", &Arguments::send_type);
  add_typed_blocks(allgatherv, true, {"recv_counts", "displacements"});
  add_mismatch(allgatherv);
  add_overlap(allgatherv);
  add_no_in_place(allgatherv, "recv_buffer", false, true);

  auto block = ROWS(reduce_scatter_block, a.send, a.recv, a.recv_count, a.recv_type, a.op);
  add_reduction(block, "recv_count");

  auto scatter = ROWS(reduce_scatter, a.send, a.recv, a.counts, a.recv_type, a.op);
  add_reduction(scatter, nullptr);
  static const int64_t kNegative[] = {4, -4, 4}, kTooMany[] = {INT64_MAX / 4, INT64_MAX, 4};
  scatter.add("recv_counts", "NULL", SGLCOLL_ERR_ARG,
              [](Site&, Arguments& a) { a.counts = nullptr; });
  scatter.add("recv_counts[1]", "-4", kCountCode,
              [](Site&, Arguments& a) { a.counts = kNegative; });
  scatter.add("recv_counts[1]", "9223372036854775807", kCountCode,
              [](Site&, Arguments& a) { a.counts = kTooMany; });

  auto allreduce = ROWS(allreduce, a.send, a.recv, a.recv_count, a.recv_type, a.op);
  add_reduction(allreduce, "count");
  add_past_end(allreduce, "count", &Arguments::recv_type);

  ROWS(barrier);
}

static void add_rooted_rows(Table* table) {
  auto reduce = ROWS(reduce, a.send, a.recv, a.recv_count, a.recv_type, a.op, a.root);
  add_reduction(reduce, "count");
  add_past_end(reduce, "count", &Arguments::recv_type);
  add_root(reduce);
  add_no_in_place(reduce, "send_buffer", true, false);
  reduce.add("send_buffer", "NULL", kBuffer,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.send = nullptr; });
  reduce.add("count", "-6", kCountCode,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.recv_count = -6; });
  reduce.add("op", "land is not defined", SGLCOLL_ERR_OP, [](Site& s, Arguments& a) {
    elsewhere(s, a), a.op = SGLCOLL_LAND, a.recv_type = SGLCOLL_DOUBLE;
  });

  auto bcast = ROWS(bcast, a.recv, a.recv_count, a.recv_type, a.root);
  add_past_end(bcast, "count", &Arguments::recv_type);
  add_root(bcast);
  for (bool at_root : {true, false}) {
    auto place = [=](Site& s, Arguments& a) {
      if (!at_root) elsewhere(s, a);
    };
    bcast.add("buffer", "NULL", kBuffer,
              [=](Site& s, Arguments& a) { place(s, a), a.recv = nullptr; });
    bcast.add("buffer", "SGLCOLL_IN_PLACE", kBuffer,
              [=](Site& s, Arguments& a) { place(s, a), a.recv = SGLCOLL_IN_PLACE; });
    bcast.add("count", "-1", kCountCode,
              [=](Site& s, Arguments& a) { place(s, a), a.recv_count = -1; });
    bcast.add("count", "9223372036854775807", kCountCode,
              [=](Site& s, Arguments& a) { place(s, a), a.recv_count = INT64_MAX; });
    bcast.add("count", "1000", kCountCode, [=](Site& s, Arguments& a) {
      place(s, a), a.recv_count = 1000, a.recv_type = s.far;
    });
  }
  add_bad_types(bcast, "type", &Arguments::recv_type);

  auto gather =
      ROWS(gather, a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type, a.root);
  auto gatherv = ROWS(gatherv, a.send, a.send_count, a.send_type, a.recv, a.counts, a.displacements,
                      a.recv_type, a.root);
  auto both_gathers = [](auto& rows) {
    add_root(rows);
    add_send(rows);
    add_mismatch(rows);
    add_overlap(rows);
    add_no_in_place(rows, "recv_buffer", false, true);
    add_no_in_place(rows, "send_buffer", true, false);
    rows.add("send_buffer", "NULL", kBuffer,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.send = nullptr; });
    rows.add("send_count", "-1", kCountCode,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.send_count = -1; });
    rows.add("send_type", "freed", kType,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.send_type = s.freed_type; });
  };
  both_gathers(gather);
  both_gathers(gatherv);
  add_recv(gather);
  add_typed_blocks(gatherv, true, {"recv_counts", "displacements"});
  gather.add("send_count", "1152921504606846976", kCountCode,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.send_count = int64_t{1} << 60; });

  auto scatter =
      ROWS(scatter, a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type, a.root);
  auto scatterv = ROWS(scatterv, a.send, a.counts, a.displacements, a.send_type, a.recv,
                       a.recv_count, a.recv_type, a.root);
  auto both_scatters = [](auto& rows) {
    add_root(rows);
    add_recv(rows);
    add_overlap(rows);
    add_no_in_place(rows, "send_buffer", true, true);
    add_no_in_place(rows, "recv_buffer", false, false);
    rows.add("recv_buffer", "float", SGLCOLL_ERR_MISMATCH,
             [](Site&, Arguments& a) { a.recv_type = SGLCOLL_FLOAT; });
    rows.add("recv_buffer", "5 elements", SGLCOLL_ERR_MISMATCH,
             [](Site&, Arguments& a) { a.recv_count = kCount + 1; });
    rows.add("recv_buffer", "NULL", kBuffer,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.recv = nullptr; });
    rows.add("recv_count", "-1", kCountCode,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.recv_count = -1; });
    rows.add("recv_type", "freed", kType,
             [](Site& s, Arguments& a) { elsewhere(s, a), a.recv_type = s.freed_type; });
  };
  both_scatters(scatter);
  both_scatters(scatterv);
  add_send(scatter);
  add_typed_blocks(scatterv, false, {"send_counts", "displacements"});
  scatter.add("recv_count", "1152921504606846976", kCountCode,
              [](Site& s, Arguments& a) { elsewhere(s, a), a.recv_count = int64_t{1} << 60; });
}

// The types of an alltoallw's side, of which one is bad.
template <class R>
void add_bad_type_arrays(R& rows, const std::string& name, const sglcoll_type* Arguments::*member) {
  rows.add(name.c_str(), "NULL", SGLCOLL_ERR_ARG,
           [=](Site&, Arguments& a) { a.*member = nullptr; });
  auto add = [&](const char* value, auto type_of) {
    rows.add((name + "[1]").c_str(), value, kType, [=](Site& s, Arguments& a) {
      s.bad_types = s.types;
      s.bad_types[1] = type_of(s);
      a.*member = s.bad_types.data();
    });
  };
  add("NULL", [](Site&) -> sglcoll_type { return nullptr; });
  add("freed", [](Site& s) { return s.freed_type; });
  add("not committed", [](Site& s) { return s.uncommitted; });
}

static void add_alltoall_rows(Table* table) {
  auto alltoall =
      ROWS(alltoall, a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type);
  add_send(alltoall);
  add_recv(alltoall);
  add_mismatch(alltoall);

  auto alltoallv = ROWS(alltoallv, a.send, a.send_counts, a.send_displacements, a.send_type, a.recv,
                        a.counts, a.displacements, a.recv_type);
  auto alltoallw = ROWS(alltoallw, a.send, a.send_counts, a.send_displacements, a.send_types,
                        a.recv, a.counts, a.displacements, a.recv_types);
  const Arrays go{"send_counts", "send_displacements", &Arguments::send_counts,
                  &Arguments::send_displacements};
  const Arrays come{"recv_counts", "recv_displacements"};
  auto in_bytes = [](Arrays arrays) {
    arrays.displacements += "_bytes";
    return arrays;
  };
  add_typed_blocks(alltoallv, false, go);
  add_typed_blocks(alltoallv, true, come);
  add_blocks(alltoallw, false, in_bytes(go));
  add_blocks(alltoallw, true, in_bytes(come));
  static const int64_t kPast[] = {0, INT64_MAX - 4096, 32};
  add_block_past_end(alltoallw, in_bytes(go), kPast);
  add_block_past_end(alltoallw, in_bytes(come), kPast);
  add_bad_type_arrays(alltoallw, "send_types", &Arguments::send_types);
  add_bad_type_arrays(alltoallw, "recv_types", &Arguments::recv_types);
  alltoallv.add("send_buffer", "float", SGLCOLL_ERR_MISMATCH,
                [](Site&, Arguments& a) { a.send_type = SGLCOLL_FLOAT; });
  alltoallw.add("send_buffer", "float", SGLCOLL_ERR_MISMATCH, [](Site& s, Arguments& a) {
    s.bad_types.assign(s.types.size(), SGLCOLL_FLOAT);
    a.send_types = s.bad_types.data();
  });
  auto all = [](auto& rows) {
    add_overlap(rows);
    add_no_in_place(rows, "recv_buffer", false, true);
    rows.add("recv_buffer", "NULL", kBuffer,
             [](Site&, Arguments& a) { a.send = SGLCOLL_IN_PLACE, a.recv = nullptr; });
  };
  all(alltoall);
  all(alltoallv);
  all(alltoallw);
  auto both = [](auto& rows) {
    static const int64_t kThree[] = {3, 3, 3};
    rows.add("send_buffer", "3 elements", SGLCOLL_ERR_MISMATCH,
             [](Site&, Arguments& a) { a.send_counts = kThree; });
  };
  both(alltoallv);
  both(alltoallw);
}

void add_collective_rows(Table* table) {
  add_symmetric_rows(table);
  add_alltoall_rows(table);
  add_rooted_rows(table);
}

}  // namespace sgl::test
