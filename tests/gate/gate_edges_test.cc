// SPDX-License-Identifier: Apache-2.0
// The edge cases (a) to (f) and (h) to (k) of a gate, over each window. (g) and (l) are of HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "faulty_window.h"
#include "gate_engines.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

constexpr milliseconds kMoment(1'000);

class GateEdges : public GateTest {};
INSTANTIATE_TEST_SUITE_P(Over, GateEdges, ::testing::ValuesIn(GateEngines()), NameOf);

// (a) A loser that waits looks again, by a claim, before it would run.
TEST_P(GateEdges, OfManyCallersAtOnceOneRunsAndAllOthersGetItsResult) {
  Open();
  std::atomic<int> effects{0};
  std::atomic<int> copies{0};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 16; i++) {
    callers.emplace_back([&] {
      PreAnswer pre =
          gate().Pre(Contents::OfBytes("order"), {.key = "a", .wait = milliseconds(60'000)});
      if (pre.state == PreState::kPermitted) {
        effects++;
        EXPECT_TRUE(pre.ticket.Final("receipt"));
      } else {
        copies += pre.result == "receipt" ? 1 : 0;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(effects, 1);
  EXPECT_EQ(copies, 15);
}

// (b) A claim whose answer was lost was never used: surely nothing happened.
TEST_P(GateEdges, ACallThatWasNeverPermittedLeavesNothingUncertain) {
  Open();
  auto faulty = std::make_shared<FaultyWindow>(window());
  GateOptions options = Usual();
  options.within = std::max(window()->capabilities().longest_call, milliseconds(100));
  const auto caller = *Gate::Open(faulty, options);
  faulty->lose_answers = true;
  const PreAnswer lost = caller->Pre({}, {.key = "a"});
  EXPECT_EQ(lost.state, PreState::kError);
  EXPECT_EQ(lost.error.effect, Effect::kUnknown);
  EXPECT_FALSE(lost.safe_new_key) << "an earlier call may have run it";
  EXPECT_EQ(gate().Pre({}, {.key = "a"}).state, PreState::kInProgress) << "it is on record";
  faulty->lose_answers = false;
  PreAnswer again = caller->Pre({}, {.key = "a"});
  EXPECT_EQ(again.state, PreState::kPermitted);
  EXPECT_FALSE(again.ticket.uncertain());
}

// (b) Nobody can tell an end before the effect from one after it: told at opaque, as an upper
// bound; not at guarded, where the target tells.
TEST_P(GateEdges, AHolderThatIsGoneIsUncertainWhereNobodyCanCheck) {
  GateOptions options = Usual();
  options.dropped = GateOptions::Dropped::kUncertain;
  for (const Level level : {Level::kGuarded, Level::kOpaque}) {
    Open(level, options);
    static_cast<void>(Pre("a"));
    Advance(options.lease + kMoment);
    EXPECT_EQ(Pre("a").state,
              level == Level::kOpaque ? PreState::kUncertain : PreState::kPermitted);
  }
}

// (c)
TEST_P(GateEdges, AResultThatIsTooLargeIsNotStoredAndNothingRunsAgain) {
  Open();
  Run("a", std::string(window()->capabilities().max_result_bytes, 'r'));
  const PreAnswer copy = Pre("a");
  EXPECT_EQ(copy.state, PreState::kDuplicate);
  EXPECT_FALSE(copy.has_result);
  EXPECT_EQ(copy.result, "");
}

// (d)
TEST_P(GateEdges, AResultMayEndBeforeItsKey) {
  GateOptions options = Usual();
  options.keep_result = std::chrono::hours(1);
  Open(Level::kOpaque, options);
  Run("a", "receipt");
  Advance(std::chrono::hours(1) - kMoment);
  EXPECT_EQ(Pre("a").result, "receipt");
  Advance(2 * kMoment);
  const PreAnswer copy = Pre("a");
  EXPECT_EQ(copy.state, PreState::kDuplicate);
  EXPECT_FALSE(copy.has_result);
}

// (e)
TEST_P(GateEdges, TwoKeysForOneOperationAreToldAndNotStopped) {
  Open();
  const auto pre = [&](std::string_view key, std::string_view contents) {
    return gate().Pre(Contents::OfBytes(contents), {.key = key, .find_twins = true});
  };
  PreAnswer first = pre("a", "order");
  EXPECT_EQ(first.twin, "");
  PreAnswer beside = pre("b", "order");
  EXPECT_EQ(beside.state, PreState::kPermitted);
  EXPECT_NE(beside.twin, "") << "while it runs";
  ASSERT_TRUE(first.ticket.Final("r"));
  PreAnswer later = pre("c", "order");
  EXPECT_EQ(later.twin, first.ref);
  EXPECT_EQ(pre("a", "order").twin, "") << "its own copy is no twin";
  EXPECT_EQ(pre("d", "another order").twin, "");
  EXPECT_EQ(gate().counts().twins, 2u);
}

TEST_P(GateEdges, AFailureFreesTheIndexOfItsContentsToo) {
  Open();
  const PreOptions with_twins{.key = "a", .find_twins = true};
  ASSERT_TRUE(gate().Pre(Contents::OfBytes("order"), with_twins).ticket.Fail());
  EXPECT_EQ(gate().Pre(Contents::OfBytes("order"), {.key = "b", .find_twins = true}).twin, "");
}

// (f)
TEST_P(GateEdges, AKeyIsOfItsScopeAlone) {
  Open();
  const auto pre = [&](std::vector<std::string_view> scope) {
    return gate().Pre(Contents::OfBytes("order"), {.key = "a", .scope = std::move(scope)});
  };
  std::vector<PreAnswer> all;
  for (const std::vector<std::string_view>& scope :
       {std::vector<std::string_view>{"tenant", "POST /orders"},
        std::vector<std::string_view>{"other", "POST /orders"},
        std::vector<std::string_view>{"tenant", "POST /refunds"},
        std::vector<std::string_view>{"tenantPOST /orders"},
        std::vector<std::string_view>{"tenant", "", "POST /orders"}}) {
    all.push_back(pre(scope));
    EXPECT_EQ(all.back().state, PreState::kPermitted);
  }
  EXPECT_EQ(pre({"tenant", "POST /orders"}).state, PreState::kInProgress);
  GateOptions other = Usual();
  other.application = "another";
  EXPECT_EQ(Another(other)->Pre(Contents::OfBytes("order"), {.key = "a"}).state,
            PreState::kPermitted);
}

// (h)
TEST_P(GateEdges, AWindowOfEachProcessIsNoStandInForOneThatIsSharedOrDurable) {
  Open();
  GateOptions options = Usual();
  options.fault = GateOptions::Fault::kNextEngine;
  options.next = GateEngines().front().open(Level::kOpaque, 0);  // in memory
  const auto opened = Gate::Open(window(), options);
  EXPECT_EQ(opened.has_value(), !GetParam().outlives_process);
  if (!opened) {
    EXPECT_THAT(opened.error().message, HasSubstr("shared and durable where the first is"));
  }
}

// (i)
TEST_P(GateEdges, ACallerThatGivesUpWaitingLeavesTheOperationToItsRunner) {
  Open();
  PreAnswer runner = Pre("a");
  EXPECT_EQ(gate().Pre(Contents::OfBytes("order"), {.key = "a", .wait = milliseconds(20)}).state,
            PreState::kInProgress);
  ASSERT_TRUE(runner.ticket.Final("r"));
  EXPECT_EQ(Pre("a").result, "r");
}

TEST_P(GateEdges, ACallerThatWaitsForEverGetsTheOutcome) {
  Open();
  auto faulty = std::make_shared<FaultyWindow>(window());
  const auto caller = *Gate::Open(faulty, Usual());
  PreAnswer runner = Pre("a");
  faulty->after_claim = [&](Status&) {
    if (faulty->claims == 1) {  // the caller was told to wait
      EXPECT_TRUE(runner.ticket.Final("r"));
    }
  };
  EXPECT_EQ(caller->Pre(Contents::OfBytes("order"), {.key = "a", .wait = kForEver}).result, "r");
}

// (j)
TEST_P(GateEdges, OrderOfFieldsAndSpellingOfNumbersMakeNoConflict) {
  Open();
  PreAnswer first =
      Pre("a", Contents::OfFields({{"cents", 10.0}, {"rate", 0.1}, {"account", "17"}}));
  ASSERT_TRUE(first.ticket.Final("r"));
  EXPECT_EQ(Pre("a", Contents::OfFields({{"account", "17"}, {"rate", 1e-1}, {"cents", 10}})).state,
            PreState::kDuplicate);
  EXPECT_EQ(Pre("a", Contents::OfFields({{"account", "17"}, {"rate", 0.2}, {"cents", 10}})).state,
            PreState::kConflict);
}

// (k) A new version makes contents in another way.
TEST_P(GateEdges, ARecordIsComparedUnderTheRecipeThatMadeIt) {
  Open();
  PreAnswer running = Pre("running", Contents::OfBytes("v1 order"));
  PreAnswer finished = Pre("finished", Contents::OfBytes("v1 order"));
  ASSERT_TRUE(finished.ticket.Final("r"));
  GateOptions options = Usual();
  options.recipe = 2;
  const auto second = Another(options);
  const auto pre = [&](std::string_view key, std::vector<EarlierContents> earlier) {
    return second->Pre(Contents::OfBytes("v2 order"), {.key = key, .earlier = std::move(earlier)});
  };
  const std::vector<EarlierContents> first{{1, Contents::OfBytes("v1 order")}};
  EXPECT_EQ(pre("finished", first).result, "r");
  EXPECT_EQ(pre("running", first).state, PreState::kInProgress);
  EXPECT_EQ(pre("finished", {{1, Contents::OfBytes("v1 other")}}).state, PreState::kConflict);
  EXPECT_FALSE(pre("finished", {{1, Contents::OfBytes("v1 other")}}).policy_changed);
  for (const char* key : {"finished", "running"}) {
    const PreAnswer unknown = pre(key, {});
    EXPECT_EQ(unknown.state, PreState::kConflict);
    EXPECT_TRUE(unknown.policy_changed);
    EXPECT_FALSE(unknown.safe_new_key);
  }
  EXPECT_EQ(Pre("finished", Contents::OfBytes("v1 order")).result, "r") << "nothing was changed";
  ASSERT_TRUE(running.ticket.Final("late"));
  EXPECT_EQ(pre("running", first).result, "late");
}

}  // namespace
}  // namespace oncemq::testing
