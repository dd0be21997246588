// SPDX-License-Identifier: Apache-2.0
// Where the rows of a bucket lie in the history: pages by ranges of the hash, and behind them, in a
// merged bucket, the rows of its filter.
//
// Thread safety: none needed, values.
#pragma once

#include <cstdint>
#include <string>

#include "families.h"
#include "oncemq/base/result.h"

namespace oncemq {

inline constexpr uint64_t kIdsPerPage = 64;

// The higher the hash, the higher the page.
inline uint32_t PageOf(uint64_t hash, uint32_t pages) {
  return static_cast<uint32_t>((hash >> 32) * pages >> 32);
}

inline std::string PageKey(uint32_t bucket, uint32_t page) {
  std::string key;
  AppendKey(key, bucket, 4);
  AppendKey(key, page, 4);
  return key;
}

// Before its first row; of the next number: behind its last.
inline std::string BucketKey(uint64_t bucket) {
  std::string key;
  AppendKey(key, bucket, bucket > UINT32_MAX ? 5 : 4);
  return key;
}

inline Error DamagedHistory(const std::string& what) {
  return {Code::kCorrupt, Effect::kNone, "the history is damaged: " + what};
}

}  // namespace oncemq
