// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/hash.h"

#include <cstring>
#include <iterator>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "oncemq/base/random.h"

namespace oncemq {
namespace {

// The whole 192-byte secret is random, not only a 64-bit seed: inputs that collide for every seed
// of XXH3 are known, inputs that collide for an unknown secret are not.
struct Secret {
  unsigned char bytes[192];

  Secret() {
    for (size_t i = 0; i < sizeof bytes; i += 8) {
      const uint64_t word = SecureRandom64();
      std::memcpy(bytes + i, &word, 8);
    }
  }
};

Secret& ProcessSecret() {
  static Secret secret;
  return secret;
}

}  // namespace

uint64_t ProcessHash(std::string_view bytes) {
  static const Secret& secret = ProcessSecret();
  const uint64_t hash =
      XXH3_64bits_withSecret(bytes.data(), bytes.size(), secret.bytes, sizeof secret.bytes);
  return hash != 0 ? hash : 1;
}

void SeedProcessHash(uint64_t seed) {
  Secret& secret = ProcessSecret();
  for (size_t i = 0; i < sizeof secret.bytes; i += 8) {
    const uint64_t word = MixBits(seed + i);
    std::memcpy(secret.bytes + i, &word, 8);
  }
}

KeyedHash::KeyedHash(const Secret& secret) {
  uint64_t words[kSecretBytes / sizeof(uint64_t)];
  std::memcpy(words, secret.data(), secret.size());
  for (size_t i = 0; i < expanded_.size(); i += sizeof(uint64_t)) {
    const uint64_t word = MixBits(words[i / sizeof(uint64_t) % std::size(words)] + i);
    std::memcpy(expanded_.data() + i, &word, sizeof word);
  }
}

uint64_t KeyedHash::operator()(std::string_view bytes) const {
  return XXH3_64bits_withSecret(bytes.data(), bytes.size(), expanded_.data(), expanded_.size());
}

uint64_t StableHash(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace oncemq
