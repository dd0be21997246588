// SPDX-License-Identifier: Apache-2.0
// Locks in SQL by a clock of the test's own: random histories, in which time passes, are answered
// as by the table that says what every engine does; and what is left of names that nobody holds.
#include <random>

#include "lock_table.h"
#include "sql_fixture.h"

namespace oncemq::testing {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000;
constexpr milliseconds kTableLease{1'000};

class SqlTableTest : public SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    Sql("CREATE TABLE IF NOT EXISTS test_clock (us bigint)");
    Sql("DELETE FROM test_clock");
    Sql("INSERT INTO test_clock VALUES (" + std::to_string(kStart) + ")");
    now_ = BootTime(microseconds(kStart));
    store_ = OpenStore(true);
    locks_ = MakeSqlLocks(OpenStore(true), world_->can(), {.call = milliseconds(10'000)});
  }
  void Pass(microseconds by) {
    now_ += by;
    Sql("UPDATE test_clock SET us = " + std::to_string(now_.time_since_epoch().count()));
  }
  size_t Rows() {
    client();
    return std::stoul(
        One("SELECT count(*) FROM oncemq_locks_v1 WHERE " + Here(), {std::string_view(space_)}));
  }
  Fence Granted(const AcquireRequest& request) {
    const auto answer = locks_->Request(request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    EXPECT_EQ(answer->kind, LockAnswer::Kind::kGranted);
    return answer->fence;
  }
  void Free(const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token};
    Freed freed{};
    EXPECT_TRUE(locks_->Free({&claim, 1}, {&freed, 1}));
    EXPECT_EQ(freed, Freed::kYes);
  }

  BootTime now_;
  std::unique_ptr<SqlStore> store_;
  std::shared_ptr<LockEngine> locks_;
};

class SqlHistoryTest : public SqlTableTest {
 protected:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::string Name() { return names_[Below(2)]; }
  Token SomeToken() { return {7, 1 + Below(9)}; }
  // A repeated request is the same: what it wants goes by its token. More than half are counted.
  static LockMode ModeOf(const Token& token) {
    return token.attempt > 4        ? LockMode::kCounted
           : token.attempt % 3 == 0 ? LockMode::kShared
                                    : LockMode::kExclusive;
  }
  static uint32_t LimitOf(const Token& token) { return token.attempt % 4 + 1; }

  void Request() {
    const Token token = SomeToken();
    const std::string name = Name();
    const AcquireRequest request{.name = name,
                                 .token = token,
                                 .mode = ModeOf(token),
                                 .queue = Below(4) != 0,
                                 .barge = Below(5) == 0,
                                 .lease = kTableLease,
                                 .queue_lease = kTableLease / 2,
                                 .who = "who",
                                 .limit = ModeOf(token) == LockMode::kCounted ? LimitOf(token) : 0};
    const auto said = locks_->Request(request);
    ASSERT_TRUE(said.has_value()) << ToString(said.error());
    LockTable::Turns turns;
    const LockAnswer wanted = table_.Request(request, now_, turns);
    ASSERT_EQ(said->kind, wanted.kind);
    ASSERT_EQ(said->again, wanted.again);
  }
  void Extend() {
    const std::string name = Name();
    const LockClaim claim{name, SomeToken(), kTableLease};
    Extended said{};
    ASSERT_TRUE(locks_->Extend({&claim, 1}, {&said, 1}));
    LockTable::Turns turns;
    ASSERT_EQ(said, table_.Extend(claim, now_, turns));
  }
  // All of them in one call, in any order.
  void FreeSome() {
    const std::string names[] = {Name(), Name()};
    const LockClaim claims[] = {{names[0], SomeToken()}, {names[1], SomeToken()}};
    Freed said[2] = {};
    ASSERT_TRUE(locks_->Free(claims, said));
    for (size_t i = 0; i < 2; i++) {
      LockTable::Turns turns;
      ASSERT_EQ(said[i], table_.Free(claims[i], now_, turns));
    }
  }
  void Recall() {
    const std::string name = Name();
    ASSERT_EQ(*locks_->Recall(name), table_.Recall(name, now_));
  }
  // Fences have other numbers here and there: the first holder of each is meant.
  void Evict() {
    const std::string name = Name();
    const LockView real = *locks_->Read(name);
    const LockView model = table_.Read(name, now_);
    if (!real.parties.empty() && real.parties.front().holds) {
      LockTable::Turns turns;
      ASSERT_EQ(*locks_->Evict(name, real.parties.front().fence),
                table_.Evict(name, model.parties.front().fence, now_, turns));
    }
  }
  void Compare() {
    for (const std::string& name : names_) {
      const LockView real = *locks_->Read(name);
      const LockView model = table_.Read(name, now_);
      ASSERT_EQ(real.parties.size(), model.parties.size());
      for (size_t i = 0; i < real.parties.size(); i++) {
        ASSERT_EQ(real.parties[i].holds, model.parties[i].holds);
        ASSERT_EQ(real.parties[i].mode, model.parties[i].mode);
        ASSERT_EQ(real.parties[i].left, model.parties[i].left);
        ASSERT_EQ(real.parties[i].who, "who");
      }
    }
  }
  void Step() {
    switch (Below(12)) {
      case 0:
        return Extend();
      case 1:
        return Recall();
      case 2:
        return Evict();
      case 3:
      case 4:
      case 5:
        return FreeSome();
      case 6:
      case 7:
        return Pass(microseconds(Below(900'000)));
      default:
        return Request();
    }
  }

  std::mt19937 random_{20'261};
  LockTable table_;
  std::string names_[2];
};

TEST_P(SqlHistoryTest, RandomHistoriesAreAnsweredAsTheTableAnswersThem) {
  for (int history = 0; history < 25; history++) {
    table_ = LockTable();
    names_[0] = "a" + std::to_string(history);
    names_[1] = "b" + std::to_string(history);
    for (int step = 0; step < 60; step++) {
      SCOPED_TRACE("history " + std::to_string(history) + ", step " + std::to_string(step));
      ASSERT_NO_FATAL_FAILURE(Step());
      ASSERT_NO_FATAL_FAILURE(Compare());
    }
  }
}

TEST_P(SqlTableTest, NamesThatWereLockedOnceLeaveNothing) {
  constexpr uint64_t kNames = 600;
  for (uint64_t i = 0; i < kNames; i++) {
    const std::string name = "once/" + std::to_string(i);
    Granted(RequestOf(i, name));
    if (i % 2 == 0) {  // the others die
      Free(RequestOf(i, name));
    }
  }
  EXPECT_EQ(Rows(), kNames) << "kept for a minute";
  Pass(std::chrono::minutes(3));
  for (uint64_t i = 0; i < kNames / 2; i++) {
    const std::string name = "later/" + std::to_string(i);
    Granted(RequestOf(i, name));
  }
  EXPECT_EQ(Rows(), kNames / 2);
}

TEST_P(SqlTableTest, NamesThatWereLockedOnceGoAlsoWhereOnlyKnownOnesAreLockedLater) {
  for (uint64_t i = 0; i < 200; i++) {
    Granted(RequestOf(i, "once/" + std::to_string(i)));
  }
  Pass(std::chrono::minutes(3));
  Granted(RequestOf(1'000, "known"));
  EXPECT_GT(Rows(), 1u);
  for (uint64_t i = 1'001; i < 1'600; i++) {
    Free(RequestOf(i - 1, "known"));
    Granted(RequestOf(i, "known"));
  }
  EXPECT_EQ(Rows(), 1u);
}

TEST_P(SqlTableTest, ASweepLeavesWhatIsHeldOrWasAMinuteAgo) {
  Granted(RequestOf(1, "died"));
  Granted(RequestOf(2, "idle"));
  Free(RequestOf(2, "idle"));
  Pass(std::chrono::seconds(59));
  Granted(RequestOf(3, "held"));
  const auto last = store_->Sweep("");
  ASSERT_TRUE(last.has_value()) << ToString(last.error());
  EXPECT_EQ(*last, "") << "there is no more than one portion";
  EXPECT_EQ(Rows(), 3u);
  Pass(std::chrono::seconds(2));
  ASSERT_TRUE(store_->Sweep(""));
  EXPECT_EQ(Rows(), 2u) << "the idle one goes";
  Pass(std::chrono::minutes(2));
  ASSERT_TRUE(store_->Sweep("a"));
  EXPECT_EQ(Rows(), 0u) << "and the dead ones";
}

TEST_P(SqlTableTest, AFenceIsGreaterThanThoseOfARowThatWasSwept) {
  const Fence first = Granted(RequestOf(1));
  Free(RequestOf(1));
  Pass(std::chrono::seconds(61));
  ASSERT_TRUE(store_->Sweep(""));
  ASSERT_EQ(Rows(), 0u);
  EXPECT_GT(Granted(RequestOf(2)), first);
}

TEST_P(SqlTableTest, AFenceGrowsThoughTheClockStandsOrIsSetBack) {
  Fence last;
  for (uint64_t i = 1; i < 6; i++) {
    const Fence fence = Granted(RequestOf(i));
    EXPECT_GT(fence, last);
    last = fence;
    Free(RequestOf(i));
    Pass(i < 3 ? microseconds(0) : microseconds(-std::chrono::seconds(5)));
  }
}

// A call may have been on its way for as long as it takes at most.
TEST_P(SqlTableTest, WhatDiedLastsForItsLeaseAndACallThoughTheClockIsSetBack) {
  constexpr milliseconds kAtMost = milliseconds(60'000) + milliseconds(10'000);
  Granted(RequestOf(1));
  ASSERT_EQ(locks_->Request(RequestOf(2))->kind, LockAnswer::Kind::kQueued);
  Pass(-std::chrono::hours(1));
  AcquireRequest next = RequestOf(3);
  next.queue_lease = std::chrono::hours(1);
  const auto queued = locks_->Request(next);
  ASSERT_TRUE(queued.has_value()) << ToString(queued.error());
  ASSERT_EQ(queued->kind, LockAnswer::Kind::kQueued);
  EXPECT_EQ(queued->again, kAtMost) << "the place before it";
  Pass(kAtMost - milliseconds(1));
  EXPECT_EQ(locks_->Request(next)->kind, LockAnswer::Kind::kQueued);
  Pass(milliseconds(1));
  Granted(next);
}

// Whoever was away between the look and the swap may have missed that the row was swept and made
// anew, under fences that it does not know.
TEST_P(SqlTableTest, WhatWasJudgedTooLongAgoIsNotWritten) {
  const std::string_view name = "x";
  for (const bool there : {false, true}) {
    const auto seen = store_->Read({&name, 1}, kSqlWholeCall);
    ASSERT_TRUE(seen.has_value()) << ToString(seen.error());
    ASSERT_EQ(seen->front().version != 0, there);
    const SqlSwap swap{.name = name,
                       .from = seen->front().version,
                       .to = seen->front().version + 1,
                       .ends = seen->front().now,
                       .state = "new",
                       .judged = seen->front().now};
    Pass(kSqlFresh);
    const auto late = store_->Swap({&swap, 1}, kSqlWholeCall);
    ASSERT_TRUE(late.has_value()) << ToString(late.error());
    EXPECT_FALSE(late->front());
    Pass(-milliseconds(1));
    const auto in_time = store_->Swap({&swap, 1}, kSqlWholeCall);
    ASSERT_TRUE(in_time.has_value()) << ToString(in_time.error());
    EXPECT_TRUE(in_time->front());
    const auto twice = store_->Swap({&swap, 1}, kSqlWholeCall);
    ASSERT_TRUE(twice.has_value()) << ToString(twice.error());
    EXPECT_FALSE(twice->front()) << "the version is another one now";
  }
}

TEST_P(SqlTableTest, ARowThatIsMadeAnewHasAVersionThatNoEarlierOneHad) {
  const std::string_view name = "x";
  Granted(RequestOf(1));
  const auto before = store_->Read({&name, 1}, kSqlWholeCall);
  Sql("DELETE FROM oncemq_locks_v1");
  Pass(milliseconds(1));
  Granted(RequestOf(2));
  const auto behind = store_->Read({&name, 1}, kSqlWholeCall);
  EXPECT_GT(behind->front().version, before->front().version);
}

std::string NameOf(const ::testing::TestParamInfo<SqlWorldKind>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(Sql, SqlTableTest, ::testing::ValuesIn(SqlWorlds()), NameOf);
INSTANTIATE_TEST_SUITE_P(Sql, SqlHistoryTest, ::testing::ValuesIn(SqlWorlds()), NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlTableTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlHistoryTest);

}  // namespace
}  // namespace oncemq::testing
