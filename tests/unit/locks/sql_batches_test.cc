// SPDX-License-Identifier: Apache-2.0
// What travels in one call to a database, seen by the rows that it swaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "oncemq/locks/lock_domain.h"
#include "sql/sql_locks.h"
#include "sql_rows.h"

namespace oncemq::testing {
namespace {

class SqlBatchesTest : public ::testing::Test {
 protected:
  static constexpr size_t kHolds = 40;

  // All hold one name.
  void SetUp() override {
    for (size_t i = 0; i < kHolds; i++) {
      const AcquireRequest request{.name = "x",
                                   .token = {7, i + 1},
                                   .mode = LockMode::kCounted,
                                   .lease = kLease,
                                   .limit = kHolds};
      ASSERT_EQ(locks_->Request(request)->kind, LockAnswer::Kind::kGranted);
      claims_.push_back({"x", request.token, kLease});
    }
    claims_.push_back({"x", {7, kHolds + 1}, kLease});  // was never there
    rows_.swaps = 0;
  }
  size_t Holders() { return locks_->Read("x")->parties.size(); }

  static constexpr milliseconds kLease{30'000};
  SqlRows rows_;
  const std::shared_ptr<LockEngine> locks_ =
      MakeSqlLocks(std::make_unique<SqlRowsStore>(rows_),
                   {.engine = "test", .shared = true, .counted = true}, {});
  std::vector<LockClaim> claims_;
};

TEST_F(SqlBatchesTest, ThoseWhoHoldOneNameTogetherDoNotOvertakeEachOther) {
  std::vector<Extended> extended(claims_.size());
  for (LockClaim& claim : claims_) {
    claim.lease *= 2;
  }
  ASSERT_TRUE(locks_->Extend(claims_, extended));
  EXPECT_EQ(std::count(extended.begin(), extended.end(), Extended::kYes), kHolds);
  EXPECT_EQ(extended.back(), Extended::kGone);
  EXPECT_EQ(rows_.swaps, 1);
  std::vector<Freed> freed(claims_.size());
  ASSERT_TRUE(locks_->Free(claims_, freed));
  EXPECT_EQ(std::count(freed.begin(), freed.end(), Freed::kYes), kHolds);
  EXPECT_EQ(freed.back(), Freed::kNotHeld);
  EXPECT_EQ(rows_.swaps, 2);
  EXPECT_TRUE(rows_.locked.empty()) << "nobody was overtaken";
  EXPECT_EQ(Holders(), 0u);
}

TEST_F(SqlBatchesTest, WhoIsOvertakenIsJudgedAnewWithAllOfHisName) {
  rows_.overtaken["x"] = 1;
  std::vector<Freed> freed(claims_.size());
  ASSERT_TRUE(locks_->Free(claims_, freed));
  EXPECT_EQ(std::count(freed.begin(), freed.end(), Freed::kYes), kHolds);
  EXPECT_EQ(rows_.swaps, 1);
  EXPECT_EQ(rows_.locked.size(), 1u) << "the second time its row is locked";
  EXPECT_EQ(Holders(), 0u);
}

}  // namespace
}  // namespace oncemq::testing
