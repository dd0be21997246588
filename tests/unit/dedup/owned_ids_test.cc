// SPDX-License-Identifier: Apache-2.0
#include "redis/owned_ids.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

constexpr LogTime kThen{milliseconds(1'600'000'000'000)};

std::string Digest(uint64_t id, uint64_t tag = 0) {
  std::string digest;
  for (const uint64_t half : {tag == 0 ? MixBits(id) : tag, MixBits(id + 1)}) {
    digest.append(reinterpret_cast<const char*>(&half), sizeof half);
  }
  return digest;
}

std::vector<OwnedIds::Loaded> Stored(OwnedIds& ids) {
  ids.Seal();
  std::vector<OwnedIds::Loaded> stream;
  for (const OwnedIds::Entry* entry : ids.Unstored()) {
    stream.push_back({entry->position, entry->bytes});
  }
  if (!stream.empty()) {
    ids.StoredTo(stream.back().position);
  }
  return stream;
}

TEST(OwnedIds, WhatIsLoadedIsWhatWasAppended) {
  OwnedIds ids;
  for (uint64_t i = 0; i < 1'000; i++) {
    ids.Append(Digest(i), {.offset = static_cast<int64_t>(i),
                           .fingerprint = static_cast<uint32_t>(i * 7),
                           .completer = 9,
                           .kept_to = kThen});
  }
  // Out of order, far away, and at both ends of all offsets.
  const std::vector<int64_t> odd{5, 100'000'000, 3, INT64_MAX, -1, 0};
  for (size_t i = 0; i < odd.size(); i++) {
    ids.Append(Digest(10'000 + i), {.offset = odd[i], .kept_to = kThen});
  }
  EXPECT_EQ(ids.unstored(), 1'006u);
  OwnedIds heir;
  ASSERT_TRUE(heir.Load(Stored(ids)));
  EXPECT_EQ(ids.unstored(), 0u);
  EXPECT_EQ(heir.known(), 1'006u);
  EXPECT_EQ(heir.stored_to(), ids.stored_to());
  for (uint64_t i = 0; i < 1'000; i++) {
    const auto id = heir.Find(Digest(i));
    ASSERT_TRUE(id) << i;
    EXPECT_EQ(id->offset, static_cast<int64_t>(i));
    EXPECT_EQ(id->fingerprint, i * 7);
    EXPECT_EQ(id->completer, 0u) << "it is of another process";
    EXPECT_EQ(ids.Find(Digest(i))->completer, 9u);
  }
  for (size_t i = 0; i < odd.size(); i++) {
    EXPECT_EQ(heir.Find(Digest(10'000 + i))->offset, odd[i]);
  }
  EXPECT_FALSE(heir.Find(Digest(1'000'000)));
  EXPECT_FALSE(heir.Load({{{1, 1}, "not an entry"}}));
  EXPECT_FALSE(heir.Load({{{1, 1}, ""}}));
}

TEST(OwnedIds, PlacesRiseWhateverTheTimes) {
  OwnedIds ids;
  StreamPosition last;
  for (const int64_t ms : {50, 10, 70, 70, 0}) {
    ids.Append(Digest(static_cast<uint64_t>(ms)),
               {.offset = 1, .kept_to = kThen + milliseconds(ms)});
    const auto stream = Stored(ids);
    ASSERT_EQ(stream.size(), 1u);
    EXPECT_GT(stream[0].position, last);
    EXPECT_GE(stream[0].position.millis, last.millis);
    last = stream[0].position;
    EXPECT_EQ(ParseStreamPosition(ToString(last)), last);
  }
  EXPECT_EQ(last.millis, static_cast<uint64_t>(kThen.time_since_epoch().count()) + 70);
  EXPECT_FALSE(ParseStreamPosition("7"));
  EXPECT_FALSE(ParseStreamPosition("7-x"));
}

TEST(OwnedIds, OnlyWhatIsStoredOldAndBelowTheFrontierMayGo) {
  OwnedIds ids;
  for (int64_t i = 0; i < 4; i++) {
    ids.Append(Digest(static_cast<uint64_t>(i)), {.offset = i, .kept_to = kThen + milliseconds(i)});
    ids.Seal();
  }
  const LogTime later = kThen + milliseconds(9);
  EXPECT_EQ(ids.Aged(later, 9, 9), 0u) << "the stream has none of them";
  Stored(ids);
  EXPECT_EQ(ids.Aged(later, 9, 9), 4u);
  EXPECT_EQ(ids.Aged(later, 9, 3), 3u);
  EXPECT_EQ(ids.Aged(later, 2, 9), 2u);
  EXPECT_EQ(ids.Aged(kThen + milliseconds(1), 9, 9), 1u);
}

// Another owner came and went: what it stored has the places that ours were to have.
TEST(OwnedIds, WhatIsNotStoredComesAfterWhatIsLoaded) {
  OwnedIds ids;
  ids.Append(Digest(1), {.offset = 1, .completer = 5, .kept_to = kThen});
  const auto first = Stored(ids);
  OwnedIds other;
  ASSERT_TRUE(other.Load(first));
  ids.Append(Digest(2), {.offset = 2, .completer = 5, .kept_to = kThen});
  ids.Seal();  // and the answer never came
  other.Append(Digest(3), {.offset = 3, .kept_to = kThen + milliseconds(1)});
  const auto theirs = Stored(other);
  ASSERT_TRUE(ids.Load(theirs));
  ids.SetLast(theirs.back().position);
  EXPECT_EQ(ids.unstored(), 1u);
  EXPECT_EQ(ids.Find(Digest(2))->completer, 5u);
  const auto ours = Stored(ids);
  ASSERT_EQ(ours.size(), 1u);
  EXPECT_GT(ours[0].position, theirs.back().position);
  for (const uint64_t id : {1, 2, 3}) {
    EXPECT_EQ(ids.Find(Digest(id))->offset, static_cast<int64_t>(id));
  }
}

// Against a map: appended, known anew, dropped from the front; digests that share their tag too.
TEST(OwnedIds, ATableUnderManyChangesIsAMap) {
  std::mt19937_64 random(7);
  for (const uint64_t tags : {uint64_t{0}, uint64_t{5}}) {
    OwnedIds ids;
    std::map<uint64_t, std::pair<int64_t, uint64_t>> model;  // offset, number of its entry
    std::vector<std::vector<uint64_t>> entries;
    size_t dropped = 0;
    for (int step = 0; step < 400; step++) {
      std::vector<uint64_t>& entry = entries.emplace_back();
      for (uint64_t i = 0; i < random() % 40; i++) {
        const uint64_t id = random() % 3'000;
        const auto offset = static_cast<int64_t>(random() % 1'000);
        ids.Append(Digest(id, tags == 0 ? 0 : 1 + id % tags), {.offset = offset, .kept_to = kThen});
        model[id] = {offset, entries.size() - 1};
        entry.push_back(id);
      }
      if (entry.empty()) {
        entries.pop_back();
      }
      Stored(ids);
      if (random() % 3 == 0 && dropped < entries.size()) {
        ids.Drop(1);
        for (const uint64_t id : entries[dropped]) {
          if (const auto found = model.find(id);
              found != model.end() && found->second.second == dropped) {
            model.erase(found);
          }
        }
        dropped++;
      }
      ASSERT_EQ(ids.known(), model.size());
    }
    EXPECT_LT(ids.memory_bytes(), 1u << 20) << "bytes that went still count";
    for (uint64_t id = 0; id < 3'000; id++) {
      const auto found = ids.Find(Digest(id, tags == 0 ? 0 : 1 + id % tags));
      const auto expected = model.find(id);
      ASSERT_EQ(found.has_value(), expected != model.end()) << id;
      if (found) {
        EXPECT_EQ(found->offset, expected->second.first) << id;
      }
    }
  }
}

}  // namespace
}  // namespace oncemq
