// SPDX-License-Identifier: Apache-2.0
// Ids longer than 64 bytes are not stored: a keyed 256-bit digest stands for them. "Never
// suppressed by a collision" then means 2^-256 a pair, under a secret of the store (rule 35).
//
// Thread safety: any thread; an IdDigester belongs to one.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/hash.h"

struct evp_mac_ctx_st;  // of OpenSSL

namespace oncemq {

inline constexpr size_t kLongestStoredId = 64;
inline constexpr size_t kIdDigestBytes = 32;

// HMAC-SHA-256 of the id.
std::string DigestOf(std::string_view id, const KeyedHash::Secret& secret);

// The same for many ids: the secret is worked in once.
class IdDigester {
 public:
  explicit IdDigester(const KeyedHash::Secret& secret);
  // Of `before` and the id, as one text.
  std::array<char, kIdDigestBytes> Of(std::string_view id, std::string_view before = {});

 private:
  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };
  std::unique_ptr<evp_mac_ctx_st, Free> context_;
};

}  // namespace oncemq
