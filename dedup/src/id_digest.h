// SPDX-License-Identifier: Apache-2.0
// Ids longer than 64 bytes are not stored: a keyed 256-bit digest stands for them. "Never
// suppressed by a collision" then means 2^-256 a pair, under a secret of the store (rule 35).
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/hash.h"

namespace oncemq {

inline constexpr size_t kLongestStoredId = 64;

// HMAC-SHA-256 of the id; 32 bytes.
std::string DigestOf(std::string_view id, const KeyedHash::Secret& secret);

}  // namespace oncemq
