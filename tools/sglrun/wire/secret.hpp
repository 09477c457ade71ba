// The secret of a job, what is proved with it, and the ciphers of a connection.
#pragma once

#include "base/status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

struct evp_cipher_ctx_st;

namespace sgl::run {

inline constexpr size_t kKeyBytes = 32;

// 32 bytes that are overwritten when they go.
class Key {
 public:
  Key() = default;
  ~Key();
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;

  static Result<Key> random();
  static Result<Key> from_hex(std::string_view hex);
  std::string hex() const;

  uint8_t* data() { return bytes_.data(); }
  const uint8_t* data() const { return bytes_.data(); }
  std::string_view view() const { return {reinterpret_cast<const char*>(data()), kKeyBytes}; }
  // In a time that does not depend on the bytes.
  bool equals(std::string_view other) const;

 private:
  std::array<uint8_t, kKeyBytes> bytes_{};
};

// HMAC-SHA256 over the parts, each preceded by its length.
Key hmac(const Key& key, std::initializer_list<std::string_view> parts);

// One direction of a connection: AES-256-GCM, the number of the frame as nonce. A key
// must serve one direction of one connection only.
class Cipher {
 public:
  enum class Direction { seal, open };
  static constexpr size_t kTagBytes = 16;

  Cipher(const Key& key, Direction direction);
  ~Cipher();
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  // Appends the sealed `text` and its tag to *out; `header` is protected with it.
  void seal(std::string_view header, std::string_view text, std::string* out);
  // `sealed` is text and tag. False when a byte of it or of the header was changed,
  // or a frame was left out, repeated or moved.
  bool open(std::string_view header, std::string_view sealed, std::string* text);

 private:
  void start(std::string_view header);

  evp_cipher_ctx_st* context_;
  Direction direction_;
  uint64_t frames_ = 0;
};

}  // namespace sgl::run
