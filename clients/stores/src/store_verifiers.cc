// SPDX-License-Identifier: Apache-2.0
// What each kind of store keeps of a password.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"
#include "oncemq/clients/store_secret.h"
#include "openssl_bytes.h"

namespace oncemq {
namespace {

constexpr int kScramRounds = 4'096;  // PostgreSQL's own
constexpr size_t kScramSalt = 16;

std::string Digest(std::string_view text, const EVP_MD* kind) {
  std::string made(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(made.data()), &length,
                 kind, nullptr);
  ONCEMQ_CHECK(done == 1, "the digests that stores use are there");
  made.resize(length);
  return made;
}

std::string Keyed(std::string_view key, std::string_view text) {
  std::string made(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), OpenSslBytes(text), text.size(),
           reinterpret_cast<unsigned char*>(made.data()), &length);
  ONCEMQ_CHECK(done != nullptr, "SHA-256 is always there");
  made.resize(length);
  return made;
}

// With the padding that these stores want.
std::string Padded(std::string_view bytes) {
  std::string text = Base64Encode(bytes);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

}  // namespace

std::string RedisVerifier(std::string_view password) {
  return HexOfBytes(Digest(password, EVP_sha256()));
}

// RFC 5802. The salt follows from the password, which is made by chance and used at one store only:
// so the same is printed each time.
std::string PostgresVerifier(std::string_view password) {
  const std::string salt = Keyed(password, "oncemq scram salt").substr(0, kScramSalt);
  std::string salted(32, '\0');
  const int done = PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
                                     OpenSslBytes(salt), static_cast<int>(salt.size()),
                                     kScramRounds, EVP_sha256(), static_cast<int>(salted.size()),
                                     reinterpret_cast<unsigned char*>(salted.data()));
  ONCEMQ_CHECK(done == 1, "SHA-256 is always there");
  const std::string stored = Digest(Keyed(salted, "Client Key"), EVP_sha256());
  return "SCRAM-SHA-256$" + std::to_string(kScramRounds) + ":" + Padded(salt) + "$" +
         Padded(stored) + ":" + Padded(Keyed(salted, "Server Key"));
}

std::string MariadbVerifier(std::string_view password) {
  std::string text = HexOfBytes(Digest(Digest(password, EVP_sha1()), EVP_sha1()));
  for (char& c : text) {
    c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return "*" + text;
}

std::string ZooKeeperVerifier(std::string_view user, std::string_view password) {
  const std::string name(user);
  return name + ":" + Padded(Digest(name + ":" + std::string(password), EVP_sha1()));
}

}  // namespace oncemq
