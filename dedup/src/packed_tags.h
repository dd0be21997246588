// SPDX-License-Identifier: Apache-2.0
// PackedTags: the tags of one bucket of a hash table, compared all at once and without a branch. A
// loop that stops at the first free entry costs a mispredicted branch for nearly every id, more
// than all its comparisons.
//
// Thread safety: none needed, a value type.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace oncemq {

template <unsigned kBits, size_t kWords>
class PackedTags {
 public:
  static constexpr size_t kCount = kWords * 64 / kBits;

  // A bit for each equal tag: give it to IndexOf(), clear it with `matches &= matches - 1`. Exact.
  uint64_t Matches(uint64_t tag) const {
    uint64_t matches = 0;
#pragma GCC unroll 4
    for (size_t w = 0; w < kWords; w++) {
      const uint64_t differs = words_[w] ^ (tag * kOnes);
      // The top bit of a tag's slot ends up set where all its bits are equal; no carry leaves the
      // slot.
      const uint64_t equal = ~(((differs & ~kTops) + ~kTops) | differs | ~kTops);
      matches |= equal >> (kBits - 1 - w);
    }
    return matches;
  }

  // Of the lowest bit. Precondition: there is one.
  static size_t IndexOf(uint64_t matches) {
    const auto bit = static_cast<size_t>(std::countr_zero(matches));
    return bit % kBits * kPerWord + bit / kBits;
  }

  uint64_t Get(size_t index) const {
    return words_[index / kPerWord] >> index % kPerWord * kBits & kSlot;
  }
  void Set(size_t index, uint64_t tag) {
    const size_t shift = index % kPerWord * kBits;
    uint64_t& word = words_[index / kPerWord];
    word = (word & ~(kSlot << shift)) | tag << shift;
  }
  // Sets every tag to 0 that `keeps(index)` does not want.
  template <class Keeps>
  void KeepIf(Keeps keeps) {
    for (size_t w = 0; w < kWords; w++) {
      uint64_t kept = 0;
#pragma GCC unroll 8
      for (size_t i = 0; i < kPerWord; i++) {
        kept |= uint64_t{keeps(w * kPerWord + i)} * kSlot << i * kBits;
      }
      words_[w] &= kept;
    }
  }

 private:
  static constexpr size_t kPerWord = 64 / kBits;
  static constexpr uint64_t kSlot = (uint64_t{1} << kBits) - 1;
  static constexpr uint64_t kOnes = ~uint64_t{0} / kSlot;  // 1 in each slot
  static constexpr uint64_t kTops = kOnes << (kBits - 1);

  std::array<uint64_t, kWords> words_{};
};

}  // namespace oncemq
