// SPDX-License-Identifier: Apache-2.0
#include "id_digest.h"

#include <gtest/gtest.h>

#include <numeric>

namespace oncemq {
namespace {

// Digests are stored: another one would make an old id new.
TEST(IdDigestTest, ManyUnderOneSecretAreHmacSha256) {
  KeyedHash::Secret secret;
  std::iota(secret.begin(), secret.end(), static_cast<unsigned char>(0));
  IdDigester digester(secret);
  const auto hex = [&](std::string_view id) {
    const auto digest = digester.Of(id);
    const std::string text(digest.data(), digest.size());
    EXPECT_EQ(text, DigestOf(id, secret));
    std::string out;
    for (const char byte : text) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += kDigits[static_cast<unsigned char>(byte) >> 4];
      out += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    return out;
  };
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(hex("payment-1"), "1ccdbe7a0666ceb053600715e1aa828b6757e98a0516894f3d2e0eb7b1e2e0ff");
    EXPECT_EQ(hex(std::string(1'000, 'x')),
              "2ab4ed3956f17094c9b1878953e91ac9eb42cfa0059df2bfbf832bee29eef5c2");
  }
}

}  // namespace
}  // namespace oncemq
