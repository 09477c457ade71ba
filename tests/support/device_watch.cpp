#include "support/device_watch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <infiniband/verbs.h>

namespace sgl::test {
namespace {

Watched counts;
std::atomic<uint64_t> copied{0};
ibv_context_ops original;             // all devices here are of one provider
thread_local bool in_driver = false;  // a software device's copies lists, not payload

Spoil to_spoil = Spoil::nothing;
bool queue_is_to_be_full = false;

void spoil_if_wanted(ibv_send_wr* wr) {
  const bool one_sided = wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_RDMA_WRITE;
  if (to_spoil == Spoil::nothing || !one_sided || wr->num_sge == 0) return;
  ibv_sge& last = wr->sg_list[wr->num_sge - 1];
  if (last.length < kSpoiledBytes) return;
  constexpr uint32_t kOtherBits = 0x5555;
  constexpr int kLongList = 1000;
  constexpr uint64_t kFarBytes = uint64_t{1} << 40;
  if (to_spoil == Spoil::local_key) last.lkey ^= kOtherBits;
  if (to_spoil == Spoil::local_address) last.addr += kFarBytes;
  if (to_spoil == Spoil::remote_key) wr->wr.rdma.rkey ^= kOtherBits;
  if (to_spoil == Spoil::long_list) wr->num_sge = kLongList;
  if (to_spoil == Spoil::full_queue) queue_is_to_be_full = true;
  to_spoil = Spoil::nothing;
}

// Behind more requests that move nothing and say nothing than a queue takes: in one call, as the
// device would empty the queue between two.
int post_behind_too_many(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** refused) {
  std::vector<ibv_send_wr> nothings(100'000);
  for (size_t i = 0; i < nothings.size(); ++i) {
    nothings[i].opcode = IBV_WR_RDMA_WRITE;
    nothings[i].next = i + 1 < nothings.size() ? &nothings[i + 1] : list;
  }
  const int failure = original.post_send(qp, nothings.data(), refused);
  *refused = list;
  return failure;
}

// A call of the provider.
template <class Call>
int driven(Call call) {
  in_driver = true;
  const int result = call();
  in_driver = false;
  return result;
}

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** refused) {
  ++counts.doorbells;
  for (ibv_send_wr* wr = list; wr; wr = wr->next) {
    spoil_if_wanted(wr);
    ++counts.requests;
    counts.segments += static_cast<uint64_t>(wr->num_sge);
    counts.signalled += (wr->send_flags & IBV_SEND_SIGNALED) != 0 ? 1 : 0;
    counts.inlined += (wr->send_flags & IBV_SEND_INLINE) != 0 ? 1 : 0;
  }
  if (std::exchange(queue_is_to_be_full, false)) return post_behind_too_many(qp, list, refused);
  return driven([&] { return original.post_send(qp, list, refused); });
}

int post_receive(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** refused) {
  ++counts.doorbells;
  for (const ibv_recv_wr* wr = list; wr; wr = wr->next) {
    ++counts.requests;
    counts.segments += static_cast<uint64_t>(wr->num_sge);
  }
  return driven([&] { return original.post_recv(qp, list, refused); });
}

int poll(ibv_cq* queue, int most, ibv_wc* completions) {
  const int count = driven([&] { return original.poll_cq(queue, most, completions); });
  if (count > 0) counts.completions += static_cast<uint64_t>(count);
  return count;
}

void count_copy(size_t bytes) {
  if (bytes >= kWatchedCopyBytes && !in_driver) copied.fetch_add(bytes, std::memory_order_relaxed);
}

// No call of memcpy may come of it.
void copy_forward(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

void copy_backward(void* to, const void* from, size_t bytes) {
  auto* last_to = static_cast<std::byte*>(to) + bytes - 1;
  const auto* last_from = static_cast<const std::byte*>(from) + bytes - 1;
  asm volatile("std; rep movsb; cld" : "+D"(last_to), "+S"(last_from), "+c"(bytes) : : "memory");
}

}  // namespace

void spoil_next(Spoil spoil) {
  to_spoil = spoil;
}

Watched watched() {
  Watched now = counts;
  now.copied_bytes = copied.load();
  return now;
}

}  // namespace sgl::test

#define SGLCOLL_STANDS_IN extern "C" __attribute__((visibility("default")))

// ibv_post_send and its like are inline calls of what the context names. The library comes with
// the verbs component, apart from the program's own, so RTLD_NEXT does not see it.
SGLCOLL_STANDS_IN ibv_context* ibv_open_device(ibv_device* device) {
  static const auto real = reinterpret_cast<ibv_context* (*)(ibv_device*)>(
      dlsym(dlopen("libibverbs.so.1", RTLD_NOW), "ibv_open_device"));
  ibv_context* context = real(device);
  if (!context || context->ops.post_send == sgl::test::post_send) return context;
  sgl::test::original = context->ops;
  context->ops.post_send = sgl::test::post_send;
  context->ops.post_recv = sgl::test::post_receive;
  context->ops.poll_cq = sgl::test::poll;
  return context;
}

SGLCOLL_STANDS_IN void* memcpy(void* to, const void* from, size_t bytes) {
  sgl::test::count_copy(bytes);
  sgl::test::copy_forward(to, from, bytes);
  return to;
}

SGLCOLL_STANDS_IN void* memmove(void* to, const void* from, size_t bytes) {
  sgl::test::count_copy(bytes);
  const auto distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
  if (distance >= bytes)
    sgl::test::copy_forward(to, from, bytes);
  else
    sgl::test::copy_backward(to, from, bytes);
  return to;
}
