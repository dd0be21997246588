// SPDX-License-Identifier: Apache-2.0
// When the row of a name is locked that others change all the time, seen by the rows.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sql/sql_locks.h"
#include "sql_rows.h"

namespace oncemq::testing {
namespace {

constexpr int kAlways = 1'000'000;

class SqlLockedRounds : public ::testing::Test {
 protected:
  using Kind = LockAnswer::Kind;
  static constexpr milliseconds kLease{30'000};

  // A row for each, which others then change.
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_EQ(Request(name, 1), Kind::kGranted);
    }
    rows_.swaps = 0;
    rows_.answer_within.clear();
  }
  Kind Request(std::string_view name, uint64_t attempt) {
    const auto answer = locks_->Request(
        {.name = name, .token = {7, attempt}, .lease = kLease, .queue_lease = kLease});
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? answer->kind : Kind::kSealed;
  }
  static LockClaim ClaimOf(std::string_view name, uint64_t attempt = 1) {
    return {name, {7, attempt}, 2 * kLease};  // another lease is another state
  }
  Extended Extend(const LockClaim& claim) {
    Extended answer = Extended::kGone;
    EXPECT_TRUE(locks_->Extend({&claim, 1}, {&answer, 1}));
    return answer;
  }
  Freed Free(const LockClaim& claim) {
    Freed answer = Freed::kNotHeld;
    EXPECT_TRUE(locks_->Free({&claim, 1}, {&answer, 1}));
    return answer;
  }

  SqlRows rows_;
  std::shared_ptr<LockEngine> locks_ =
      MakeSqlLocks(std::make_unique<SqlRowsStore>(rows_), {.engine = "test"}, {});
};

TEST_F(SqlLockedRounds, ARenewalThatWasOvertakenOnceLocksItsRow) {
  rows_.overtaken["a"] = kAlways;
  EXPECT_EQ(Extend(ClaimOf("a")), Extended::kYes);
  EXPECT_EQ(rows_.swaps, 1);
  EXPECT_EQ(rows_.locked, std::vector<std::string>{"a"});
  EXPECT_EQ(rows_.sealed, std::vector<bool>{false}) << "a renewal names no epoch";
}

TEST_F(SqlLockedRounds, AReleaseThatWasOvertakenOnceLocksItsRow) {
  rows_.overtaken["a"] = kAlways;
  EXPECT_EQ(Free(ClaimOf("a")), Freed::kYes);
  EXPECT_EQ(rows_.swaps, 1);
  EXPECT_EQ(rows_.locked, std::vector<std::string>{"a"});
  EXPECT_TRUE(locks_->Read("a")->parties.empty());
}

TEST_F(SqlLockedRounds, AnAskThatWasOvertakenTwiceLocksItsRow) {
  rows_.overtaken["a"] = 1;
  EXPECT_EQ(Request("a", 2), Kind::kQueued);
  EXPECT_EQ(rows_.swaps, 2);
  EXPECT_TRUE(rows_.locked.empty());
  rows_.overtaken["a"] = kAlways;
  EXPECT_EQ(Request("a", 3), Kind::kQueued);
  EXPECT_EQ(rows_.swaps, 4);
  EXPECT_EQ(rows_.locked, std::vector<std::string>{"a"});
  EXPECT_EQ(rows_.sealed, std::vector<bool>{true}) << "an ask names its epoch";
  EXPECT_EQ(locks_->Read("a")->parties.size(), 3u);
}

TEST_F(SqlLockedRounds, NamesOfABatchAreLockedOneAfterTheOtherInTheirOrder) {
  rows_.overtaken = {{"a", kAlways}, {"c", kAlways}};
  const std::vector<LockClaim> claims{ClaimOf("c"), ClaimOf("a"), ClaimOf("b")};
  std::vector<Extended> answers(claims.size());
  ASSERT_TRUE(locks_->Extend(claims, answers));
  EXPECT_EQ(answers, std::vector<Extended>(claims.size(), Extended::kYes));
  EXPECT_EQ(rows_.locked, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(rows_.swaps, 1) << "what nobody else changed travelled with the others";
}

TEST_F(SqlLockedRounds, ARowThatOthersHaveLockedIsAskedForAgain) {
  rows_.overtaken["a"] = kAlways;
  rows_.busy = 2;
  EXPECT_EQ(Extend(ClaimOf("a")), Extended::kYes);
  EXPECT_EQ(rows_.locked.size(), 3u);
}

TEST_F(SqlLockedRounds, ANameThatOthersChangeAllTheTimeIsBusy) {
  locks_ = MakeSqlLocks(std::make_unique<SqlRowsStore>(rows_), {.engine = "test"},
                        {.call = milliseconds(20)});
  rows_.overtaken["a"] = kAlways;
  rows_.busy = kAlways;
  const auto answer =
      locks_->Request({.name = "a", .token = {7, 2}, .lease = kLease, .queue_lease = kLease});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kBusy);
  EXPECT_EQ(answer.error().effect, Effect::kNone);
}

// Each of them keeps a connection while it waits, and a renewal that finds none is a lost hold.
TEST_F(SqlLockedRounds, AsksThatLockTheirRowsLeaveConnectionsToHolders) {
  locks_ = MakeSqlLocks(std::make_unique<SqlRowsStore>(rows_), {.engine = "test"},
                        {.max_connections = 3});
  rows_.overtaken = {{"a", kAlways}, {"b", 3}, {"c", kAlways}};
  rows_.in_locked_round = [&] {
    EXPECT_EQ(Request("b", 2), Kind::kQueued);
    EXPECT_EQ(rows_.swaps, 2 + 4) << "it goes on without a lock";
    EXPECT_EQ(Extend(ClaimOf("c")), Extended::kYes);
  };
  EXPECT_EQ(Request("a", 2), Kind::kQueued);
  EXPECT_EQ(rows_.locked, (std::vector<std::string>{"a", "c"}));
  rows_.overtaken["b"] = kAlways;
  EXPECT_EQ(Request("b", 3), Kind::kQueued);
  EXPECT_EQ(rows_.locked.back(), "b") << "the round of the other ask is over";
}

TEST_F(SqlLockedRounds, ANameWithoutARowIsSwapped) {
  rows_.overtaken["new"] = 3;
  EXPECT_EQ(Request("new", 9), Kind::kGranted);
  EXPECT_EQ(rows_.swaps, 4);
}

TEST_F(SqlLockedRounds, ARenewalWaitsForAnAnswerAsLongAsItsClaimsSay) {
  constexpr milliseconds kShort{300};
  rows_.overtaken["a"] = kAlways;
  LockClaim claim = ClaimOf("a");
  claim.answer_within = kShort;
  EXPECT_EQ(Extend(claim), Extended::kYes);
  EXPECT_EQ(rows_.answer_within, (std::vector<milliseconds>{kShort, kShort}));
  ASSERT_EQ(rows_.waits.size(), 1u);
  EXPECT_EQ(rows_.waits[0].answer, kShort);
  EXPECT_LT(rows_.waits[0].row, kShort) << "the server gives up before the client does";
}

}  // namespace
}  // namespace oncemq::testing
