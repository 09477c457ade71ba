// What sglrun and the hosts of its job tell each other.
#pragma once

#include "base/status.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgl::run {

// Before an arrow: the fields that count.
enum class MessageKind : uint8_t {
  ping,  // a sign of life, either way

  // To a host
  setup,         // text: a Setup
  start,         // start the ranks
  signal,        // number: of the signal, to all ranks
  input,         // text: for rank 0; empty: its end
  taken,         // number: bytes of output, stream: which; the host may send so much more
  broken,        // stream: nobody reads it any more
  fence_done,    // id, number: PMIx's status, text: all data
  modex_wanted,  // id, rank
  modex_given,   // id, number: PMIx's status, text
  death,         // rank, number: 1 by a signal
  finish,        // all ranks have ended: kill what they left, then say done
  leave,         // the job is over

  // From a host
  placed,         // numbers: for each of its ranks the count of processors and those
  started,        // rank, number: process
  not_started,    // rank, number: exit status for it, text: why
  output,         // rank, stream, text
  input_taken,    // number: bytes; another such many may be sent
  ended,          // rank, number: wait status, id: 1 if it left the job in order
  aborted,        // rank, number: status, text
  fence,          // id, text: which ranks (see Exchange), number: PMIx's status, data
  modex_request,  // id, rank
  modex_answer,   // id, number: PMIx's status, text
  event,          // text: packed; to a host as well
  failed,         // number: exit status, text: why this host cannot do its part
  done,           // after finish: nothing is left, all output is sent

  last = done,
};

// Streams of a rank.
inline constexpr int kOutStream = 0, kErrStream = 1, kStreams = 2;

struct Message {
  MessageKind kind = MessageKind::ping;
  int rank = -1;
  int stream = 0;
  int64_t number = 0;
  uint64_t id = 0;
  std::string text;
  std::string data;
  std::vector<int> numbers;
};

std::string encode(const Message& message);
// SGLCOLL_ERR_ARG when the bytes are no message.
Result<Message> decode(std::string_view bytes);

// What a host must know of the job to do its part.
struct Setup {
  std::string job;                 // PMIx's namespace
  int host = 0;                    // which of them this one is
  std::vector<std::string> hosts;  // their names
  std::vector<int> host_of_rank;
  std::string map_by, bind_to;
  std::vector<std::string> environment;  // "NAME=VALUE", of the ranks
  std::vector<std::string> command;
  std::string working_directory;
  bool tag_output = false;
  bool one_stream = false;         // both outputs of a rank as the first
  bool input_by_messages = false;  // of rank 0

  int ranks() const { return static_cast<int>(host_of_rank.size()); }
  std::vector<int> ranks_on(int of_host) const;
};

std::string encode(const Setup& setup);
Result<Setup> decode_setup(std::string_view bytes);

}  // namespace sgl::run
