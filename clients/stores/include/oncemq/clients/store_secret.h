// SPDX-License-Identifier: Apache-2.0
// What an application proves itself by, and what is kept of it. The application has a secret; the
// catalogue has a salted digest of it, which is slow to try words against; and each store has a
// password that is made from the secret, so that whoever runs one store learns nothing that opens
// another one, or the catalogue. Nothing here writes to a log.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

inline constexpr size_t kShortestSecret = 16;
inline constexpr size_t kLongestSecret = 1'024;

// Who asks. Never to be printed.
struct StoreIdentity {
  std::string application;
  std::string secret;
};

// 256 bits by chance, as 64 hex digits.
std::string NewSecret();

// "scrypt-1:" salt ":" digest, in hex digits, under a new salt. Failure: kInvalid, for one that is
// too short or too long; kUnavailable, for want of memory.
Result<std::string> DigestOfSecret(std::string_view secret);
bool IsSecretDigest(std::string_view text);
// Takes the same time whichever byte differs. False also for what is no digest. Costs some 40 ms
// and 16 MiB.
bool SecretFits(std::string_view secret, std::string_view digest);

// For one store; 64 hex digits, the same each time.
std::string StorePassword(const StoreIdentity& who, std::string_view store);

// What a store keeps of a password, as its commands take it: it never sees the password before the
// application shows it.
std::string RedisVerifier(std::string_view password);     // SHA-256, hex digits
std::string PostgresVerifier(std::string_view password);  // SCRAM-SHA-256$...
std::string MariadbVerifier(std::string_view password);   // *, and hex digits
std::string ZooKeeperVerifier(std::string_view user, std::string_view password);  // of digest

}  // namespace oncemq
