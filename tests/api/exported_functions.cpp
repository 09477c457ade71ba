#include "api/exported_functions.hpp"

#include <sglcoll/sglcoll.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>

#include <dlfcn.h>
#include <elf.h>

namespace sgl::test {
namespace {

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <class T>
T read_at(const std::string& bytes, size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string without_comments(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"), " ");
}

}  // namespace

std::set<std::string> exported_functions() {
  Dl_info library{};
  dladdr(reinterpret_cast<void*>(&sglcoll_init), &library);
  const std::string bytes = contents_of(library.dli_fname ? library.dli_fname : "");
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  std::set<std::string> names;
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section =
        read_at<Elf64_Shdr>(bytes, header.e_shoff + static_cast<size_t>(i) * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto strings =
        read_at<Elf64_Shdr>(bytes, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(bytes, section.sh_offset + at);
      const bool defined =
          symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (defined) names.insert(bytes.data() + strings.sh_offset + symbol.st_name);
    }
  }
  return names;
}

std::map<std::string, std::vector<std::string>> declared_parameters(
    const std::string& header_path) {
  const std::string text = without_comments(contents_of(header_path));
  std::map<std::string, std::vector<std::string>> functions;
  const std::regex function(R"(SGLCOLL_API[^;()]*\b(sglcoll_\w+)\(([^)]*)\);)"),
      name(R"((\w+)\s*(?:\[\])?\s*$)");
  for (std::sregex_iterator at(text.begin(), text.end(), function), end; at != end; ++at) {
    std::vector<std::string>& parameters = functions[(*at)[1]];
    const std::string list = (*at)[2];
    for (size_t first = 0; first < list.size();) {
      const size_t comma = std::min(list.find(',', first), list.size());
      const std::string parameter = list.substr(first, comma - first);
      std::smatch found;
      if (parameter != "void" && std::regex_search(parameter, found, name))
        parameters.push_back(found[1]);
      first = comma + 1;
    }
  }
  return functions;
}

}  // namespace sgl::test
