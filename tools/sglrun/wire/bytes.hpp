// Numbers and texts as bytes, in one order on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgl::run {

class ByteWriter {
 public:
  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }
  void u8(uint8_t value) { number(value, 1); }
  void u32(uint32_t value) { number(value, 4); }
  void u64(uint64_t value) { number(value, 8); }
  void text(std::string_view text) {
    u64(text.size());
    bytes_ += text;
  }
  void texts(const std::vector<std::string>& list) {
    u32(static_cast<uint32_t>(list.size()));
    for (const std::string& each : list) text(each);
  }
  void ints(const std::vector<int>& list) {
    u32(static_cast<uint32_t>(list.size()));
    for (int each : list) u32(static_cast<uint32_t>(each));
  }
  std::string take() { return std::move(bytes_); }

  // One name for each type, as the reader has: a list of fields serves both.
  void field(bool value) { u8(value); }
  void field(int value) { u32(static_cast<uint32_t>(value)); }
  void field(int64_t value) { u64(static_cast<uint64_t>(value)); }
  void field(uint64_t value) { u64(value); }
  void field(const std::string& value) { text(value); }
  void field(const std::vector<std::string>& value) { texts(value); }
  void field(const std::vector<int>& value) { ints(value); }

 private:
  std::string bytes_;
};

// Never reads beyond the end: what is not there is 0 or empty, and ok() is false
// from then on.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint64_t number(int bytes) {
    if (!has(static_cast<size_t>(bytes))) return 0;
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value |= uint64_t{static_cast<uint8_t>(rest_[static_cast<size_t>(i)])} << (8 * i);
    rest_.remove_prefix(static_cast<size_t>(bytes));
    return value;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  std::string text() {
    uint64_t length = u64();
    if (!has(length)) return {};
    std::string result(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return result;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> list;
    for (uint32_t left = u32(); left > 0 && ok_; --left) list.push_back(text());
    return list;
  }
  std::vector<int> ints() {
    std::vector<int> list;
    for (uint32_t left = u32(); left > 0 && ok_; --left) list.push_back(static_cast<int>(u32()));
    return list;
  }
  void field(bool& value) { value = u8() != 0; }
  void field(int& value) { value = static_cast<int>(u32()); }
  void field(int64_t& value) { value = static_cast<int64_t>(u64()); }
  void field(uint64_t& value) { value = u64(); }
  void field(std::string& value) { value = text(); }
  void field(std::vector<std::string>& value) { value = texts(); }
  void field(std::vector<int>& value) { value = ints(); }

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  bool has(uint64_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    return ok_;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace sgl::run
