// Transport: how a rank reaches its peers. Speaks messages and SGL batches; knows
// nothing of collectives.
//
// Each backend gives two things: small messages, in order per peer, and bulk
// transfers compiled by the SGL compiler. What it can do it says in its limits;
// the executor lowers each edge of a schedule to the best shape of that.
//
// Nothing here blocks but wait(). A call that finds no room returns Post::busy and
// is repeated after progress(). One thread at a time per object.
#pragma once

#include "base/status.hpp"
#include "sgl/batch.hpp"
#include "sgl/view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sgl {

// Goes with every message. Peers are numbered by rank in the world.
struct MessageHeader {
  uint32_t context;   // communicator
  uint32_t sequence;  // operation on it
  uint32_t tag;       // edge within the operation's schedule
  uint16_t kind;      // the executor's business
  uint16_t bytes;     // payload bytes of this message
};

// A message that has come; the payload is the transport's.
struct Arrival {
  MessageHeader header;
  std::span<const std::byte> payload;
};

enum class Post : uint8_t { done, busy, failed };

// For batches whose completion nobody waits for.
inline constexpr uint64_t kNoToken = UINT64_MAX;

// How a peer names memory of ours: opaque to all but the backend that made it.
struct RemoteMemory {
  uint64_t address = 0;
  uint64_t key = 0;
};

struct TransportLimits {
  const char* name = "";
  int64_t max_message_bytes = 0;  // payload of one message, at most 65,535
  // Bulk shapes that the backend has.
  bool can_map = false;           // map() may succeed: peers' memory by load and store
  bool can_read = false;          // post() with read_scatter
  bool can_write = false;         // post() with write_gather
  bool two_sided_lists = false;   // post() reads with lists on both sides (process_vm_readv):
                                  // TransferShape::send_receive, the local list is filled
  bool writes_lists = false;      // post_to(), the same in the other direction
  bool can_send = false;          // post_send() and post_receive()
  bool can_peek = false;          // peek() and take()
  bool registers_memory = false;  // what peers reach, and what a batch lists, is registered first
  bool keeps_registrations = false;  // for the next use
  int rails = 1;                     // devices that batches are spread over
  // Longest payload of a message that the device takes inside its request; -1: none at all.
  int64_t inline_payload_bytes = -1;
  SglLimits sgl;       // with can_send the same on all ranks
  SglRules sgl_rules;  // packs only if post() and the others take packed SGEs
  // Payloads up to here are best sent inside the message.
  int64_t eager_bytes = 4096;
  // A side whose runs are shorter (average) is better copied than given SGEs.
  int64_t bulk_min_run_bytes = 0;
  // Shorter transfers are faster in messages, of which both ends copy a part at the same time.
  int64_t push_below_bytes = 0;
  // The same where each byte goes to one peer only: the sender has its own part to copy.
  int64_t push_apart_below_bytes = 0;
  // The same where the sender has nothing else to do, or the receiver reduces what has come.
  int64_t push_alone_below_bytes = 0;
  // Where memory can be mapped, such a sender copies its part of transfers from here on; and
  // where it can be written (writes_lists), of runs of so many bytes on average.
  int64_t store_from_bytes = INT64_MAX;
  int64_t write_min_run_bytes = 0;
};

// Completion of a posted batch.
class TransportSink {
 public:
  // `payload` is valid during the call only.
  virtual void on_message(int peer, const MessageHeader& header,
                          std::span<const std::byte> payload) = 0;
  virtual void on_complete(uint64_t token, Status status) = 0;
  // Once per peer: it is gone; nothing of it will arrive any more.
  virtual void on_peer_failed(int peer, Status status) = 0;

 protected:
  ~TransportSink() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // The transport that reaches the peer: this one, but for one that only distributes peers
  // over others. Limits and names of memory are those of the way to a peer, so they are
  // asked there.
  virtual Transport& toward(int peer) {
    static_cast<void>(peer);
    return *this;
  }
  virtual const TransportLimits& limits() const = 0;

  // Sends header and the payload that `payload` gathers (null: none), in order with
  // earlier messages to this peer. The memory is the caller's again on return.
  // header.bytes must equal payload->length.
  virtual Post send_message(int peer, const MessageHeader& header, const View* payload) = 0;

  // Makes the memory of a view reachable by peers until release(). With `write`
  // also for writing. RemoteMemory.address stands for view.base.
  virtual Result<RemoteMemory> expose(const View& view, bool write) = 0;
  virtual void release(const RemoteMemory& memory) = 0;
  // What the peer can do with memory that expose() named, as far as this side can
  // tell: reach it in bulk at all, and map it.
  virtual bool reachable(const RemoteMemory& memory) const = 0;
  virtual bool mappable(const RemoteMemory& memory) const = 0;

  // The view will be the local side of batches: a good moment to register it as a whole.
  virtual void will_use(const View& view) { static_cast<void>(view); }
  // A user's wish to have memory registered until forget_memory(); nothing where there is
  // no registration.
  virtual Status keep_memory(std::byte* begin, size_t bytes) {
    static_cast<void>(begin);
    static_cast<void>(bytes);
    return {};
  }
  virtual void forget_memory(std::byte* begin) { static_cast<void>(begin); }

  // Where the base of the peer's memory is in this process, or null when it cannot
  // be mapped. [lowest, highest) are the offsets from the base that will be used; a
  // range outside the peer's memory gives null.
  virtual std::byte* map(int peer, const RemoteMemory& memory, int64_t lowest, int64_t highest) = 0;

  // Posts a compiled batch to the peer's exposed memory: offsets of batch.local from
  // the base of `local`, the view that was compiled, of batch.remote from `remote`.
  // on_complete(token) follows once all of it is done (may be inside this call's thread
  // during progress()). `batch` and the view, but not its memory, may be reused on return.
  virtual Post post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
                    uint64_t token) = 0;
  // From the local list to the remote one.
  virtual Post post_to(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
                       uint64_t token) {
    static_cast<void>(peer), static_cast<void>(batch), static_cast<void>(local);
    static_cast<void>(remote), static_cast<void>(token);
    return Post::failed;
  }
  // Two-sided bulk: the n-th WR of all post_receives from a peer takes the n-th of all of
  // its post_sends, of which both ends know the boundaries (only batch.local is used). Give
  // done or busy, or why the batch can not be posted. A send must follow its receive; one
  // whose lists are empty uses the receive up, which then completes with an error.
  virtual Result<Post> post_receive(int peer, const Batch& batch, const View& local,
                                    uint64_t token) = 0;
  virtual Result<Post> post_send(int peer, const Batch& batch, const View& local,
                                 uint64_t token) = 0;

  // For who waits for one certain message: the first one of the peer that progress() has not
  // delivered; false when there is none, or the peer has failed. It is valid until take(),
  // which takes it off, or any other call.
  virtual bool peek(int peer, Arrival* first) {
    static_cast<void>(peer);
    static_cast<void>(first);
    return false;
  }
  virtual void take(int peer) { static_cast<void>(peer); }

  // Delivers what has arrived and completed; returns how many events that were.
  virtual int progress(TransportSink& sink) = 0;
  // How long a rank with nothing to do yields its processor between polls before it
  // sleeps: a few times what falling asleep and being woken costs.
  virtual int64_t yield_ns() const { return 60'000; }
  // Sleeps until something may have arrived, at most max_ns. Watches peers' deaths.
  virtual void wait(int64_t max_ns) = 0;
  // The same in two parts, for several transports at once: adds descriptors that become
  // readable when something arrives, or returns false when something may be there already
  // (or that cannot be waited for so). finish_wait() follows in either case.
  virtual bool prepare_wait(std::vector<int>* descriptors) {
    static_cast<void>(descriptors);
    return false;
  }
  virtual void finish_wait() {}
  // Fails a peer as if it had died (learned from elsewhere).
  virtual void fail_peer(int peer, Status why) = 0;

  // Memory that peers can map; null when the backend has none or no memory is left.
  virtual void* allocate(size_t bytes) = 0;
  virtual bool deallocate(void* memory) = 0;  // false: not from allocate()

  // Adds what this transport has counted.
  virtual void add_counters(sglcoll_counters* counters) const { static_cast<void>(counters); }
  // One line for sglcoll-info and logs: the data path in use and why.
  virtual std::string describe() const = 0;
};

}  // namespace sgl
