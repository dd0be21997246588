// SPDX-License-Identifier: Apache-2.0
#include "effect_sink.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lock_calls.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

TEST(EffectSink, AFenceIsInstalledBeforeItsHolderReads) {
  const TempDir dir;
  const EffectSink sink(dir.path());
  const auto former = sink.Begin("x", {0, 1});
  const auto later = sink.Begin("x", {0, 2});
  ASSERT_TRUE(former && later);
  EXPECT_FALSE(sink.Write("x", {0, 1}, *former + 1)) << "a later holder has read";
  EXPECT_TRUE(sink.Write("x", {0, 2}, *later + 1));
  EXPECT_FALSE(sink.Begin("x", {0, 1}));
  EXPECT_EQ(sink.Begin("x", {1, 0}), 1u);
  EXPECT_EQ(sink.Begin("y", {0, 1}), 0u);
  const std::vector<EffectLine> ledger = ReadLedger(sink.ledger());
  EXPECT_EQ(ledger.size(), 7u);
  EXPECT_EQ(CountRefused(ledger), 2u);
  EXPECT_TRUE(LostUpdates(ledger).empty());
  EXPECT_TRUE(FencesPassedOver(ledger).empty());
}

TEST(EffectSink, ATargetThatOnlyRefusesLowerFencesAtTheWriteLosesAnUpdate) {
  // Both have read 0 before either wrote; the former one writes first, so nothing is refused.
  const std::vector<EffectLine> ledger{
      {.name = "x", .fence = {0, 1}, .writes = true, .taken = true, .value = 1},
      {.name = "x", .fence = {0, 2}, .writes = true, .taken = true, .value = 1}};
  EXPECT_EQ(LostUpdates(ledger).size(), 1u);
  EXPECT_TRUE(FencesPassedOver(ledger).empty());
}

TEST(EffectSink, ATargetThatTakesALowerFenceIsSeen) {
  const std::vector<EffectLine> ledger{{.name = "x", .fence = {1, 1}, .taken = true},
                                       {.name = "x", .fence = {0, 9}, .taken = true}};
  EXPECT_EQ(FencesPassedOver(ledger).size(), 1u);
}

TEST(LockCalls, AreReadAsTheyWereWrittenAndStayOpenWithoutAnAnswer) {
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "calls";
  LockCall call{.process = 7,
                .name = "x",
                .token = {1, 2},
                .mode = LockMode::kShared,
                .lease = 5,
                .requested_at = 10};
  const std::string asked = RequestedLine(call, 1);
  LockCall second = call;
  second.requested_at = 5;
  call.answer = LockCall::Answer::kGranted;
  call.answered_at = 12;
  call.fence = {3, 4};
  std::ofstream(file) << asked << RequestedLine(second, 2) << AnsweredLine(call, 1) << "? 7 3 x";
  const std::vector<LockCall> calls = ReadCalls(file);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].answer, LockCall::Answer::kOpen);
  EXPECT_EQ(calls[0].answered_at, LockCall::kNever);
  EXPECT_EQ(ToString(calls[1]), ToString(call));
  EXPECT_EQ(calls[1].lease, 5);
}

}  // namespace
}  // namespace oncemq::testing
