// SPDX-License-Identifier: Apache-2.0
// The column families and keys of a local store (docs/formats.md, "Local store").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/bytes.h"

namespace oncemq {

inline constexpr std::string_view kOwnPrefix = "own/";
inline constexpr std::string_view kOwnEnd = "own0";  // '0' follows '/'
inline constexpr std::string_view kHorizonKey = "horizon";
inline constexpr std::string_view kNextBucketKey = "next-bucket";

enum Family : size_t {
  kFacts,    // "manifest", "own", "position", "bucket/<number>"
  kJournal,  // batch number -> records of the batch
  kHistory,  // bucket number, page -> page
  kKept,     // id -> marker that does not age: open (opaque level), parked
  kFamilies
};

// Big-endian, so that the order of keys is the order of numbers.
inline void AppendKey(std::string& key, uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; i--) {
    key.push_back(static_cast<char>(number >> (8 * i)));
  }
}

// The number of so many bytes at `at`; nothing if the key is shorter.
inline std::optional<uint64_t> ReadKey(std::string_view key, size_t at, size_t bytes) {
  if (key.size() < at + bytes) {
    return std::nullopt;
  }
  uint64_t number = 0;
  for (const char byte : key.substr(at, bytes)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

// Rows that are decoded carry a sum of their own: RocksDB's covers the way to the disk, this one
// also what became of them in memory.
inline constexpr size_t kSumBytes = 4;
inline std::string Seal(std::string row) {
  const uint32_t sum = Crc32c(row);
  AppendKey(row, sum, kSumBytes);
  return row;
}

// What was sealed; nothing if the sum is not its own.
inline std::optional<std::string_view> Unseal(std::string_view row) {
  if (row.size() < kSumBytes || ReadKey(row, row.size() - kSumBytes, kSumBytes) !=
                                    Crc32c(row.substr(0, row.size() - kSumBytes))) {
    return std::nullopt;
  }
  return row.substr(0, row.size() - kSumBytes);
}

}  // namespace oncemq
