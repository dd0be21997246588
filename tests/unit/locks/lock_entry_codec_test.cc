// SPDX-License-Identifier: Apache-2.0
#include "lock_entry_codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace oncemq {
namespace {

constexpr BootTime kCodecNow{microseconds(1'700'000'000'000'000)};

AcquireRequest RequestOf(uint64_t attempt, LockMode mode = LockMode::kExclusive) {
  return {.name = "x",
          .token = {std::numeric_limits<uint64_t>::max(), attempt},
          .mode = mode,
          .lease = milliseconds(1'000),
          .queue_lease = milliseconds(2'000),
          .who = "host/1"};
}

// One writer that was asked back, and behind it a reader and a writer who wait.
LockEntry Busy() {
  LockEntry entry;
  LockEntry::Turns turns;
  entry.Request(RequestOf(1), {3, 1'000'000}, kCodecNow, turns);
  entry.Recall(kCodecNow);
  entry.Request(RequestOf(2, LockMode::kShared), {}, kCodecNow, turns, 77);
  entry.Request(RequestOf(3), {}, kCodecNow, turns, std::numeric_limits<uint64_t>::max());
  return entry;
}

TEST(LockEntryCodec, AnIdleEntryHasNoBytes) {
  EXPECT_EQ(EncodeLockEntry({}), "");
  const auto entry = DecodeLockEntry("");
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->idle());
}

TEST(LockEntryCodec, WhatComesBackBehavesAsWhatWasWritten) {
  const std::string bytes = EncodeLockEntry(Busy());
  auto entry = DecodeLockEntry(bytes);
  ASSERT_TRUE(entry);
  EXPECT_EQ(EncodeLockEntry(*entry), bytes);
  const auto parties = entry->Parties(kCodecNow);
  ASSERT_EQ(parties.size(), 3u);
  EXPECT_TRUE(parties[0].holds);
  EXPECT_EQ(parties[0].fence, (Fence{3, 1'000'000}));
  EXPECT_EQ(parties[0].who, "host/1");
  EXPECT_EQ(parties[0].left, milliseconds(1'000));
  EXPECT_EQ(parties[1].mode, LockMode::kShared);
  EXPECT_EQ(parties[2].left, milliseconds(2'000));
  EXPECT_EQ(entry->HomeOf(RequestOf(2).token), 77u);
  EXPECT_EQ(entry->HomeOf(RequestOf(3).token), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(entry->ends(), kCodecNow + milliseconds(2'000));
  LockEntry::Turns turns;
  EXPECT_EQ(entry->Extend({"x", RequestOf(1).token, milliseconds(1'000)}, kCodecNow, turns),
            Extended::kRecalled);
  EXPECT_EQ(entry->Free(RequestOf(1).token, kCodecNow, turns), Freed::kYes);
  EXPECT_EQ(turns, (LockEntry::Turns{RequestOf(2).token}));
}

// What docs/formats.md says, byte by byte.
TEST(LockEntryCodec, VersionThreeStaysAsItIs) {
  LockEntry entry;
  LockEntry::Turns turns;
  AcquireRequest request = RequestOf(1);
  request.token = {5, 6};
  request.who = "w";
  request.lease = milliseconds(100);
  request.queue_lease = milliseconds(20);
  entry.Request(request, {2, 9}, BootTime(microseconds(1)) - request.lease, turns);
  request.token = {7, 8};
  request.mode = LockMode::kShared;
  entry.Request(request, {}, BootTime(microseconds(2)) - request.queue_lease, turns, 4);
  EXPECT_EQ(EncodeLockEntry(entry), std::string("\x03\x01\x05\x06\x00\x01\x64\x01w\x02\x09"
                                                "\x01\x07\x08\x01\x02\x14\x01w\x04",
                                                20));
}

// Without leases, so nothing of it is ever cut.
TEST(LockEntryCodec, VersionOneIsReadAndWrittenAnew) {
  const std::string bytes("\x01\x01\x05\x06\x00\x01\x01w\x02\x09\x01\x07\x08\x01\x02\x01w\x04", 18);
  auto entry = DecodeLockEntry(bytes);
  ASSERT_TRUE(entry);
  entry->CutEnds(BootTime(microseconds(-10'000'000)));
  const auto parties = entry->Parties(BootTime(microseconds(0)));
  ASSERT_EQ(parties.size(), 2u);
  EXPECT_EQ(parties[0].fence, (Fence{2, 9}));
  EXPECT_EQ(parties[1].mode, LockMode::kShared);
  EXPECT_EQ(EncodeLockEntry(*entry).front(), 3);
}

// Two that hold together, asked back one of them, and one that waits.
LockEntry Counted() {
  LockEntry entry;
  LockEntry::Turns turns;
  for (const uint64_t attempt : {1, 2, 3}) {
    AcquireRequest request = RequestOf(attempt, LockMode::kCounted);
    request.token.process = 5;
    request.limit = 2;
    request.who = "w";
    entry.Request(request, {2, attempt},
                  BootTime(microseconds(1)) - milliseconds(attempt == 3 ? 2'000 : 1'000), turns, 4);
  }
  return entry;
}

// With counted parties. Only a program that knew no leases wrote this form.
const std::string& VersionTwo() {
  static const std::string bytes(
      "\x02\x02\x05\x01\x04\x01\x01w\x02\x01\x05\x02\x04\x01\x01w\x02\x02"
      "\x01\x05\x03\x04\x01\x01w\x04\x02",
      27);
  return bytes;
}

TEST(LockEntryCodec, VersionTwoIsReadAsItWasWritten) {
  auto entry = DecodeLockEntry(VersionTwo());
  ASSERT_TRUE(entry);
  const auto parties = entry->Parties(BootTime(microseconds(0)));
  ASSERT_EQ(parties.size(), 3u);
  EXPECT_EQ(parties[0].mode, LockMode::kCounted);
  EXPECT_EQ(parties[2].mode, LockMode::kCounted);
  LockEntry::Turns turns;
  EXPECT_FALSE(entry->MyTurn({5, 3}, BootTime(microseconds(0)))) << "its limit came along";
  EXPECT_EQ(entry->Free({5, 1}, BootTime(microseconds(0)), turns), Freed::kYes);
  EXPECT_EQ(turns, (LockEntry::Turns{{5, 3}}));
}

TEST(LockEntryCodec, WhatCannotBeCountedIsRefused) {
  const std::string& good = VersionTwo();
  const auto with = [&](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return DecodeLockEntry(bytes).has_value();
  };
  EXPECT_TRUE(with(4, 6)) << "asked back";
  EXPECT_FALSE(with(0, 1)) << "a flag that version 1 does not know";
  EXPECT_FALSE(with(4, 5)) << "shared, too";
  EXPECT_FALSE(with(4, 1)) << "a reader beside a counted one";
  EXPECT_FALSE(with(4, 0)) << "a writer beside a counted one";
  EXPECT_FALSE(with(21, 6)) << "one that waits is not asked back";
  const std::string most = good.substr(0, 26) + "\xe8\x07";
  EXPECT_TRUE(DecodeLockEntry(most)) << "1,000";
  EXPECT_FALSE(DecodeLockEntry(good.substr(0, 26) + "\xe9\x07"));
  for (size_t length = 1; length < good.size(); length++) {
    EXPECT_FALSE(DecodeLockEntry(good.substr(0, length))) << length;
  }
}

TEST(LockEntryCodec, EachCutIsRefused) {
  const std::string bytes = EncodeLockEntry(Busy());
  for (size_t length = 1; length < bytes.size(); length++) {
    EXPECT_FALSE(DecodeLockEntry(bytes.substr(0, length))) << length;
  }
  EXPECT_FALSE(DecodeLockEntry(bytes + '\0')) << "and so is more";
}

TEST(LockEntryCodec, WhatNoEncoderWritesIsRefused) {
  const std::string good = EncodeLockEntry(Busy());
  std::string version = good;
  version[0] = 4;
  EXPECT_FALSE(DecodeLockEntry(version));
  EXPECT_FALSE(DecodeLockEntry(std::string("\x01\x00\x00", 3))) << "an idle one has no bytes";
  const std::string holder("\x05\x06\x00\x01\x01w\x02\x09", 8);
  const std::string one = std::string("\x01\x01", 2) + holder + std::string(1, '\0');
  EXPECT_TRUE(DecodeLockEntry(one));
  const std::string two = std::string("\x01\x02", 2) + holder + holder + std::string(1, '\0');
  EXPECT_FALSE(DecodeLockEntry(two)) << "two writers";
  std::string flags = one;
  flags[4] = 4;
  EXPECT_FALSE(DecodeLockEntry(flags)) << "a flag that nobody knows";
  const std::string many("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
  EXPECT_FALSE(DecodeLockEntry(many)) << "more holders than bytes";
}

TEST(LockEntryCodec, AnyBytesGiveAnEntryOrNone) {
  std::mt19937 random{7};
  const std::string plain = EncodeLockEntry(Busy());
  const std::string counted = EncodeLockEntry(Counted());
  for (int i = 0; i < 40'000; i++) {
    std::string bytes = i % 2 == 0 ? plain : counted;
    for (unsigned flips = 1 + random() % 4; flips > 0; flips--) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (const auto entry = DecodeLockEntry(bytes)) {
      EXPECT_TRUE(DecodeLockEntry(EncodeLockEntry(*entry)));
    }
  }
}

}  // namespace
}  // namespace oncemq
