// PMIx between the hosts of a job: fences, data that a rank asks of another host's
// rank, events. Knows nothing of libpmix but its status numbers; for one thread.
#pragma once

#include "sglrun/wire/message.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sgl::run {

class Exchange {
 public:
  using Send = std::function<void(int host, const Message& message)>;

  Exchange(const std::vector<int>& host_of_rank, int hosts, Send send);

  // A fence, modex_request, modex_answer or event of a host. A fence's text says who
  // takes part: "*" for all ranks, else their numbers with spaces between. Several
  // fences of the same ranks are met in the order in which each host came to them.
  void take(int host, const Message& message);

  // Whoever waits for a host that has no living rank in a fence is let go, with an error.
  void rank_ended(int rank);
  void host_lost(int host);

 private:
  struct Fence {
    std::vector<int> ranks;         // empty: all
    std::map<int, uint64_t> id_of;  // of the hosts that have come
    std::string data;
    int64_t status = 0;
  };
  struct Question {
    int from_host;
    uint64_t id;  // of the asking host
    int to_host;
  };

  void take_fence(int host, const Message& message);
  bool is_met(Fence* fence) const;
  void settle_fences();
  void ask(int host, const Message& message);
  void answer(int host, const Message& message);
  void refuse(int host, uint64_t id);

  std::vector<int> host_of_rank_;
  Send send_;
  std::vector<char> ended_;  // by rank
  std::vector<int> living_;  // ranks by host
  std::vector<char> lost_;   // by host
  std::map<std::string, std::deque<Fence>> fences_;
  std::map<uint64_t, Question> questions_;
  uint64_t last_question_ = 0;
};

}  // namespace sgl::run
