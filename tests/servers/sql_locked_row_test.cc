// SPDX-License-Identifier: Apache-2.0
// A row that is locked from the look to the write.
#include <atomic>
#include <optional>
#include <thread>

#include "sql_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

class SqlLockedRowTest : public SqlTest {
 protected:
  static constexpr std::string_view kName = "x";
  static constexpr SqlWaits kLong{milliseconds(15'000), milliseconds(20'000)};

  void SetUp() override {
    SqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    store_ = OpenStore();
    other_ = OpenStore();
  }
  static SqlSwap SwapOf(const SqlSeen& seen, std::string_view state) {
    return {.name = kName,
            .from = seen.version,
            .to = seen.version + 1,
            .fence = seen.fence + 1,
            .ends = seen.now,
            .state = std::string(state),
            .judged = seen.now};
  }
  // The row of the name, as a look finds it.
  SqlSeen Seen() {
    const auto seen = store_->Read({&kName, 1}, kSqlWholeCall);
    EXPECT_TRUE(seen.has_value()) << ToString(seen.error());
    return seen ? seen->front() : SqlSeen{};
  }
  void MakeRow() {
    const SqlSwap first = SwapOf(Seen(), "first");
    const auto done = store_->Swap({&first, 1}, kSqlWholeCall);
    ASSERT_TRUE(done.has_value() && done->front());
  }
  static SqlJudge Writing(std::string_view state) {
    return [state](const SqlSeen& seen) { return std::optional(SwapOf(seen, state)); };
  }

  std::unique_ptr<SqlStore> store_;
  std::unique_ptr<SqlStore> other_;
};

TEST_P(SqlLockedRowTest, IsWrittenAsItWasJudged) {
  MakeRow();
  for (const std::string_view state : {"second", "third"}) {
    const auto done = store_->SwapLocked(kName, state == "third", kLong, [&](const SqlSeen& seen) {
      SqlSwap swap = SwapOf(seen, state);
      swap.epoch = state == "third" ? std::optional<uint32_t>(seen.epoch) : std::nullopt;
      swap.notify = {{1, {7, 1}}};
      return std::optional(std::move(swap));
    });
    ASSERT_TRUE(done.has_value()) << ToString(done.error());
    EXPECT_EQ(*done, SqlLocked::kDone);
    EXPECT_EQ(Seen().state, state);
  }
}

TEST_P(SqlLockedRowTest, StaysAsItWasWhenNothingIsToBeWritten) {
  MakeRow();
  const SqlSeen before = Seen();
  const auto nothing = store_->SwapLocked(kName, false, kLong,
                                          [](const SqlSeen&) { return std::optional<SqlSwap>(); });
  ASSERT_TRUE(nothing.has_value()) << ToString(nothing.error());
  EXPECT_EQ(*nothing, SqlLocked::kDone);
  const auto wrong = store_->SwapLocked(kName, false, kLong, [](const SqlSeen&) {
    return Result<std::optional<SqlSwap>>(Error{Code::kFull, Effect::kNone, "no room"});
  });
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kFull);
  EXPECT_EQ(Seen().version, before.version);
  EXPECT_EQ(*other_->SwapLocked(kName, false, kLong, Writing("next")), SqlLocked::kDone)
      << "it is locked no more";
}

TEST_P(SqlLockedRowTest, IsNeitherJudgedNorMadeWhereThereIsNone) {
  bool judged = false;
  const auto done = store_->SwapLocked(kName, true, kLong, [&](const SqlSeen&) {
    judged = true;
    return std::optional<SqlSwap>();
  });
  ASSERT_TRUE(done.has_value()) << ToString(done.error());
  EXPECT_EQ(*done, SqlLocked::kNoRow);
  EXPECT_FALSE(judged);
  MakeRow();
}

// The server ends the transaction of a paused client, and nothing of it is done.
TEST_P(SqlLockedRowTest, IsKeptFromOthersForABoundedTimeByAClientThatIsPaused) {
  MakeRow();
  std::optional<Result<SqlLocked>> next;
  const auto paused = store_->SwapLocked(kName, true, kLong, [&](const SqlSeen& seen) {
    next = other_->SwapLocked(kName, true, kLong, Writing("of the next"));
    return std::optional(SwapOf(seen, "of the paused"));
  });
  ASSERT_TRUE(next->has_value()) << ToString(next->error());
  EXPECT_EQ(**next, SqlLocked::kDone);
  EXPECT_FALSE(paused.has_value());
  EXPECT_EQ(Seen().state, "of the next");
}

// An extension by a time from before the wait could shorten a lease that was extended meanwhile.
TEST_P(SqlLockedRowTest, IsJudgedByATimeThatIsNotBeforeItsLastChange) {
  MakeRow();
  client();
  auto holds = client().Begin();
  ASSERT_TRUE(holds.has_value()) << ToString(holds.error());
  const std::vector<SqlValue> where{std::string_view(space_), kName};
  ASSERT_TRUE((*holds)->Run(
      {"SELECT name FROM oncemq_locks_v1 WHERE " + Here(true) + " FOR UPDATE", where}));
  SqlSeen seen;
  std::jthread waits([&] {
    const auto done = store_->SwapLocked(kName, false, kLong, [&](const SqlSeen& now) {
      seen = now;
      return std::optional<SqlSwap>();
    });
    EXPECT_TRUE(done.has_value()) << ToString(done.error());
  });
  ASSERT_TRUE(Eventually(kPatience, [&] { return Waiting() > 0; }));
  SleepFor(milliseconds(2));
  const std::string now = client().dialect() == SqlDialect::kPostgres
                              ? "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
                              : "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
  ASSERT_TRUE((*holds)->Run(
      {"UPDATE oncemq_locks_v1 SET version = " + now + " WHERE " + Here(true), where}));
  ASSERT_TRUE((*holds)->Commit());
  waits.join();
  EXPECT_GT(seen.version, 1'000'000) << "the row as it was written last";
  EXPECT_GE(seen.now.time_since_epoch().count(), seen.version);
}

// Either the round is done before the seal is, or it is not done (S2).
TEST_P(SqlLockedRowTest, IsNotWrittenInAnEpochThatASealHasEnded) {
  MakeRow();
  std::atomic<bool> sealed{false};
  std::jthread seals;
  bool sealed_first = false;
  const auto done = store_->SwapLocked(kName, true, kLong, [&](const SqlSeen& seen) {
    seals = std::jthread([&] {
      EXPECT_TRUE(other_->Seal(1).has_value());
      sealed = true;
    });
    for (int i = 0; i < 30 && !sealed; i++) {
      SleepFor(milliseconds(10));
    }
    sealed_first = sealed;
    SqlSwap swap = SwapOf(seen, "of the former epoch");
    swap.epoch = 0;
    return std::optional(std::move(swap));
  });
  seals.join();
  if (sealed_first) {
    ASSERT_TRUE(done.has_value()) << ToString(done.error());
    EXPECT_EQ(*done, SqlLocked::kBusy);
    EXPECT_EQ(Seen().state, "first");
  }
}

INSTANTIATE_TEST_SUITE_P(Sql, SqlLockedRowTest, ::testing::ValuesIn(SqlWorlds()),
                         [](const auto& tested) { return std::string(tested.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlLockedRowTest);

}  // namespace
}  // namespace oncemq::testing
