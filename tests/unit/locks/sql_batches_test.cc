// SPDX-License-Identifier: Apache-2.0
// What travels in one call to a database, seen by the rows that it swaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/locks/lock_domain.h"
#include "sql/sql_locks.h"
#include "sql/sql_store.h"

namespace oncemq::testing {
namespace {

// Rows in memory. Thread safety: none, and nobody needs any here.
struct Rows {
  std::map<std::string, SqlSeen, std::less<>> rows;
  int swaps = 0;
  bool overtaken = false;  // once
};

class RowsStore final : public SqlStore {
 public:
  explicit RowsStore(Rows& rows) : rows_(rows) {}

  Result<std::vector<SqlSeen>> Read(std::span<const std::string_view> names) override {
    std::vector<SqlSeen> seen;
    for (const std::string_view name : names) {
      const auto at = rows_.rows.find(name);
      seen.push_back(at == rows_.rows.end() ? SqlSeen{} : at->second);
      seen.back().now = kNow;
    }
    return seen;
  }
  Result<std::vector<bool>> Swap(std::span<const SqlSwap> swaps) override {
    rows_.swaps++;
    std::vector<bool> done;
    for (const SqlSwap& swap : swaps) {
      SqlSeen& row = rows_.rows[std::string(swap.name)];
      done.push_back(row.version == swap.from && !std::exchange(rows_.overtaken, false));
      if (done.back()) {
        row = {swap.to, swap.fence, swap.state, kNow, 0};
      }
    }
    return done;
  }
  Result<std::string> Sweep(std::string_view) override { return std::string(); }
  Result<std::vector<std::string>> Names(std::string_view, size_t) override {
    return std::vector<std::string>();
  }
  Result<uint32_t> Seal(uint32_t) override { return 0; }
  std::shared_ptr<void> Listen(uint64_t, std::function<void(const Token&)>,
                               std::function<void()>) override {
    return nullptr;
  }

 private:
  static constexpr BootTime kNow{microseconds(1'000'000)};
  Rows& rows_;
};

class SqlBatchesTest : public ::testing::Test {
 protected:
  static constexpr size_t kHolds = 40;

  // All hold one name.
  void SetUp() override {
    for (size_t i = 0; i < kHolds; i++) {
      const LockAsk ask{.name = "x",
                        .token = {7, i + 1},
                        .mode = LockMode::kCounted,
                        .lease = kLease,
                        .limit = kHolds};
      ASSERT_EQ(locks_->Ask(ask)->kind, LockAnswer::Kind::kGranted);
      claims_.push_back({"x", ask.token, kLease});
    }
    claims_.push_back({"x", {7, kHolds + 1}, kLease});  // was never there
    rows_.swaps = 0;
  }
  size_t Holders() { return locks_->Look("x")->parties.size(); }

  static constexpr milliseconds kLease{30'000};
  Rows rows_;
  const std::shared_ptr<LockEngine> locks_ = MakeSqlLocks(
      std::make_unique<RowsStore>(rows_), {.engine = "test", .shared = true, .counted = true}, {});
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
  EXPECT_EQ(Holders(), 0u);
}

TEST_F(SqlBatchesTest, WhoIsOvertakenIsJudgedAnewWithAllOfHisName) {
  rows_.overtaken = true;
  std::vector<Freed> freed(claims_.size());
  ASSERT_TRUE(locks_->Free(claims_, freed));
  EXPECT_EQ(std::count(freed.begin(), freed.end(), Freed::kYes), kHolds);
  EXPECT_EQ(rows_.swaps, 2);
  EXPECT_EQ(Holders(), 0u);
}

}  // namespace
}  // namespace oncemq::testing
