// SPDX-License-Identifier: Apache-2.0
// IdFilter: a Bloom filter whose bits for one id lie in one cache line, so that a look costs one
// miss, and the misses of a batch overlap. Says "surely not" or "perhaps".
//
// Memory: 16 bits an id; about one look in 900 says "perhaps" for nothing. A filter of a former
// version has 12, and one in 150.
//
// Thread safety: const calls from any thread once it is built.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "huge_allocator.h"

namespace oncemq {

class IdFilter {
 public:
  explicit IdFilter(size_t ids) : lines_(ids * kBitsPerId / kLineBits + 1) {}

  // The bytes of an earlier filter; nothing if they cannot be one.
  static std::optional<IdFilter> FromBytes(std::string_view bytes) {
    if (bytes.empty() || bytes.size() % sizeof(Line) != 0) {
      return std::nullopt;
    }
    IdFilter filter(0);
    filter.lines_.resize(bytes.size() / sizeof(Line));
    std::memcpy(filter.lines_.data(), bytes.data(), bytes.size());
    return filter;
  }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(lines_.data()), lines_.size() * sizeof(Line)};
  }

  void Add(uint64_t hash) {
    Line& line = lines_[LineOf(hash)];
    ForEachBit(hash, [&](size_t word, uint64_t bit) { line.words[word] |= bit; });
  }
  bool MayHave(uint64_t hash) const {
    const Line& line = lines_[LineOf(hash)];
    bool all = true;
    ForEachBit(hash, [&](size_t word, uint64_t bit) { all &= (line.words[word] & bit) != 0; });
    return all;
  }
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&lines_[LineOf(hash)]); }

 private:
  static constexpr size_t kBitsPerId = 16;
  static constexpr size_t kLineBits = 512;
  static constexpr int kProbes = 6;
  struct alignas(64) Line {
    uint64_t words[8] = {};
  };

  size_t LineOf(uint64_t hash) const {
    return static_cast<size_t>((hash >> 32) * lines_.size() >> 32);
  }
  // Nine bits of a mixed hash name a bit of the line, again and again.
  template <class Visit>
  static void ForEachBit(uint64_t hash, Visit visit) {
    uint64_t mixed = hash * 0x9E3779B97F4A7C15ull;
    for (int i = 0; i < kProbes; i++) {
      visit(mixed >> 6 & 7, uint64_t{1} << (mixed & 63));
      mixed = std::rotl(mixed, 9);
    }
  }

  std::vector<Line, HugeAllocator<Line>> lines_;
};

}  // namespace oncemq
