// SPDX-License-Identifier: Apache-2.0
// Rows of a local store that are decoded carry a sum of their own: RocksDB's covers the way to the
// disk, this one also what became of them in memory.
//
// Thread safety: none needed, values.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "families.h"
#include "oncemq/base/bytes.h"

namespace oncemq {

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

// A row of numbers and nothing else.
inline std::string SealNumbers(std::initializer_list<uint64_t> numbers) {
  std::string row;
  for (const uint64_t number : numbers) {
    AppendVarint(row, number);
  }
  return Seal(std::move(row));
}

template <size_t kCount>
std::optional<std::array<uint64_t, kCount>> UnsealNumbers(std::string_view row) {
  const auto content = Unseal(row);
  if (!content) {
    return std::nullopt;
  }
  ByteReader reader(*content);
  std::array<uint64_t, kCount> numbers;
  for (uint64_t& number : numbers) {
    const auto read = reader.Varint();
    if (!read) {
      return std::nullopt;
    }
    number = *read;
  }
  return reader.empty() ? std::optional(numbers) : std::nullopt;
}

}  // namespace oncemq
