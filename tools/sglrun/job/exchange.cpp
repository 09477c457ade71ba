#include "sglrun/job/exchange.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <pmix_common.h>

namespace sgl::run {
namespace {

// The ranks that a fence's text names, none for all; nothing when it is not such a text.
std::optional<std::vector<int>> parse_ranks(std::string_view text, int ranks) {
  std::vector<int> result;
  if (text == "*") return result;
  while (!text.empty()) {
    int rank = -1;
    auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (failure != std::errc() || rank < 0 || rank >= ranks) return std::nullopt;
    result.push_back(rank);
    text.remove_prefix(static_cast<size_t>(stop - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  if (result.empty()) return std::nullopt;
  return result;
}

Message reply(MessageKind kind, uint64_t id, int64_t status) {
  Message message;
  message.kind = kind;
  message.id = id;
  message.number = status;
  return message;
}

}  // namespace

Exchange::Exchange(const std::vector<int>& host_of_rank, int hosts, Send send)
    : host_of_rank_(host_of_rank),
      send_(std::move(send)),
      ended_(host_of_rank.size()),
      living_(static_cast<size_t>(hosts)),
      lost_(static_cast<size_t>(hosts)) {
  for (int host : host_of_rank) ++living_[static_cast<size_t>(host)];
}

void Exchange::take(int host, const Message& message) {
  switch (message.kind) {
    case MessageKind::fence:
      return take_fence(host, message);
    case MessageKind::modex_request:
      return ask(host, message);
    case MessageKind::modex_answer:
      return answer(host, message);
    case MessageKind::event:
      for (int other = 0; other < static_cast<int>(lost_.size()); ++other)
        if (other != host) send_(other, message);
      return;
    default:
      return;
  }
}

// ---- Fences ----------------------------------------------------------------------------

void Exchange::take_fence(int host, const Message& message) {
  auto ranks = parse_ranks(message.text, static_cast<int>(ended_.size()));
  if (!ranks) return send_(host, reply(MessageKind::fence_done, message.id, PMIX_ERR_BAD_PARAM));
  std::deque<Fence>& same = fences_[message.text];
  auto fence = std::find_if(same.begin(), same.end(),
                            [host](const Fence& each) { return !each.id_of.contains(host); });
  if (fence == same.end()) {
    same.emplace_back();
    fence = same.end() - 1;
    fence->ranks = *ranks;
  }
  fence->id_of[host] = message.id;
  fence->data += message.data;
  if (message.number != PMIX_SUCCESS) fence->status = message.number;
  settle_fences();
}

bool Exchange::is_met(Fence* fence) const {
  bool abandoned = false;
  auto check = [&](int host, bool lives) {
    if (fence->id_of.contains(host)) return true;
    abandoned = abandoned || !lives;
    return !lives;
  };
  bool met = true;
  if (fence->ranks.empty()) {
    for (size_t host = 0; host < living_.size(); ++host)
      met = check(static_cast<int>(host), living_[host] > 0) && met;
  } else {
    std::map<int, bool> lives;
    for (int rank : fence->ranks)
      lives[host_of_rank_[static_cast<size_t>(rank)]] |= !ended_[static_cast<size_t>(rank)];
    for (auto [host, living] : lives) met = check(host, living) && met;
  }
  if (met && abandoned && fence->status == PMIX_SUCCESS) fence->status = PMIX_ERR_PROC_TERM_WO_SYNC;
  return met;
}

void Exchange::settle_fences() {
  std::vector<std::pair<int, Message>> replies;
  for (auto same = fences_.begin(); same != fences_.end();) {
    std::erase_if(same->second, [&](Fence& fence) {
      if (!is_met(&fence)) return false;
      for (auto [host, id] : fence.id_of) {
        Message done = reply(MessageKind::fence_done, id, fence.status);
        done.text = fence.data;
        replies.emplace_back(host, std::move(done));
      }
      return true;
    });
    same = same->second.empty() ? fences_.erase(same) : std::next(same);
  }
  for (auto& [host, message] : replies) send_(host, message);
}

// ---- One rank's data ---------------------------------------------------------------------

void Exchange::ask(int host, const Message& message) {
  bool known = message.rank >= 0 && message.rank < static_cast<int>(host_of_rank_.size());
  int to = known ? host_of_rank_[static_cast<size_t>(message.rank)] : -1;
  if (!known || lost_[static_cast<size_t>(to)]) return refuse(host, message.id);
  questions_[++last_question_] = {host, message.id, to};
  Message wanted;
  wanted.kind = MessageKind::modex_wanted;
  wanted.id = last_question_;
  wanted.rank = message.rank;
  send_(to, wanted);
}

void Exchange::answer(int host, const Message& message) {
  auto question = questions_.find(message.id);
  if (question == questions_.end() || question->second.to_host != host) return;
  Message given = reply(MessageKind::modex_given, question->second.id, message.number);
  given.text = message.text;
  int to = question->second.from_host;
  questions_.erase(question);
  send_(to, given);
}

void Exchange::refuse(int host, uint64_t id) {
  send_(host, reply(MessageKind::modex_given, id, PMIX_ERR_NOT_FOUND));
}

// ---- Ends ----------------------------------------------------------------------------------

void Exchange::rank_ended(int rank) {
  char& ended = ended_[static_cast<size_t>(rank)];
  if (ended) return;
  ended = 1;
  --living_[static_cast<size_t>(host_of_rank_[static_cast<size_t>(rank)])];
  settle_fences();
}

void Exchange::host_lost(int host) {
  lost_[static_cast<size_t>(host)] = 1;
  std::vector<Question> unanswered;
  std::erase_if(questions_, [&](const auto& entry) {
    if (entry.second.to_host != host) return entry.second.from_host == host;
    unanswered.push_back(entry.second);
    return true;
  });
  for (const Question& question : unanswered) refuse(question.from_host, question.id);
}

}  // namespace sgl::run
