#include "sglrun/hosts/allocation.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace sgl::run {
namespace {

constexpr size_t kMostHosts = 65536;

std::optional<int> number_of(std::string_view text) {
  int value = -1;
  auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || stop != text.data() + text.size() || value < 0 || text.empty() ||
      text.size() > 9)
    return std::nullopt;
  return value;
}

// The part of *text before the next comma outside brackets; *text becomes what follows.
std::string_view next_word(std::string_view* text) {
  size_t end = 0;
  for (int depth = 0; end < text->size(); ++end) {
    char c = (*text)[end];
    if (c == ',' && depth == 0) break;
    depth += (c == '[') - (c == ']');
  }
  std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

Status bad_hosts(std::string_view part) {
  return error(SGLCOLL_ERR_ARG, "'{}' is no list of hosts like n[1-3,07],login", part);
}

// "1-3,07" -> 1 2 3 07, with the zeros in front that the first number of a range has.
Status expand_ranges(std::string_view text, std::vector<std::string>* numbers) {
  while (true) {
    size_t comma = text.find(',');
    std::string_view range = text.substr(0, comma);
    size_t dash = range.find('-');
    std::string_view first = range.substr(0, dash);
    std::string_view last = dash == range.npos ? first : range.substr(dash + 1);
    std::optional<int> from = number_of(first), to = number_of(last);
    if (!from || !to || *from > *to) return bad_hosts(range);
    if (static_cast<size_t>(*to - *from) + numbers->size() >= kMostHosts)
      return error(SGLCOLL_ERR_ARG, "'{}' makes more than {} hosts", range, kMostHosts);
    for (int number = *from; number <= *to; ++number)
      numbers->push_back(fmt::format("{:0{}}", number, first.size()));
    if (comma == text.npos) return {};
    text.remove_prefix(comma + 1);
  }
}

Status expand_word(std::string_view word, std::vector<std::string>* hosts) {
  std::vector<std::string> names = {""};
  const std::string_view whole = word;
  while (!word.empty()) {
    size_t open = word.find('[');
    std::string_view plain = word.substr(0, open);
    if (plain.find(']') != plain.npos) return bad_hosts(whole);
    for (std::string& name : names) name += plain;
    if (open == word.npos) break;
    size_t close = word.find(']', open);
    if (close == word.npos) return bad_hosts(whole);
    std::vector<std::string> numbers, longer;
    SGL_TRY(expand_ranges(word.substr(open + 1, close - open - 1), &numbers));
    if (numbers.size() * names.size() > kMostHosts)
      return error(SGLCOLL_ERR_ARG, "'{}' makes more than {} hosts", whole, kMostHosts);
    for (const std::string& name : names)
      for (const std::string& number : numbers) longer.push_back(name + number);
    names = std::move(longer);
    word.remove_prefix(close + 1);
  }
  hosts->insert(hosts->end(), names.begin(), names.end());
  return {};
}

Result<Allocation> slurm_allocation(const Variables& variables, const char* name,
                                    const std::string& list) {
  Allocation allocation{name, {}};
  Result<std::vector<std::string>> hosts = expand_slurm_hosts(list);
  if (!hosts.ok()) return error(SGLCOLL_ERR_ARG, "{}: {}", name, hosts.status().text());
  std::vector<int> slots(hosts.value().size(), 1);
  for (const char* counts :
       {"SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
    std::optional<std::string> text = variables(counts);
    if (!text) continue;
    Result<std::vector<int>> read = expand_slurm_counts(*text);
    if (!read.ok()) return error(SGLCOLL_ERR_ARG, "{}: {}", counts, read.status().text());
    // SLURM_NTASKS_PER_NODE has one number for all.
    if (read.value().size() == 1) read.value().resize(slots.size(), read.value().front());
    if (read.value().size() != slots.size())
      return error(SGLCOLL_ERR_ARG, "{}='{}' has {} counts for the {} hosts of {}", counts, *text,
                   read.value().size(), slots.size(), name);
    slots = read.take();
    break;
  }
  for (size_t i = 0; i < slots.size(); ++i)
    SGL_TRY(add_host(name, hosts.value()[i], slots[i], &allocation.hosts));
  return allocation;
}

// A file with a line a slot, on it the host's name.
Result<Allocation> file_allocation(const char* name, const std::string& path) {
  Allocation allocation{name, {}};
  std::ifstream file(path);
  if (!file) return error(SGLCOLL_ERR_ARG, "{}: the file '{}' cannot be read", name, path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string host;
    if (words >> host) SGL_TRY(add_host(name, host, 1, &allocation.hosts));
  }
  if (allocation.hosts.empty())
    return error(SGLCOLL_ERR_ARG, "{}: the file '{}' names no host", name, path);
  return allocation;
}

// "host1 4 host2 2"
Result<Allocation> lsf_allocation(const char* name, const std::string& text) {
  Allocation allocation{name, {}};
  std::istringstream words(text);
  std::string host, count;
  while (words >> host) {
    int slots = words >> count ? parse_slots(count) : -1;
    if (slots < 0)
      return error(SGLCOLL_ERR_ARG, "{}: '{}' must be names each followed by a number of slots",
                   name, text);
    SGL_TRY(add_host(name, host, slots, &allocation.hosts));
  }
  return allocation;
}

// "host1 host1 host2": a word a slot.
Result<Allocation> slots_allocation(const char* name, const std::string& text) {
  Allocation allocation{name, {}};
  std::istringstream words(text);
  for (std::string host; words >> host;) SGL_TRY(add_host(name, host, 1, &allocation.hosts));
  if (allocation.hosts.empty()) return error(SGLCOLL_ERR_ARG, "{}: '{}' names no host", name, text);
  return allocation;
}

}  // namespace

Result<std::vector<std::string>> expand_slurm_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  if (text.empty() || text.back() == ',') return bad_hosts(text);
  while (!text.empty()) {
    std::string_view word = next_word(&text);
    if (word.empty()) return bad_hosts(word);
    SGL_TRY(expand_word(word, &hosts));
    if (hosts.size() > kMostHosts) return error(SGLCOLL_ERR_ARG, "more than {} hosts", kMostHosts);
  }
  return hosts;
}

Result<std::vector<int>> expand_slurm_counts(std::string_view text) {
  std::vector<int> counts;
  auto bad = [&] { return error(SGLCOLL_ERR_ARG, "'{}' is no list of counts like 2(x3),1", text); };
  std::string_view rest = text;
  while (true) {
    size_t comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    size_t open = word.find('(');
    int slots = parse_slots(word.substr(0, open)), times = 1;
    if (open != word.npos) {
      bool whole = word.substr(open).starts_with("(x") && word.ends_with(')');
      times = whole ? parse_slots(word.substr(open + 2, word.size() - open - 3)) : -1;
    }
    if (slots < 0 || times < 0 || counts.size() + static_cast<size_t>(times) > kMostHosts)
      return bad();
    counts.insert(counts.end(), static_cast<size_t>(times), slots);
    if (comma == rest.npos) return counts;
    rest.remove_prefix(comma + 1);
  }
}

Result<Allocation> find_allocation(const Variables& variables) {
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"})
    if (auto list = variables(name)) return slurm_allocation(variables, name, *list);
  if (auto path = variables("PBS_NODEFILE")) return file_allocation("PBS_NODEFILE", *path);
  if (auto text = variables("LSB_MCPU_HOSTS")) return lsf_allocation("LSB_MCPU_HOSTS", *text);
  if (auto path = variables("LSB_DJOB_HOSTFILE"))
    return file_allocation("LSB_DJOB_HOSTFILE", *path);
  if (auto text = variables("LSB_HOSTS")) return slots_allocation("LSB_HOSTS", *text);
  return Allocation{};
}

}  // namespace sgl::run
