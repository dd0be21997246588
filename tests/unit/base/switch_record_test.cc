// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace oncemq {
namespace {

SwitchRecord Single() {
  return {.epoch = 4, .from = "redis-a", .why = "the first record"};
}

TEST(SwitchRecord, IsReadAsItWasWritten) {
  const SwitchRecord both = *BeginSwitch(Single(), "redis-b", SwitchMode::kBoth, "an upgrade");
  for (const SwitchRecord& record : {Single(), both, *EndSwitch(both, "")}) {
    const auto read = ParseSwitchRecord(Format(record));
    ASSERT_TRUE(read.has_value()) << Format(record);
    EXPECT_EQ(*read, record);
  }
}

TEST(SwitchRecord, WhatIsNotOursIsRefused) {
  const std::string good = Format(*BeginSwitch(Single(), "b", SwitchMode::kDrain, "why"));
  ASSERT_TRUE(ParseSwitchRecord(good).has_value());
  for (size_t cut = 0; cut < good.size(); cut++) {
    EXPECT_FALSE(ParseSwitchRecord(good.substr(0, cut)).has_value()) << cut;
  }
  EXPECT_FALSE(ParseSwitchRecord(good + "more\n").has_value());
  EXPECT_FALSE(ParseSwitchRecord(std::string(100'000, 'x')).has_value());
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    text.replace(text.find(what), what.size(), by);
    return ParseSwitchRecord(text);
  };
  EXPECT_FALSE(with("epoch 5", "epoch 0").has_value());
  EXPECT_FALSE(with("epoch 5", "epoch 4294967296").has_value());
  EXPECT_FALSE(with("epoch 5", "epoch -1").has_value());
  EXPECT_FALSE(with("mode drain", "mode single").has_value()) << "with a target";
  EXPECT_FALSE(with("mode drain", "mode other").has_value());
  EXPECT_FALSE(with("to b", "to redis-a").has_value()) << "from a store to itself";
  EXPECT_FALSE(with("to b", "to B").has_value());
  EXPECT_FALSE(with("longest_ms 30000", "longest_ms 0").has_value());
  EXPECT_FALSE(with("longest_ms 30000", "longest_ms 86400001").has_value());
}

TEST(SwitchRecord, TheReasonIsOneLineOfBoundedLength) {
  const SwitchRecord record = *BeginSwitch(Single(), "b", SwitchMode::kBoth,
                                           "first\nmode single\r" + std::string(900, 'x'));
  EXPECT_EQ(record.why.find('\n'), std::string::npos);
  EXPECT_LE(record.why.size(), 512u);
  EXPECT_EQ(*ParseSwitchRecord(Format(record)), record);
}

TEST(SwitchRecord, EveryStepHasTheNextEpoch) {
  const SwitchRecord both = *BeginSwitch(Single(), "b", SwitchMode::kBoth, "");
  EXPECT_EQ(both.epoch, 5u);
  EXPECT_EQ(EndSwitch(both, "")->epoch, 6u);
  EXPECT_EQ(CallOffSwitch(both, "")->epoch, 6u);
  SwitchRecord last = Single();
  last.epoch = std::numeric_limits<uint32_t>::max();
  EXPECT_FALSE(BeginSwitch(last, "b", SwitchMode::kBoth, "").has_value());
}

TEST(SwitchRecord, OneSwitchAtATimeAndNoneToItself) {
  const SwitchRecord both = *BeginSwitch(Single(), "b", SwitchMode::kBoth, "");
  EXPECT_FALSE(BeginSwitch(both, "c", SwitchMode::kBoth, "").has_value());
  EXPECT_FALSE(BeginSwitch(both, "b", SwitchMode::kDrain, "").has_value());
  EXPECT_FALSE(BeginSwitch(Single(), "redis-a", SwitchMode::kBoth, "").has_value());
  EXPECT_FALSE(BeginSwitch(Single(), "Not A Name", SwitchMode::kBoth, "").has_value());
  EXPECT_FALSE(EndSwitch(Single(), "").has_value());
  EXPECT_FALSE(CallOffSwitch(Single(), "").has_value());
}

TEST(SwitchRecord, InBothTheOldStoreGrantsFirst) {
  const SwitchRecord both = *BeginSwitch(Single(), "b", SwitchMode::kBoth, "");
  EXPECT_EQ(StoresThatGrant(Single(), false), (std::vector<std::string>{"redis-a"}));
  EXPECT_EQ(StoresThatGrant(both, false), (std::vector<std::string>{"redis-a", "b"}));
  EXPECT_EQ(StoresThatGrant(*EndSwitch(both, ""), false), (std::vector<std::string>{"b"}));
  EXPECT_EQ(StoresThatGrant(*CallOffSwitch(both, ""), false),
            (std::vector<std::string>{"redis-a"}));
}

TEST(SwitchRecord, ADrainGrantsToTheFencedOnly) {
  const SwitchRecord drain = *BeginSwitch(Single(), "b", SwitchMode::kDrain, "");
  EXPECT_TRUE(StoresThatGrant(drain, false).empty());
  EXPECT_EQ(StoresThatGrant(drain, true), (std::vector<std::string>{"b"}));
  EXPECT_EQ(HowLongToEnd(drain), milliseconds(40'000)) << "the copies, then the leases";
}

bool HaveAStoreInCommon(const SwitchRecord& one, const SwitchRecord& other) {
  const auto here = StoresThatGrant(one, false);
  const auto there = StoresThatGrant(other, false);
  return here.empty() || there.empty() ||
         std::any_of(here.begin(), here.end(), [&](const std::string& store) {
           return std::find(there.begin(), there.end(), store) != there.end();
         });
}

// Tries each order of so many steps. `acted_by`: all records by which somebody may still act. A
// switch ends when all others than the one that ends are forgotten; no other step waits.
void TryAll(const std::vector<SwitchRecord>& acted_by, int steps) {
  for (const SwitchRecord& earlier : acted_by) {
    ASSERT_TRUE(HaveAStoreInCommon(earlier, acted_by.back()))
        << Format(earlier) << Format(acted_by.back());
  }
  if (steps == 0) {
    return;
  }
  const SwitchRecord& now = acted_by.back();
  std::vector<Result<SwitchRecord>> nexts{CallOffSwitch(now, "")};
  for (const char* to : {"redis-a", "b", "c"}) {
    nexts.push_back(BeginSwitch(now, to, SwitchMode::kBoth, ""));
    nexts.push_back(BeginSwitch(now, to, SwitchMode::kDrain, ""));
  }
  for (const auto& next : nexts) {
    if (next) {
      std::vector<SwitchRecord> all = acted_by;
      all.push_back(*next);
      TryAll(all, steps - 1);
    }
  }
  if (const auto ended = EndSwitch(now, "")) {
    TryAll({now, *ended}, steps - 1);
  }
}

// S5.
TEST(SwitchRecord, RecordsByWhichSomebodyMayActAtATimeHaveAStoreInCommon) {
  TryAll({Single()}, 6);
}

}  // namespace
}  // namespace oncemq
