// Bad arguments of start and end, communicators, operations, memory and requests.
#include "api/bad_argument_table.hpp"

namespace sgl::test {
namespace {

// Calls that take a handle's address must leave the handle alone when they fail.
template <class Handle, class Call>
auto keeps(Call call, Handle Site::*member) {
  return [=](Site& s) {
    Handle now = s.*member;
    sglcoll_status status = call(&now);
    EXPECT_EQ(now, s.*member);
    return status;
  };
}

int never_called(void*, const void*, void*, size_t) {
  ADD_FAILURE() << "the exchange was called in spite of a bad argument";
  return 1;
}

void add_start(Table* table) {
  struct Call {
    sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
    sglcoll_exchange exchange{0, 2, never_called, nullptr};
  };
  auto add = [&](const char* argument, const char* value, auto spoil) {
    table->push_back({"sglcoll_init", argument, value, SGLCOLL_ERR_ARG, [=](Site& s) {
                        Call call;
                        call.options.exchange = &call.exchange;
                        spoil(call);
                        return sglcoll_init(&call.options, &s.outputs.comm);
                      }});
  };
  table->push_back({"sglcoll_init", "world", "NULL", SGLCOLL_ERR_ARG,
                    [](Site&) { return sglcoll_init(nullptr, nullptr); }});
  add("options->struct_bytes", "0", [](Call& c) { c.options.struct_bytes = 0; });
  add("options->struct_bytes", "4096", [](Call& c) { c.options.struct_bytes = 4096; });
  add("options->thread_level", "-1",
      [](Call& c) { c.options.thread_level = static_cast<sglcoll_thread_level>(-1); });
  add("options->thread_level", "4",
      [](Call& c) { c.options.thread_level = static_cast<sglcoll_thread_level>(4); });
  add("exchange->size", "0", [](Call& c) { c.exchange.size = 0; });
  add("exchange->rank", "-1", [](Call& c) { c.exchange.rank = -1; });
  add("exchange->rank", "2", [](Call& c) { c.exchange.rank = 2; });
  add("exchange->allgather", "NULL", [](Call& c) { c.exchange.allgather = nullptr; });

  auto end = [&](const char* value, sglcoll_status code, auto call) {
    table->push_back({"sglcoll_finalize", "world", value, code, call});
  };
  end("NULL", SGLCOLL_ERR_ARG, [](Site&) { return sglcoll_finalize(nullptr); });
  end("finalized", SGLCOLL_ERR_COMM, keeps(sglcoll_finalize, &Site::finalized_comm));
  end("sglcoll_init", SGLCOLL_ERR_COMM, keeps(sglcoll_finalize, &Site::comm));
  // An operation is under way.
  table->push_back({"sglcoll_finalize", "operations", "not complete", SGLCOLL_ERR_REQUEST,
                    keeps(sglcoll_finalize, &Site::world)});
}

// A function whose first parameter is the communicator.
template <class Call>
void add_bad_comms(Table* table, const char* function, Call call) {
  auto add = [&](const char* value, auto handle) {
    table->push_back(
        {function, "comm", value, SGLCOLL_ERR_COMM, [=](Site& s) { return call(handle(s), s); }});
  };
  add("NULL", [](Site&) -> sglcoll_comm { return nullptr; });
  add("freed", [](Site& s) { return s.freed_comm; });
  add("finalized", [](Site& s) { return s.finalized_comm; });
}

void add_communicators(Table* table) {
  auto add = [&](const char* function, const char* argument, const char* value, sglcoll_status code,
                 auto call) {
    table->push_back({function, argument, value, code, call});
  };
  add_bad_comms(table, "sglcoll_comm_rank",
                [](auto comm, Site& s) { return sglcoll_comm_rank(comm, &s.outputs.number); });
  add("sglcoll_comm_rank", "rank", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_comm_rank(s.comm, nullptr); });
  add_bad_comms(table, "sglcoll_comm_size",
                [](auto comm, Site& s) { return sglcoll_comm_size(comm, &s.outputs.number); });
  add("sglcoll_comm_size", "size", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_comm_size(s.comm, nullptr); });
  add_bad_comms(table, "sglcoll_comm_dup",
                [](auto comm, Site& s) { return sglcoll_comm_dup(comm, &s.outputs.comm); });
  add("sglcoll_comm_dup", "new_comm", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_comm_dup(s.comm, nullptr); });
  add_bad_comms(table, "sglcoll_comm_split",
                [](auto comm, Site& s) { return sglcoll_comm_split(comm, 0, 0, &s.outputs.comm); });
  add("sglcoll_comm_split", "color", "-1", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_comm_split(s.comm, -1, 0, &s.outputs.comm); });
  add("sglcoll_comm_split", "new_comm", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_comm_split(s.comm, 0, 0, nullptr); });
  add_bad_comms(table, "sglcoll_comm_split_node", [](auto comm, Site& s) {
    return sglcoll_comm_split_node(comm, 0, &s.outputs.comm);
  });
  add("sglcoll_comm_split_node", "new_comm", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_comm_split_node(s.comm, 0, nullptr); });
  add_bad_comms(table, "sglcoll_comm_self",
                [](auto comm, Site& s) { return sglcoll_comm_self(comm, &s.outputs.comm); });
  add("sglcoll_comm_self", "self", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_comm_self(s.comm, nullptr); });

  add("sglcoll_comm_free", "comm", "NULL", SGLCOLL_ERR_ARG,
      [](Site&) { return sglcoll_comm_free(nullptr); });
  add_bad_comms(table, "sglcoll_comm_free",
                [](auto comm, Site&) { return sglcoll_comm_free(&comm); });
  add("sglcoll_comm_free", "comm", "world", SGLCOLL_ERR_COMM,
      keeps(sglcoll_comm_free, &Site::world));

  add_bad_comms(table, "sglcoll_mem_alloc",
                [](auto comm, Site& s) { return sglcoll_mem_alloc(comm, 8, &s.outputs.memory); });
  add("sglcoll_mem_alloc", "memory", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_mem_alloc(s.comm, 8, nullptr); });
  add("sglcoll_mem_alloc", "bytes", "18446744073709551615", SGLCOLL_ERR_NO_MEMORY,
      [](Site& s) { return sglcoll_mem_alloc(s.comm, SIZE_MAX, &s.outputs.memory); });
  add("sglcoll_mem_alloc", "bytes", "1152921504606846976", SGLCOLL_ERR_NO_MEMORY,
      [](Site& s) { return sglcoll_mem_alloc(s.comm, size_t{1} << 60, &s.outputs.memory); });
  add_bad_comms(table, "sglcoll_mem_free",
                [](auto comm, Site& s) { return sglcoll_mem_free(comm, s.shared); });
  add("sglcoll_mem_free", "memory", "0x", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_mem_free(s.comm, s.send.data()); });
  add("sglcoll_mem_free", "memory", "0x", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_mem_free(s.comm, static_cast<char*>(s.shared) + 64); });
  add_bad_comms(table, "sglcoll_mem_register",
                [](auto comm, Site& s) { return sglcoll_mem_register(comm, s.send.data(), 8); });
  add("sglcoll_mem_register", "memory", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_mem_register(s.comm, nullptr, 8); });
  add("sglcoll_mem_register", "bytes", "0", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_mem_register(s.comm, s.send.data(), 0); });
  add("sglcoll_mem_register", "bytes", "18446744073709551615", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_mem_register(s.comm, s.send.data(), SIZE_MAX); });
  add_bad_comms(table, "sglcoll_mem_deregister",
                [](auto comm, Site& s) { return sglcoll_mem_deregister(comm, s.send.data()); });
  add("sglcoll_mem_deregister", "memory", "0x", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_mem_deregister(s.comm, s.send.data()); });
  add_bad_comms(table, "sglcoll_counters_get",
                [](auto comm, Site& s) { return sglcoll_counters_get(comm, &s.outputs.counters); });
  add("sglcoll_counters_get", "counters", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_counters_get(s.comm, nullptr); });
}

void add_operations(Table* table) {
  auto add = [&](const char* function, const char* argument, const char* value, sglcoll_status code,
                 auto call) {
    table->push_back({function, argument, value, code, call});
  };
  static const sglcoll_op_function kNothing = [](const void*, void*, int64_t, sglcoll_type, void*) {
  };
  add("sglcoll_op_create", "function", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_op_create(nullptr, nullptr, 1, &s.outputs.op); });
  add("sglcoll_op_create", "op", "NULL", SGLCOLL_ERR_ARG,
      [](Site&) { return sglcoll_op_create(kNothing, nullptr, 1, nullptr); });
  add("sglcoll_op_free", "op", "NULL", SGLCOLL_ERR_ARG,
      [](Site&) { return sglcoll_op_free(nullptr); });
  add("sglcoll_op_free", "op", "NULL", SGLCOLL_ERR_OP, [](Site&) {
    sglcoll_op none = nullptr;
    return sglcoll_op_free(&none);
  });
  add("sglcoll_op_free", "op", "freed", SGLCOLL_ERR_OP, keeps(sglcoll_op_free, &Site::freed_op));
  add("sglcoll_op_free", "op", "predefined", SGLCOLL_ERR_OP, [](Site&) {
    sglcoll_op sum = SGLCOLL_SUM;
    return sglcoll_op_free(&sum);
  });
}

// A function over a list of requests.
template <class Call>
void add_bad_lists(Table* table, const char* function, Call call) {
  auto add = [&](const char* argument, const char* value, sglcoll_status code, auto body) {
    table->push_back({function, argument, value, code, body});
  };
  add("count", "-1", SGLCOLL_ERR_COUNT, [=](Site& s) {
    sglcoll_request none = nullptr;
    return call(-1, &none, s);
  });
  add("requests", "NULL", SGLCOLL_ERR_ARG, [=](Site& s) { return call(2, nullptr, s); });
  for (sglcoll_request Site::*dead : {&Site::freed_request, &Site::ended_request}) {
    add("requests[1]", dead == &Site::freed_request ? "freed" : "finalized", SGLCOLL_ERR_REQUEST,
        [=](Site& s) {
          sglcoll_request list[] = {s.running, s.*dead};
          sglcoll_status status = call(2, list, s);
          EXPECT_EQ(list[0], s.running);
          EXPECT_EQ(list[1], s.*dead);
          return status;
        });
  }
}

}  // namespace

void add_request_rows(Table* table) {
  auto add = [&](const char* function, const char* argument, const char* value, sglcoll_status code,
                 auto call) {
    table->push_back({function, argument, value, code, call});
  };
  auto add_start = [&](const char* value, auto handle) {
    add("sglcoll_start", "request", value, SGLCOLL_ERR_REQUEST,
        [=](Site& s) { return sglcoll_start(handle(s)); });
    add("sglcoll_startall", "requests[0]", value, SGLCOLL_ERR_REQUEST, [=](Site& s) {
      sglcoll_request list[] = {handle(s)};
      return sglcoll_startall(1, list);
    });
  };
  add_start("NULL", [](Site&) -> sglcoll_request { return nullptr; });
  add_start("freed", [](Site& s) { return s.freed_request; });
  add_start("finalized", [](Site& s) { return s.ended_request; });
  add_start("not persistent", [](Site& s) { return s.nonblocking; });
  add_start("active", [](Site& s) { return s.running; });
  add_bad_lists(table, "sglcoll_startall",
                [](int n, sglcoll_request* list, Site&) { return sglcoll_startall(n, list); });
  add("sglcoll_waitall", "requests[1]", "requests[0]", SGLCOLL_ERR_REQUEST, [](Site& s) {
    sglcoll_request twice[] = {s.running, s.running};
    return sglcoll_waitall(2, twice);
  });
  add_bad_lists(table, "sglcoll_waitall",
                [](int n, sglcoll_request* list, Site&) { return sglcoll_waitall(n, list); });
  add_bad_lists(table, "sglcoll_testall", [](int n, sglcoll_request* list, Site& s) {
    return sglcoll_testall(n, list, &s.outputs.number);
  });
  add_bad_lists(table, "sglcoll_waitany", [](int n, sglcoll_request* list, Site& s) {
    return sglcoll_waitany(n, list, &s.outputs.number);
  });
  add("sglcoll_testall", "complete", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_testall(1, &s.running, nullptr); });
  add("sglcoll_waitany", "index", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_waitany(1, &s.running, nullptr); });

  add("sglcoll_wait", "request", "NULL", SGLCOLL_ERR_ARG,
      [](Site&) { return sglcoll_wait(nullptr); });
  add("sglcoll_wait", "request", "freed", SGLCOLL_ERR_REQUEST,
      keeps(sglcoll_wait, &Site::freed_request));
  add("sglcoll_wait", "request", "finalized", SGLCOLL_ERR_REQUEST,
      keeps(sglcoll_wait, &Site::ended_request));
  add("sglcoll_test", "request", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_test(nullptr, &s.outputs.number); });
  add("sglcoll_test", "complete", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_test(&s.running, nullptr); });
  add("sglcoll_test", "request", "freed", SGLCOLL_ERR_REQUEST,
      [](Site& s) { return sglcoll_test(&s.freed_request, &s.outputs.number); });
  auto explain = [](sglcoll_request request, Site& s) {
    return sglcoll_explain_request(request, s.outputs.text, 8, &s.outputs.needed);
  };
  add("sglcoll_explain_request", "request", "NULL", SGLCOLL_ERR_REQUEST,
      [=](Site& s) { return explain(nullptr, s); });
  add("sglcoll_explain_request", "request", "freed", SGLCOLL_ERR_REQUEST,
      [=](Site& s) { return explain(s.freed_request, s); });
  add("sglcoll_explain_request", "text", "NULL", SGLCOLL_ERR_ARG,
      [](Site& s) { return sglcoll_explain_request(s.running, nullptr, 8, &s.outputs.needed); });
  add("sglcoll_request_free", "request", "NULL", SGLCOLL_ERR_ARG,
      [](Site&) { return sglcoll_request_free(nullptr); });
  add("sglcoll_request_free", "request", "freed", SGLCOLL_ERR_REQUEST,
      keeps(sglcoll_request_free, &Site::freed_request));
  add("sglcoll_request_free", "request", "finalized", SGLCOLL_ERR_REQUEST,
      keeps(sglcoll_request_free, &Site::ended_request));
  add("sglcoll_request_free", "request", "persistent and active", SGLCOLL_ERR_REQUEST,
      keeps(sglcoll_request_free, &Site::running));
}

void add_world_rows(Table* table) {
  add_start(table);
  add_communicators(table);
  add_operations(table);
}

}  // namespace sgl::test
