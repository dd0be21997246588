// SPDX-License-Identifier: Apache-2.0
// The life of an operation, over each window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "gate_engines.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr milliseconds kLease = milliseconds(10'000);
constexpr milliseconds kAMoment(1'000);

INSTANTIATE_TEST_SUITE_P(Over, GateTest, ::testing::ValuesIn(GateEngines()), NameOf);

std::string TextIn(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_P(GateTest, AnOperationIsPermittedOnceAndItsCopiesGetItsResult) {
  Open();
  PreAnswer first = Pre("a");
  ASSERT_EQ(first.state, PreState::kPermitted);
  EXPECT_THAT(first.ref, MatchesRegex("test/[0-9a-f]+"));
  const auto& ref = first.ticket.ref();
  EXPECT_FALSE(first.ticket.uncertain());
  EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  ASSERT_TRUE(first.ticket.Final("receipt 17"));
  EXPECT_EQ(ref, first.ref) << "it outlives its ticket's word";
  EXPECT_EQ(first.ticket.ref(), "");
  const PreAnswer copy = Pre("a");
  EXPECT_EQ(copy.state, PreState::kDuplicate);
  EXPECT_TRUE(copy.has_result);
  EXPECT_EQ(copy.result, "receipt 17");
  EXPECT_EQ(copy.ref, first.ref);
  EXPECT_FALSE(copy.safe_new_key);
  EXPECT_EQ(Pre("b").state, PreState::kPermitted);
}

TEST_P(GateTest, WithoutAKeyTheContentsAreTheKey) {
  Open();
  PreAnswer first = gate().Pre(Contents::OfFields({{"order", "17"}, {"cents", 1250}}));
  ASSERT_EQ(first.state, PreState::kPermitted);
  ASSERT_TRUE(first.ticket.Final());
  EXPECT_EQ(gate().Pre(Contents::OfFields({{"cents", 1250.0}, {"order", "17"}})).state,
            PreState::kDuplicate);
  EXPECT_EQ(gate().Pre(Contents::OfFields({{"order", "17"}, {"cents", 1251}})).state,
            PreState::kPermitted);
}

TEST_P(GateTest, OtherContentsUnderAKeyAreAConflictBeforeAndAfterItsEnd) {
  Open();
  PreAnswer first = Pre("a");
  for (int i = 0; i < 2; i++) {
    const PreAnswer other = Pre("a", Contents::OfBytes("another order"));
    EXPECT_EQ(other.state, PreState::kConflict);
    EXPECT_FALSE(other.policy_changed);
    EXPECT_TRUE(other.safe_new_key);
    if (first.ticket) {
      ASSERT_TRUE(first.ticket.Final());
    }
  }
  EXPECT_EQ(Pre("a").state, PreState::kDuplicate);
}

TEST_P(GateTest, AFailureFreesTheOperationAtOnce) {
  Open();
  ASSERT_TRUE(Pre("a").ticket.Fail());
  PreAnswer again = Pre("a");
  EXPECT_EQ(again.state, PreState::kPermitted);
  EXPECT_FALSE(again.ticket.uncertain());
}

TEST_P(GateTest, ATicketWithoutAWordCountsAsFailed) {
  Open();
  static_cast<void>(Pre("a"));
  EXPECT_EQ(Pre("a").state, PreState::kPermitted);
  EXPECT_EQ(gate().counts().dropped, 2u);
}

TEST_P(GateTest, AHeartbeatKeepsAnOperationBeyondItsLease) {
  Open();
  PreAnswer first = Pre("a");
  for (int i = 0; i < 3; i++) {
    Advance(kLease - kAMoment);
    ASSERT_TRUE(first.ticket.Renew());
  }
  Advance(kLease - kAMoment);
  EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  ASSERT_TRUE(first.ticket.Final("receipt"));
  EXPECT_EQ(Pre("a").result, "receipt");
}

// The longest lease of the windows is ten minutes.
TEST_P(GateTest, AHeartbeatBringsALeaseOfItsOwn) {
  constexpr milliseconds kHour = std::chrono::hours(1);
  Open();
  PreAnswer first = Pre("a");
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(first.ticket.Renew(kHour));
    Advance(kHour - kAMoment);
    EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  }
  Advance(kAMoment + kAMoment);
  EXPECT_EQ(Pre("a").state, PreState::kUncertain);
  EXPECT_EQ(first.ticket.Renew().error().code, Code::kFenced);
  EXPECT_TRUE(first.ticket.Final("late")) << "nobody else had it";
  EXPECT_EQ(Pre("a").result, "late");
}

TEST_P(GateTest, AHeartbeatOfAHolderThatIsOvertakenIsRefused) {
  Open(Level::kGuarded);
  PreAnswer first = Pre("a");
  Advance(kLease + kAMoment);
  PreAnswer next = Pre("a");
  ASSERT_EQ(next.state, PreState::kPermitted);
  EXPECT_EQ(first.ticket.Renew().error().code, Code::kFenced);
  EXPECT_TRUE(first.ticket) << "its word is still to come";
  ASSERT_TRUE(next.ticket.Renew());
  ASSERT_TRUE(next.ticket.Final());
  EXPECT_EQ(next.ticket.Renew().error().code, Code::kInvalid);
  EXPECT_EQ(first.ticket.Final().error().code, Code::kFenced);
}

// The riskiest of all rules: an effect that may have happened is never free.
TEST_P(GateTest, WhereSilenceIsUncertainNothingIsFreedByIt) {
  GateOptions options = Usual();
  options.dropped = GateOptions::Dropped::kUncertain;
  Open(Level::kOpaque, options);
  const std::string ref = Pre("a").ref;
  EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  EXPECT_FALSE(gate().Show(ref)->uncertain);
  Advance(kLease + kAMoment);
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(gate().Show(ref)->uncertain) << "also before anybody has asked for it again";
    const PreAnswer told = Pre("a");
    EXPECT_EQ(told.state, PreState::kUncertain);
    EXPECT_FALSE(told.safe_new_key);
  }
  EXPECT_EQ(gate().counts().permitted, 1u);
}

TEST_P(GateTest, AtTheLevelGuardedTheTargetTellsSoSilenceEndsWithTheLease) {
  GateOptions options = Usual();
  options.dropped = GateOptions::Dropped::kUncertain;
  Open(Level::kGuarded, options);
  static_cast<void>(Pre("a"));
  EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  Advance(kLease + kAMoment);
  PreAnswer next = Pre("a");
  EXPECT_EQ(next.state, PreState::kPermitted);
  EXPECT_FALSE(next.ticket.uncertain());
}

TEST_P(GateTest, ByOptionAnUncertainOperationIsPermittedAndSaysSo) {
  GateOptions options = Usual();
  options.uncertain = GateOptions::Uncertain::kPermit;
  Open(Level::kOpaque, options);
  ASSERT_TRUE(Pre("a").ticket.Unsure());
  PreAnswer next = Pre("a");
  ASSERT_EQ(next.state, PreState::kPermitted);
  EXPECT_TRUE(next.ticket.uncertain());
  ASSERT_TRUE(next.ticket.Fail());
  EXPECT_TRUE(Pre("a").ticket.uncertain()) << "that attempt did nothing; the first one may have";
}

TEST_P(GateTest, AHolderThatIsOvertakenIsTold) {
  Open(Level::kGuarded);
  PreAnswer slow = Pre("a");
  Advance(kLease + kAMoment);
  PreAnswer next = Pre("a");
  ASSERT_EQ(next.state, PreState::kPermitted);
  const Status late = slow.ticket.Final("late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kFenced);
  EXPECT_FALSE(static_cast<bool>(slow.ticket));
  ASSERT_TRUE(next.ticket.Final("in time"));
  EXPECT_EQ(Pre("a").result, "in time");
  EXPECT_EQ(gate().counts().overtaken, 1u);
}

TEST_P(GateTest, ALateFinalIsKeptWhereNobodyElseCame) {
  Open();
  PreAnswer slow = Pre("a");
  Advance(kLease + kAMoment);
  EXPECT_TRUE(slow.ticket.Final("late"));
  EXPECT_EQ(Pre("a").result, "late");
}

// The outcome that only the holder knows is not lost to a copy that asked meanwhile.
TEST_P(GateTest, ALateFinalIsKeptWhereACopyWasToldThatItIsUncertain) {
  Open();
  PreAnswer slow = Pre("a");
  Advance(kLease + kAMoment);
  EXPECT_EQ(Pre("a").state, PreState::kUncertain);
  EXPECT_TRUE(slow.ticket.Final("late"));
  EXPECT_EQ(Pre("a").result, "late");
}

TEST_P(GateTest, AnOperationIsKnownAsLongAsItsRetentionSays) {
  GateOptions options = Usual();
  options.retention = Retention::For(std::chrono::hours(24 * 30));  // longer than the window's own
  Open(Level::kOpaque, options);
  Run("a", "r");
  Advance(std::chrono::hours(24 * 30) - kAMoment);
  EXPECT_EQ(Pre("a").state, PreState::kDuplicate);
  Advance(2 * kAMoment);
  EXPECT_EQ(Pre("a").state, PreState::kPermitted);
}

// Those of the original system.
TEST_P(GateTest, TheDefaultsAreThoseOfTheOriginal) {
  const GateOptions defaults;
  EXPECT_EQ(defaults.lease, std::chrono::seconds(3'600));
  EXPECT_EQ(defaults.retention.Keep({}), std::chrono::seconds(604'800));
  EXPECT_EQ(defaults.within, milliseconds(200));
  EXPECT_EQ(defaults.fault, GateOptions::Fault::kReturnError);
  EXPECT_EQ(defaults.dropped, GateOptions::Dropped::kFailed);
  GateOptions options = Usual();
  options.retention = defaults.retention;
  Open(Level::kOpaque, options);
  Run("a", "r");
  Advance(std::chrono::seconds(604'800) - kAMoment);
  EXPECT_EQ(Pre("a").result, "r");
  Advance(2 * kAMoment);
  EXPECT_EQ(Pre("a").state, PreState::kPermitted);
}

// The longest lease of the window itself is 10 minutes.
TEST_P(GateTest, AnHourIsTheLeaseOfAnOperation) {
  GateOptions options = Usual();
  options.lease = GateOptions().lease;
  Open(Level::kGuarded, options);
  PreAnswer first = Pre("a");
  Advance(std::chrono::hours(1) - kAMoment);
  EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  Advance(2 * kAMoment);
  PreAnswer next = Pre("a");
  EXPECT_EQ(next.state, PreState::kPermitted);
  EXPECT_EQ(first.ticket.Final("late").error().code, Code::kFenced);
}

TEST_P(GateTest, ItMayBeKnownUntilAMoment) {
  GateOptions options = Usual();
  options.retention =
      Retention::Until({clock_.Wall().micros + microseconds(std::chrono::hours(1)).count()});
  Open(Level::kOpaque, options);
  Advance(std::chrono::minutes(30));
  Run("a", "r");
  Advance(std::chrono::minutes(29));
  EXPECT_EQ(Pre("a").state, PreState::kDuplicate);
  Advance(std::chrono::minutes(2));
  EXPECT_EQ(Pre("a").state, PreState::kPermitted);
}

TEST_P(GateTest, WithoutRetentionOnlyCopiesBesideItAreHeldBack) {
  GateOptions options = Usual();
  options.retention = Retention::None();
  Open(Level::kOpaque, options);
  PreAnswer first = Pre("a");
  EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  ASSERT_TRUE(first.ticket.Final());
  Advance(2 * options.within);
  EXPECT_EQ(Pre("a").state, PreState::kPermitted);
}

TEST_P(GateTest, ForEverIsForEverOrRefused) {
  GateOptions options = Usual();
  options.retention = Retention::Forever();
  if (!GetParam().outlives_process) {
    const auto refused = Gate::Open(GetParam().open(Level::kOpaque, 0), options);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("nothing is kept for ever"));
    return;
  }
  Open(Level::kOpaque, options);
  Run("a", "r");
  Advance(std::chrono::hours(24 * 3'650));
  EXPECT_EQ(Pre("a").state, PreState::kDuplicate);
}

TEST_P(GateTest, ATimeThatNoWindowTakesIsRefusedAtTheStart) {
  constexpr milliseconds kCentury = std::chrono::hours(24 * 36'500);
  Open();
  const auto opens = [&](auto set) {
    GateOptions options = Usual();
    set(options);
    return Gate::Open(window(), options, clock_).has_value();
  };
  const auto more = kCentury + milliseconds(1);
  EXPECT_FALSE(opens([&](GateOptions& one) { one.retention = Retention::For(more); }));
  EXPECT_FALSE(opens([&](GateOptions& one) { one.keep_result = more; }));
  EXPECT_FALSE(opens([](GateOptions& one) { one.lease = std::chrono::hours(24 * 366); }));
  EXPECT_TRUE(opens([](GateOptions& one) { one.lease = std::chrono::hours(24 * 365); }));
  GateOptions longest = Usual();
  longest.retention = Retention::For(kCentury);
  longest.keep_result = kForEver;
  Open(Level::kOpaque, longest);
  Run("a", "r");
  EXPECT_EQ(Pre("a").result, "r");
  EXPECT_EQ(Retention::Until({INT64_MAX}).Keep({}), kForEver);
  EXPECT_EQ(Retention::Until({INT64_MAX}).Keep({INT64_MIN}), kForEver);
}

TEST_P(GateTest, AnOperatorSaysThatAnUncertainOperationHasHappened) {
  Open();
  PreAnswer first = Pre("a");
  const std::string ref = first.ref;
  ASSERT_TRUE(first.ticket.Unsure());
  EXPECT_TRUE(gate().Show(ref)->uncertain);
  ASSERT_TRUE(gate().Resolve(ref, Gate::Outcome::kApplied, "it is in the bank's statement"));
  const PreAnswer copy = Pre("a");
  EXPECT_EQ(copy.state, PreState::kDuplicate);
  EXPECT_FALSE(copy.has_result);
  EXPECT_EQ(gate().Show(ref)->state, MarkerState::kDone);
}

TEST_P(GateTest, AnOperatorSaysThatItHasNot) {
  Open();
  PreAnswer first = Pre("a");
  const std::string ref = first.ref;
  ASSERT_TRUE(first.ticket.Unsure());
  ASSERT_TRUE(gate().Resolve(ref, Gate::Outcome::kNotApplied, "the bank knows nothing of it"));
  Advance(kAMoment);
  PreAnswer next = Pre("a");
  ASSERT_EQ(next.state, PreState::kPermitted);
  EXPECT_FALSE(next.ticket.uncertain());
}

TEST_P(GateTest, ARefThatNoGateMadeIsNeitherShownNorResolved) {
  Open();
  const std::string ref = Pre("a").ref;
  for (const std::string& wrong : {std::string("shop/abc"), ref.substr(0, ref.size() - 1)}) {
    const auto shown = gate().Show(wrong);
    ASSERT_FALSE(shown.has_value()) << wrong;
    EXPECT_EQ(shown.error().code, Code::kInvalid);
    EXPECT_EQ(gate().Resolve(wrong, Gate::Outcome::kApplied, "why").error().code, Code::kInvalid);
  }
}

TEST_P(GateTest, OnlyAnOperationWithoutAnOutcomeIsResolved) {
  Open();
  PreAnswer held = Pre("held");
  EXPECT_EQ(gate().Resolve(held.ref, Gate::Outcome::kApplied, "why").error().code,
            Code::kUnavailable);
  ASSERT_TRUE(held.ticket.Final("r"));
  EXPECT_EQ(gate().Resolve(held.ref, Gate::Outcome::kNotApplied, "why").error().code,
            Code::kInvalid);
  const std::string unknown = "test/" + std::string(64, '0');
  EXPECT_EQ(gate().Resolve(unknown, Gate::Outcome::kApplied, "why").error().code, Code::kNotFound);
  EXPECT_EQ(gate().Show(unknown)->state, MarkerState::kNone);
  EXPECT_EQ(gate().Resolve(held.ref, Gate::Outcome::kApplied, "").error().code, Code::kInvalid);
  EXPECT_EQ(Pre("held").result, "r");
}

// Of the same window, and of no gate: an operator's slip must not end it.
TEST_P(GateTest, AnIdThatIsNoOperationIsNotResolved) {
  Open();
  const std::string digits(64, 'a');
  for (const std::string& id : {std::string("order-17"), digits, "/" + digits, "Test/" + digits,
                                "test/" + digits + "a", "test/A" + digits.substr(1)}) {
    const ClaimRequest claim{id, {1, 1}};
    ClaimAnswer claimed;
    ASSERT_TRUE(window()->Claim({&claim, 1}, {&claimed, 1}));
    const ReleaseRequest unsure{id, {1, 1}, true};
    MarkerChange change{};
    ASSERT_TRUE(window()->Release({&unsure, 1}, {&change, 1}));
    const Status resolved = gate().Resolve(id, Gate::Outcome::kApplied, "why");
    ASSERT_FALSE(resolved) << id;
    EXPECT_EQ(resolved.error().code, Code::kInvalid);
  }
}

TEST_P(GateTest, AnOperatorsWordLeavesATraceOrIsNotTaken) {
  const TempDir dir;
  GateOptions options = Usual();
  options.audit_file = dir.path() / "audit";
  Open(Level::kOpaque, options);
  PreAnswer first = Pre("a");
  ASSERT_TRUE(first.ticket.Unsure());
  ASSERT_TRUE(gate().Resolve(first.ref, Gate::Outcome::kApplied, "said \"yes\"\n"));
  const std::string text = TextIn(options.audit_file);
  EXPECT_THAT(text,
              HasSubstr("\"ref\":\"" + first.ref +
                        "\",\"outcome\":\"applied\",\"why\":\"said \\u0022yes\\u0022\\u000a\","
                        "\"result\":\"begins\"}\n"));
  EXPECT_THAT(text, HasSubstr("\"result\":\"resolved\"}\n"));
  options.audit_file = dir.path() / "nowhere" / "audit";
  const auto untraced = Another(options);
  PreAnswer second = Pre("b");
  ASSERT_TRUE(second.ticket.Unsure());
  EXPECT_FALSE(untraced->Resolve(second.ref, Gate::Outcome::kApplied, "why"));
  EXPECT_EQ(Pre("b").state, PreState::kUncertain);
}

TEST_P(GateTest, WhatIsNoOperationIsRefused) {
  Open();
  EXPECT_EQ(gate().Pre(Contents()).error.code, Code::kInvalid);
  EXPECT_EQ(Pre(std::string(2'000, 'k')).error.code, Code::kInvalid);
  EXPECT_EQ(gate().Pre({}, {.key = "k", .earlier = {{}}}).error.code, Code::kInvalid);
  EXPECT_EQ(gate().Pre({}, {.key = "k"}).state, PreState::kPermitted) << "named by its key alone";
}

TEST_P(GateTest, AUsedTicketSaysSo) {
  Open();
  PreAnswer first = Pre("a");
  Ticket ticket = std::move(first.ticket);
  ASSERT_TRUE(ticket.Final());
  EXPECT_EQ(ticket.Final().error().code, Code::kInvalid);
  EXPECT_EQ(ticket.Fail().error().code, Code::kInvalid);
  EXPECT_EQ(first.ticket.Unsure().error().code, Code::kInvalid);
}

TEST_P(GateTest, ATicketOutlivesItsGate) {
  Open();
  PreAnswer first = Pre("a");
  const auto other = Another(Usual());
  Open();  // the first gate is gone
  ASSERT_TRUE(first.ticket.Final("r"));
  EXPECT_EQ(other->Pre(Contents::OfBytes("order"), {.key = "a"}).result, "r");
}

}  // namespace
}  // namespace oncemq::testing
