// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/store_secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <optional>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"
#include "oncemq/base/random.h"
#include "openssl_bytes.h"

namespace oncemq {
namespace {

constexpr std::string_view kVersion = "scrypt-1:";
constexpr size_t kSaltBytes = 16;
constexpr size_t kDigestBytes = 32;
// Of version 1: 16 MiB for each try.
constexpr uint64_t kRounds = 1 << 14;
constexpr uint64_t kBlocks = 8;
constexpr uint64_t kLanes = 1;
constexpr uint64_t kMostMemory = 32u << 20;

struct Parts {
  std::string salt;
  std::string digest;
};

std::optional<Parts> ParseDigest(std::string_view text) {
  if (!text.starts_with(kVersion) ||
      text.size() != kVersion.size() + 2 * kSaltBytes + 1 + 2 * kDigestBytes) {
    return std::nullopt;
  }
  text.remove_prefix(kVersion.size());
  const auto salt = BytesOfHex(text.substr(0, 2 * kSaltBytes));
  const auto digest = BytesOfHex(text.substr(2 * kSaltBytes + 1));
  if (text[2 * kSaltBytes] != ':' || !salt || !digest) {
    return std::nullopt;
  }
  return Parts{*salt, *digest};
}

// Empty for want of memory.
std::string Scrypt(std::string_view secret, std::string_view salt) {
  std::string digest(kDigestBytes, '\0');
  const int done = EVP_PBE_scrypt(secret.data(), secret.size(), OpenSslBytes(salt), salt.size(),
                                  kRounds, kBlocks, kLanes, kMostMemory,
                                  reinterpret_cast<unsigned char*>(digest.data()), digest.size());
  return done == 1 ? digest : std::string();
}

bool HasRightSize(std::string_view secret) {
  return secret.size() >= kShortestSecret && secret.size() <= kLongestSecret;
}

std::string ByChance(size_t bytes) {
  std::string out;
  while (out.size() < bytes) {
    uint64_t word = SecureRandom64();
    for (size_t i = 0; i < sizeof word; i++, word >>= 8) {
      out.push_back(static_cast<char>(word & 0xFF));
    }
  }
  return out;
}

}  // namespace

std::string NewSecret() {
  return HexOfBytes(ByChance(kDigestBytes));
}

Result<std::string> DigestOfSecret(std::string_view secret) {
  if (!HasRightSize(secret)) {
    return Error{Code::kInvalid, Effect::kNone, "a secret has 16 to 1024 bytes"};
  }
  const std::string salt = ByChance(kSaltBytes);
  const std::string digest = Scrypt(secret, salt);
  if (digest.empty()) {
    return Error{Code::kUnavailable, Effect::kNone, "no memory for the digest of a secret"};
  }
  return std::string(kVersion) + HexOfBytes(salt) + ":" + HexOfBytes(digest);
}

bool IsSecretDigest(std::string_view text) {
  return ParseDigest(text).has_value();
}

bool SecretFits(std::string_view secret, std::string_view digest) {
  const auto parts = ParseDigest(digest);
  if (!parts || !HasRightSize(secret)) {
    return false;
  }
  const std::string made = Scrypt(secret, parts->salt);
  return made.size() == kDigestBytes &&
         CRYPTO_memcmp(made.data(), parts->digest.data(), kDigestBytes) == 0;
}

// Neither name holds a line feed, so no two pairs make the same text.
std::string StorePassword(const StoreIdentity& who, std::string_view store) {
  const std::string text =
      "oncemq store password 1\n" + who.application + "\n" + std::string(store);
  std::string made(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), who.secret.data(), static_cast<int>(who.secret.size()), OpenSslBytes(text),
           text.size(), reinterpret_cast<unsigned char*>(made.data()), &length);
  ONCEMQ_CHECK(done != nullptr, "SHA-256 is always there");
  made.resize(length);
  return HexOfBytes(made);
}

}  // namespace oncemq
