#include "sglrun/wire/message.hpp"

#include "sglrun/wire/bytes.hpp"

namespace sgl::run {

std::string encode(const Message& message) {
  ByteWriter out;
  out.u8(static_cast<uint8_t>(message.kind));
  out.u32(static_cast<uint32_t>(message.rank));
  out.u8(static_cast<uint8_t>(message.stream));
  out.u64(static_cast<uint64_t>(message.number));
  out.u64(message.id);
  out.text(message.text);
  out.text(message.data);
  out.ints(message.numbers);
  return out.take();
}

Result<Message> decode(std::string_view bytes) {
  ByteReader in(bytes);
  Message message;
  uint8_t kind = in.u8();
  message.kind = static_cast<MessageKind>(kind);
  message.rank = static_cast<int>(in.u32());
  message.stream = in.u8();
  message.number = static_cast<int64_t>(in.u64());
  message.id = in.u64();
  message.text = in.text();
  message.data = in.text();
  message.numbers = in.ints();
  if (!in.at_end() || kind > static_cast<uint8_t>(MessageKind::last) || message.stream >= kStreams)
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
  out.text(setup.job);
  out.u32(static_cast<uint32_t>(setup.host));
  out.texts(setup.hosts);
  out.ints(setup.host_of_rank);
  out.text(setup.map_by);
  out.text(setup.bind_to);
  out.texts(setup.environment);
  out.texts(setup.command);
  out.text(setup.working_directory);
  out.u8(setup.tag_output);
  out.u8(setup.one_stream);
  out.u8(setup.input_by_messages);
  return out.take();
}

Result<Setup> decode_setup(std::string_view bytes) {
  ByteReader in(bytes);
  Setup setup;
  setup.job = in.text();
  setup.host = static_cast<int>(in.u32());
  setup.hosts = in.texts();
  setup.host_of_rank = in.ints();
  setup.map_by = in.text();
  setup.bind_to = in.text();
  setup.environment = in.texts();
  setup.command = in.texts();
  setup.working_directory = in.text();
  setup.tag_output = in.u8() != 0;
  setup.one_stream = in.u8() != 0;
  setup.input_by_messages = in.u8() != 0;
  int hosts = static_cast<int>(setup.hosts.size());
  bool good = in.at_end() && setup.host >= 0 && setup.host < hosts && !setup.command.empty();
  for (int host : setup.host_of_rank) good = good && host >= 0 && host < hosts;
  if (!good) return error(SGLCOLL_ERR_ARG, "{} bytes describe no job", bytes.size());
  return setup;
}

}  // namespace sgl::run
