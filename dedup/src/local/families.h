// SPDX-License-Identifier: Apache-2.0
// The column families and keys of a local store (docs/formats.md, "Local store").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace oncemq {

// Keys of kFacts; '0' follows '/', so it ends a range of keys that begin with the name.
inline constexpr std::string_view kManifestKey = "manifest";
inline constexpr std::string_view kHorizonKey = "horizon";
inline constexpr std::string_view kRememberKey = "remember";
inline constexpr std::string_view kNextBucketKey = "next-bucket";
// by partition, likewise the next two
inline constexpr std::string_view kOwnerEpochPrefix = "own/";
inline constexpr std::string_view kOwnerEpochEnd = "own0";
inline constexpr std::string_view kProgressPrefix = "progress/";
inline constexpr std::string_view kProgressEnd = "progress0";
inline constexpr std::string_view kKnownPrefix = "known/";
inline constexpr std::string_view kTimedPrefix = "timed/";  // by id
inline constexpr std::string_view kTimedEnd = "timed0";
inline constexpr std::string_view kUncertainPrefix = "uncertain/";  // by id and coordinates
inline constexpr std::string_view kUncertainEnd = "uncertain0";

enum Family : size_t {
  kFacts,    // the keys above, and one for each bucket
  kJournal,  // batch number -> records of the batch
  kHistory,  // bucket number, page -> page
  kKept,     // id -> marker that does not age: open (opaque level), parked
  kEffects,  // the handlers' own rows
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

inline std::string PartitionKey(std::string_view prefix, uint32_t source, int32_t partition) {
  std::string key(prefix);
  AppendKey(key, source, 4);
  AppendKey(key, static_cast<uint32_t>(partition), 4);
  return key;
}

// Source and partition of such a key; nothing if it is none.
inline std::optional<std::pair<uint32_t, int32_t>> ReadPartitionKey(std::string_view key,
                                                                    std::string_view prefix) {
  if (key.size() != prefix.size() + 8) {
    return std::nullopt;
  }
  return std::pair(
      static_cast<uint32_t>(*ReadKey(key, prefix.size(), 4)),
      static_cast<int32_t>(static_cast<uint32_t>(*ReadKey(key, prefix.size() + 4, 4))));
}

}  // namespace oncemq
