#include "sglrun/wire/secret.hpp"

#include <cerrno>
#include <cstring>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

namespace sgl::run {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Key::~Key() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<Key> Key::random() {
  Key key;
  if (getrandom(key.data(), kKeyBytes, 0) != static_cast<ssize_t>(kKeyBytes))
    return error(SGLCOLL_ERR_SYSTEM, "no random bytes for the job's secret: {}", strerror(errno));
  return key;
}

Result<Key> Key::from_hex(std::string_view hex) {
  Key key;
  bool good = hex.size() == 2 * kKeyBytes;
  for (size_t i = 0; good && i < kKeyBytes; ++i) {
    int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    key.bytes_[i] = static_cast<uint8_t>(high * 16 + low);
  }
  if (!good) return error(SGLCOLL_ERR_ARG, "the secret must be {} digits of 0-9a-f", 2 * kKeyBytes);
  return key;
}

std::string Key::hex() const {
  std::string text;
  for (uint8_t byte : bytes_) text += fmt::format("{:02x}", byte);
  return text;
}

bool Key::equals(std::string_view other) const {
  return other.size() == kKeyBytes && CRYPTO_memcmp(data(), other.data(), kKeyBytes) == 0;
}

Key hmac(const Key& key, std::initializer_list<std::string_view> parts) {
  std::string message;
  for (std::string_view part : parts) {
    for (int i = 0; i < 8; ++i)
      message.push_back(static_cast<char>(uint64_t{part.size()} >> 8 * i));
    message += part;
  }
  Key result;
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), kKeyBytes, bytes_of(message), message.size(), result.data(),
       &length);
  return result;
}

Cipher::Cipher(const Key& key, Direction direction)
    : context_(EVP_CIPHER_CTX_new()), direction_(direction) {
  EVP_CipherInit_ex(context_, EVP_aes_256_gcm(), nullptr, key.data(), nullptr,
                    direction == Direction::seal);
}

Cipher::~Cipher() {
  EVP_CIPHER_CTX_free(context_);
}

void Cipher::start(std::string_view header) {
  unsigned char nonce[12] = {};
  for (int i = 0; i < 8; ++i) nonce[i] = static_cast<unsigned char>(frames_ >> 8 * i);
  ++frames_;
  EVP_CipherInit_ex(context_, nullptr, nullptr, nullptr, nonce, direction_ == Direction::seal);
  int length;
  EVP_CipherUpdate(context_, nullptr, &length, bytes_of(header), static_cast<int>(header.size()));
}

void Cipher::seal(std::string_view header, std::string_view text, std::string* out) {
  start(header);
  size_t before = out->size();
  out->resize(before + text.size() + kTagBytes);
  auto* to = reinterpret_cast<unsigned char*>(out->data() + before);
  int length = 0, rest = 0;
  EVP_CipherUpdate(context_, to, &length, bytes_of(text), static_cast<int>(text.size()));
  EVP_CipherFinal_ex(context_, to + length, &rest);
  EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_GCM_GET_TAG, kTagBytes, to + text.size());
}

bool Cipher::open(std::string_view header, std::string_view sealed, std::string* text) {
  if (sealed.size() < kTagBytes) return false;
  start(header);
  std::string_view tag = sealed.substr(sealed.size() - kTagBytes);
  sealed.remove_suffix(kTagBytes);
  text->resize(sealed.size());
  auto* to = reinterpret_cast<unsigned char*>(text->data());
  int length = 0, rest = 0;
  unsigned char expected[kTagBytes];
  memcpy(expected, tag.data(), kTagBytes);
  return EVP_CipherUpdate(context_, to, &length, bytes_of(sealed),
                          static_cast<int>(sealed.size())) == 1 &&
         EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_GCM_SET_TAG, kTagBytes, expected) == 1 &&
         EVP_CipherFinal_ex(context_, to + length, &rest) == 1;
}

}  // namespace sgl::run
