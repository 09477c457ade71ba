#include "sglrun/wire/message.hpp"

#include "sglrun/wire/bytes.hpp"

#include <concepts>
#include <type_traits>

namespace sgl::run {
namespace {

// The fields as they stand on the wire, to write and to read them: the object is const or not.
template <class AMessage>
requires std::same_as<std::remove_const_t<AMessage>, Message>
void each_field(AMessage& message, const auto& visit) {  // without its kind
  visit(message.rank);
  visit(message.stream);
  visit(message.number);
  visit(message.id);
  visit(message.text);
  visit(message.data);
  visit(message.numbers);
}

template <class ASetup>
requires std::same_as<std::remove_const_t<ASetup>, Setup>
void each_field(ASetup& setup, const auto& visit) {
  visit(setup.job);
  visit(setup.host);
  visit(setup.hosts);
  visit(setup.host_of_rank);
  visit(setup.map_by);
  visit(setup.bind_to);
  visit(setup.environment);
  visit(setup.command);
  visit(setup.working_directory);
  visit(setup.tag_output);
  visit(setup.one_stream);
  visit(setup.input_by_messages);
}

}  // namespace

std::string encode(const Message& message) {
  ByteWriter out;
  out.u8(static_cast<uint8_t>(message.kind));
  each_field(message, [&](const auto& value) { out.field(value); });
  return out.take();
}

Result<Message> decode(std::string_view bytes) {
  ByteReader in(bytes);
  Message message;
  uint8_t kind = in.u8();
  message.kind = static_cast<MessageKind>(kind);
  each_field(message, [&](auto& value) { in.field(value); });
  bool known = kind <= static_cast<uint8_t>(MessageKind::last) && message.stream >= 0 &&
               message.stream < kStreams;
  if (!in.at_end() || !known)
    return error(SGLCOLL_ERR_ARG, "{} bytes of kind {} are no message", bytes.size(), kind);
  return message;
}

std::vector<int> Setup::ranks_on(int of_host) const {
  std::vector<int> result;
  for (int rank = 0; rank < ranks(); ++rank)
    if (host_of_rank[static_cast<size_t>(rank)] == of_host) result.push_back(rank);
  return result;
}

std::string encode(const Setup& setup) {
  ByteWriter out;
  each_field(setup, [&](const auto& value) { out.field(value); });
  return out.take();
}

Result<Setup> decode_setup(std::string_view bytes) {
  ByteReader in(bytes);
  Setup setup;
  each_field(setup, [&](auto& value) { in.field(value); });
  int hosts = static_cast<int>(setup.hosts.size());
  bool good = in.at_end() && setup.host >= 0 && setup.host < hosts && !setup.command.empty();
  for (int host : setup.host_of_rank) good = good && host >= 0 && host < hosts;
  if (!good) return error(SGLCOLL_ERR_ARG, "{} bytes describe no job", bytes.size());
  return setup;
}

}  // namespace sgl::run
