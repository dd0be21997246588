// SPDX-License-Identifier: Apache-2.0
#include "done_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

std::string IdOf(size_t number) {
  return "id-" + std::to_string(number);
}

DoneRecord RecordOf(size_t number) {
  const auto n = static_cast<uint32_t>(number);
  return {{n, static_cast<int32_t>(n + 1), static_cast<int64_t>(number) << 33},
          {number + 3, ~number},
          n + 4,
          {}};
}

// Appends ids and knows which of them must, and may, be found.
class History {
 public:
  History(uint32_t remember, uint64_t (*hash)(std::string_view)) : hash_(hash), ids_(remember) {}

  void Append() {
    ids_.Append(hash_(IdOf(next_)), IdOf(next_), RecordOf(next_));
    next_++;
  }
  bool Knows(size_t number) const {
    const auto found = ids_.Find(hash_(IdOf(number)), IdOf(number));
    if (found) {
      const DoneRecord expected = RecordOf(number);
      EXPECT_EQ(found->at, expected.at);
      EXPECT_EQ(found->token, expected.token);
      EXPECT_EQ(found->fingerprint, expected.fingerprint);
    }
    return found.has_value();
  }
  // How many of the last ids are known, from the newest back to the first gap; no older one may be.
  size_t Known() const {
    size_t known = 0;
    while (known < next_ && Knows(next_ - 1 - known)) {
      known++;
    }
    for (size_t i = 0; i + known < next_; i++) {
      EXPECT_FALSE(Knows(i)) << "of " << next_;
    }
    return known;
  }
  size_t next() const { return next_; }
  const DoneIds& ids() const { return ids_; }

 private:
  uint64_t (*hash_)(std::string_view);
  DoneIds ids_;
  size_t next_ = 0;
};

uint64_t EqualHash(std::string_view) {
  return ~uint64_t{0};
}

// All in a few buckets, so that entries pass full ones, outlive their neighbours and meet the dead.
uint64_t CrowdedHash(std::string_view id) {
  return ProcessHash(id) & 0x0000000F0000000F;
}

TEST(DoneIds, TheLastIdsAreKnownAndAtMostAnEighthMore) {
  for (const uint32_t remember : {1u, 2u, 7u, 8u, 9u, 64u, 100u}) {
    History history(remember, ProcessHash);
    for (size_t i = 0; i < 6 * remember + 20; i++) {
      history.Append();
      const size_t known = history.Known();
      EXPECT_GE(known, std::min<size_t>(remember, history.next())) << remember;
      EXPECT_LE(known, remember + (remember + 7) / 8) << remember;
    }
  }
}

TEST(DoneIds, TheSameHoldsForEqualAndForCrowdedHashes) {
  for (auto* hash : {EqualHash, CrowdedHash}) {
    for (const uint32_t remember : {1u, 8u, 100u}) {
      History history(remember, hash);
      for (size_t i = 0; i < 4 * remember + 20; i++) {
        history.Append();
        EXPECT_GE(history.Known(), std::min<size_t>(remember, history.next())) << remember;
      }
    }
  }
}

// The numbers of slices come round after 256; an entry that was never in the way must not come back
// to life with them.
TEST(DoneIds, WhatWasForgottenStaysForgottenWhenSliceNumbersComeRound) {
  for (auto* hash : {&ProcessHash, &EqualHash, &CrowdedHash}) {
    for (const uint32_t remember : {1u, 40u}) {
      History history(remember, hash);
      for (int round = 0; round < 800; round++) {
        for (uint32_t i = 0; i < (remember + 7) / 8; i++) {
          history.Append();
        }
        if (round % 16 == 0 || (round > 250 && round < 270)) {
          EXPECT_GE(history.Known(), std::min<size_t>(remember, history.next()));
        }
      }
    }
  }
}

// The same where nothing ever comes in the way of the dead entries: their offsets would lead far
// behind the end of the slice that has their number now.
TEST(DoneIds, DeadEntriesAreBuriedBeforeTheirSliceNumberComesRound) {
  constexpr uint64_t kAlone = 0;
  constexpr uint64_t kElsewhere = uint64_t{1} << 62;
  constexpr uint32_t kRemember = 40;
  DoneIds ids(kRemember);
  const std::string result(200'000, 'r');
  for (size_t i = 0; i < kRemember / 8; i++) {
    ids.Append(kAlone, IdOf(i), {{}, {}, 0, result});
  }
  for (size_t i = 100; i < 100 + 300 * kRemember / 8; i++) {
    ids.Append(kElsewhere, IdOf(i), RecordOf(i));
    EXPECT_EQ(ids.Find(kAlone, IdOf(4)).has_value(), i < 99 + kRemember);
  }
}

TEST(DoneIds, IdsWithEqualHashesAreToldApartByTheirBytes) {
  DoneIds ids(100);
  ids.Append(5, "a", RecordOf(1));
  EXPECT_FALSE(ids.Find(5, "b"));
  EXPECT_FALSE(ids.Find(5, "aa"));
  EXPECT_FALSE(ids.Find(5, std::string_view("a\0", 2)));
  ids.Append(5, "b", RecordOf(2));
  EXPECT_EQ(ids.Find(5, "a")->at, RecordOf(1).at);
  EXPECT_EQ(ids.Find(5, "b")->at, RecordOf(2).at);
}

TEST(DoneIds, ResultsAreKeptBesideTheirIds) {
  DoneIds ids(1'000);
  for (size_t i = 0; i < 1'000; i++) {
    const std::string result(i * 61 % 5'000, static_cast<char>(i));
    ids.Append(ProcessHash(IdOf(i)), IdOf(i), {{}, {}, 0, result});
  }
  for (size_t i = 0; i < 1'000; i++) {
    const std::string result(i * 61 % 5'000, static_cast<char>(i));
    EXPECT_EQ(ids.Find(ProcessHash(IdOf(i)), IdOf(i))->result, result);
  }
}

TEST(DoneIds, RecordsOfTheGreatestLengthFit) {
  DoneIds ids(8);
  const std::string result(DoneIds::kMaxRecord - 8, 'r');
  for (size_t i = 0; i < 40; i++) {
    const std::string id = "id-" + std::to_string(10'000 + i);
    ids.Append(ProcessHash(id), id, {{}, {}, 0, result});
    EXPECT_EQ(ids.Find(ProcessHash(id), id)->result, result);
  }
}

TEST(DoneIds, MemoryIsBoundByTheIdsToRemember) {
  constexpr size_t kRemember = 200'000;
  constexpr size_t kIdBytes = 20;
  // One chunk begun in each slice is what the formula leaves out.
  constexpr size_t kBound =
      kRemember * 16 + kRemember * 9 / 8 * (kIdBytes + 47) + 11 * (size_t{256} << 10);
  DoneIds ids(kRemember);
  std::string id(kIdBytes, 'x');
  size_t after_two_fills = 0;
  for (size_t i = 0; i < 5 * kRemember; i++) {
    const std::string number = std::to_string(10'000'000 + i);
    id.replace(0, number.size(), number);
    ids.Append(ProcessHash(id), id, RecordOf(i));
    after_two_fills = i == 2 * kRemember ? ids.memory_bytes() : after_two_fills;
  }
  EXPECT_LE(ids.memory_bytes(), kBound);
  EXPECT_EQ(ids.memory_bytes(), after_two_fills);
}

}  // namespace
}  // namespace oncemq
