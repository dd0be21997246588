// SPDX-License-Identifier: Apache-2.0
// What a run's handlers have written: what can be taken back, what it costs, and what is told of a
// sum that cannot be made. The contract of effects is the conformance suite's business.
#include "effect_overlay.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <map>
#include <string>

namespace oncemq {
namespace {

Result<std::optional<std::string>> Nothing(std::string_view) {
  return std::optional<std::string>();
}

std::string Sum(int64_t sum) {
  EffectOverlay overlay(Nothing);
  EXPECT_TRUE(overlay.Add("sum", sum));
  return **overlay.Get("sum");
}

TEST(EffectOverlay, ARowThatOneMessageWritesManyTimesIsRememberedOnce) {
  EffectOverlay overlay(Nothing);
  const std::string row(1 << 20, 'x');
  overlay.Begin();
  ASSERT_TRUE(overlay.Put("row", row));
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (int i = 0; i < 50; i++) {
    ASSERT_TRUE(overlay.Put("row", row));
  }
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd, before + 4 * row.size());
}

TEST(EffectOverlay, HoweverOftenAMessageWroteARowItIsAsBeforeWhenItIsTakenBack) {
  EffectOverlay overlay(Nothing);
  overlay.Begin();
  ASSERT_TRUE(overlay.Put("row", "kept"));
  EXPECT_TRUE(overlay.Keep());
  overlay.Begin();
  ASSERT_TRUE(overlay.Put("row", "first"));
  ASSERT_TRUE(overlay.Delete("row"));
  ASSERT_TRUE(overlay.Add("row", 1));
  ASSERT_TRUE(overlay.Put("other", "new"));
  overlay.Undo();
  EXPECT_EQ(**overlay.Get("row"), "kept");
  EXPECT_FALSE(*overlay.Get("other"));
  ASSERT_TRUE(overlay.Put("row", "again"));
  overlay.Undo();
  EXPECT_EQ(**overlay.Get("row"), "kept");
}

TEST(EffectOverlay, WhyARowCannotBeMadeIsToldWithItsKey) {
  EffectOverlay overlay(Nothing);
  ASSERT_TRUE(overlay.Add("balance", 1));
  const auto text =
      overlay.Rows([](std::string_view) { return Result<std::optional<std::string>>("text"); });
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("`balance`: it is no sum"), std::string::npos)
      << text.error().message;
  const auto large = overlay.Rows(
      [](std::string_view) { return Result<std::optional<std::string>>(Sum(INT64_MAX)); });
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("`balance`: the sum is too large"), std::string::npos)
      << large.error().message;
}

class WatchedRows : public ::testing::Test {
 protected:
  EffectOverlay::Read ReadStore() {
    return [this](std::string_view key) -> Result<std::optional<std::string>> {
      const auto row = store_.find(std::string(key));
      return row == store_.end() ? std::nullopt : std::optional(row->second);
    };
  }
  bool Holds() { return *overlay_.Holds(ReadStore()); }

  std::map<std::string, std::string> store_{{"a", "1"}};
  EffectOverlay overlay_{ReadStore()};
};

TEST_F(WatchedRows, ARunRestsOnEachRowThatItWatches) {
  EXPECT_EQ(*overlay_.Watch("a"), "1");
  EXPECT_EQ(*overlay_.Watch("b"), std::nullopt);
  ASSERT_TRUE(overlay_.Get("c"));
  EXPECT_TRUE(Holds());
  store_["c"] = "of another run";
  EXPECT_TRUE(Holds()) << "it was only read";
  store_["b"] = "of another run";
  EXPECT_FALSE(Holds());
  store_.erase("b");
  EXPECT_TRUE(Holds());
  store_["a"] = "of another run";
  EXPECT_FALSE(Holds());
}

TEST_F(WatchedRows, WhatItWritesItselfIsReadAndChangesNothing) {
  ASSERT_TRUE(overlay_.Watch("a"));
  ASSERT_TRUE(overlay_.Put("a", "mine"));
  EXPECT_EQ(*overlay_.Watch("a"), "mine");
  EXPECT_TRUE(Holds());
}

TEST_F(WatchedRows, TheFirstLookCounts) {
  overlay_.Begin();
  ASSERT_TRUE(overlay_.Watch("a"));
  EXPECT_TRUE(overlay_.Keep());
  store_["a"] = "of another run";
  overlay_.Begin();
  EXPECT_EQ(*overlay_.Watch("a"), "of another run");
  EXPECT_FALSE(Holds()) << "the first message stands on what is gone";
  overlay_.Undo();
  EXPECT_FALSE(Holds());
}

TEST_F(WatchedRows, WhatAMessageWatchedIsNotAskedOnceNothingOfItStays) {
  overlay_.Begin();
  ASSERT_TRUE(overlay_.Watch("a"));
  overlay_.Undo();
  store_["a"] = "of another run";
  EXPECT_TRUE(Holds());
}

TEST_F(WatchedRows, WhatIsWatchedCountsAsBytesOfTheRun) {
  store_["large"] = std::string(kMaxEffectBytes - 10, 'x');
  overlay_.Begin();
  ASSERT_TRUE(overlay_.Watch("large"));
  EXPECT_EQ(overlay_.Put("row", "0123456789").error().code, Code::kFull);
  EXPECT_EQ(overlay_.Watch("another row").error().code, Code::kFull);
  overlay_.Undo();
  EXPECT_TRUE(overlay_.Put("row", "0123456789"));
}

}  // namespace
}  // namespace oncemq
