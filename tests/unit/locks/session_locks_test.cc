// SPDX-License-Identifier: Apache-2.0
// Locks of database sessions, over a database that says what a test wants.
#include "sql/session_locks.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

namespace oncemq {
namespace {

// Thread safety: any thread.
struct Database {
  std::atomic<bool> answers{true};
  std::atomic<bool> yes{true};
  std::atomic<int> questions{0};
};

class Line final : public SqlLine {
 public:
  explicit Line(Database& database) : database_(database) {}
  bool Fresh() override { return true; }
  Result<SqlOutcome> Run(std::span<const SqlStatement>, BootTime) override {
    database_.questions++;
    if (!database_.answers) {
      return Error{Code::kTimeout, Effect::kUnknown, "no answer in time"};
    }
    SqlOutcome outcome;
    outcome.answers.emplace_back().rows = {{database_.yes ? "1" : "0"}};
    return outcome;
  }

 private:
  Database& database_;
};

class SessionLocksTest : public ::testing::Test {
 protected:
  static constexpr size_t kHolds = 3;
  static constexpr milliseconds kLease{60'000};

  void SetUp() override {
    auto client = SqlClient::Open(
        SqlDialect::kPostgres,
        [this](BootTime) -> Result<std::unique_ptr<SqlLine>> {
          return std::unique_ptr<SqlLine>(std::make_unique<Line>(database_));
        },
        {}, 4);
    ASSERT_TRUE(client.has_value());
    locks_ = *MakeSessionLocks(*std::move(client), {.engine = "scripted"},
                               {.take = "take", .held = "held", .free = "free"}, {});
    for (const LockClaim& claim : claims_) {
      const auto answer =
          locks_->Ask({.name = claim.name, .token = claim.token, .lease = kLease, .place = kLease});
      ASSERT_TRUE(answer && answer->kind == LockAnswer::Kind::kGranted);
    }
    database_.questions = 0;
  }

  Database database_;
  std::shared_ptr<LockEngine> locks_;
  const std::array<LockClaim, kHolds> claims_{
      {{"a", {1, 1}, kLease}, {"b", {1, 2}, kLease}, {"c", {1, 3}, kLease}}};
};

TEST_F(SessionLocksTest, ADatabaseThatHangsKeepsAReleaseOfManyWaitingOnce) {
  database_.answers = false;
  std::array<Freed, kHolds> freed{};
  EXPECT_FALSE(locks_->Free(claims_, freed));
  EXPECT_EQ(database_.questions, 1);
  database_.answers = true;
  EXPECT_TRUE(locks_->Free(claims_, freed));
  EXPECT_EQ(freed, (std::array{Freed::kNotHeld, Freed::kNotHeld, Freed::kNotHeld}))
      << "those that were not asked are hung up, too";
}

TEST_F(SessionLocksTest, ADatabaseThatHangsKeepsARenewalOfManyWaitingOnce) {
  database_.answers = false;
  std::array<Extended, kHolds> extended{};
  EXPECT_TRUE(locks_->Extend(claims_, extended));
  EXPECT_EQ(database_.questions, 1);
  EXPECT_EQ(extended, (std::array{Extended::kGone, Extended::kLater, Extended::kLater}));
  database_.answers = true;
  EXPECT_TRUE(locks_->Extend(claims_, extended));
  EXPECT_EQ(extended, (std::array{Extended::kGone, Extended::kYes, Extended::kYes}));
}

TEST_F(SessionLocksTest, WhatTheDatabaseDidNotHoldIsNotReleased) {
  database_.yes = false;
  std::array<Freed, kHolds> freed{};
  EXPECT_TRUE(locks_->Free(claims_, freed));
  EXPECT_EQ(freed, (std::array{Freed::kNotHeld, Freed::kNotHeld, Freed::kNotHeld}));
}

}  // namespace
}  // namespace oncemq
