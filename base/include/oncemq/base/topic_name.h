// SPDX-License-Identifier: Apache-2.0
// How Kafka lets topics be named; also the rule for every name of ours that becomes one, or a
// folder.
//
// Thread safety: pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace oncemq {

inline bool IsTopicCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// Letters, digits and . _ - only, at most 249, and neither . nor ..
inline bool IsTopicName(std::string_view name) {
  constexpr size_t kLongest = 249;
  return !name.empty() && name.size() <= kLongest && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), IsTopicCharacter);
}

}  // namespace oncemq
