// SPDX-License-Identifier: Apache-2.0
// Effects in a database, under the fence of a lease.
#include "oncemq/locks/sql_fence.h"

#include <atomic>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/memory_locks.h"
#include "sql_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

class SqlFenceTest : public SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    domain_ = *LockDomain::Open(MakeMemoryLocks());
    ASSERT_TRUE(MakeFenceTable(client()));
    ASSERT_TRUE(MakeFenceTable(client())) << "once more does not matter";
    Sql("DELETE FROM oncemq_fences_v1");
  }
  // Each takes the name from the one before.
  Lease Taken(const std::string& name = "x") {
    const auto view = domain_->engine().Read(name);
    for (const LockView::Party& party : view->parties) {
      EXPECT_TRUE(domain_->engine().Evict(name, party.fence));
    }
    auto lease = domain_->Acquire(name);
    EXPECT_TRUE(lease.has_value() && lease->has_value());
    return **std::move(lease);
  }
  std::unique_ptr<SqlTransaction> Begin() {
    auto transaction = client().Begin();
    EXPECT_TRUE(transaction.has_value()) << ToString(transaction.error());
    return transaction ? *std::move(transaction) : nullptr;
  }
  static FenceInstalled Installed(SqlSession& transaction, const Lease& lease) {
    const auto installed = InstallFence(transaction, lease);
    EXPECT_TRUE(installed.has_value()) << ToString(installed.error());
    return installed.value_or(FenceInstalled::kLost);
  }
  FenceInstalled InstalledAlone(const Lease& lease) {
    const auto transaction = Begin();
    const FenceInstalled installed = Installed(*transaction, lease);
    EXPECT_TRUE(transaction->Commit());
    return installed;
  }

  std::unique_ptr<LockDomain> domain_;
};

TEST_P(SqlFenceTest, AFenceThatTheColumnCannotHoldIsRefusedAndTakenForNone) {
  constexpr uint64_t kTooGreat = uint64_t{1} << 63;
  auto greatest = domain_->Acquire("x", {.fence = Fence{0, kTooGreat - 1}});
  EXPECT_EQ(InstalledAlone(**greatest), FenceInstalled::kYes);
  (*greatest)->Release();
  const auto greater = domain_->Acquire("x", {.fence = Fence{0, kTooGreat}});
  const auto transaction = Begin();
  const auto refused = InstallFence(*transaction, **greater);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

TEST_P(SqlFenceTest, AHolderInstallsItsFenceAsOftenAsItLikes) {
  const Lease lease = Taken();
  EXPECT_EQ(InstalledAlone(lease), FenceInstalled::kYes);
  EXPECT_EQ(InstalledAlone(lease), FenceInstalled::kYes);
  EXPECT_EQ(InstalledAlone(Taken()), FenceInstalled::kYes);
  EXPECT_EQ(InstalledAlone(Taken(std::string("a\0\xff'", 4))), FenceInstalled::kYes);
}

TEST_P(SqlFenceTest, ALeaseIsRefusedBesideWhichOthersAreHeld) {
  for (const AcquireOptions& how : {AcquireOptions{.mode = LockMode::kCounted, .limit = 2},
                                    AcquireOptions{.mode = LockMode::kShared}}) {
    const Lease one_of_many = std::move(**domain_->Acquire("many", how));
    const auto transaction = Begin();
    const auto installed = InstallFence(*transaction, one_of_many);
    ASSERT_FALSE(installed.has_value());
    EXPECT_EQ(installed.error().code, Code::kInvalid);
  }
}

// The former one has not noticed yet that it was evicted.
TEST_P(SqlFenceTest, WhoWasOvertakenIsRefused) {
  const Lease former = Taken();
  ASSERT_EQ(InstalledAlone(former), FenceInstalled::kYes);
  const Lease later = Taken();
  ASSERT_EQ(InstalledAlone(later), FenceInstalled::kYes);
  ASSERT_TRUE(former.StillMine());
  EXPECT_EQ(InstalledAlone(former), FenceInstalled::kOvertaken);
  EXPECT_EQ(InstalledAlone(later), FenceInstalled::kYes) << "the refusal changed nothing";
}

TEST_P(SqlFenceTest, ATransactionIsBegunByTheLatestLeaseOnly) {
  const Lease former = Taken();
  Lease later = Taken();
  const auto begun = BeginFenced(client(), later);
  ASSERT_TRUE(begun.has_value() && *begun != nullptr) << ToString(begun.error());
  EXPECT_TRUE((*begun)->Commit());
  const auto overtaken = BeginFenced(client(), former);
  ASSERT_TRUE(overtaken.has_value()) << ToString(overtaken.error());
  EXPECT_EQ(*overtaken, nullptr);
  later.Release();
  const auto over = BeginFenced(client(), later);
  ASSERT_TRUE(over.has_value()) << ToString(over.error());
  EXPECT_EQ(*over, nullptr);
  const auto counted = domain_->Acquire("many", {.mode = LockMode::kCounted, .limit = 2});
  EXPECT_EQ(BeginFenced(client(), **counted).error().code, Code::kInvalid);
}

TEST_P(SqlFenceTest, AnEpochLeadsAllFencesBeforeIt) {
  const Lease former = Taken();
  ASSERT_EQ(InstalledAlone(former), FenceInstalled::kYes);
  const bool postgres = client().dialect() == SqlDialect::kPostgres;
  Sql(postgres ? "UPDATE oncemq_fences_v1 SET epoch = $1, token = $2"
               : "UPDATE oncemq_fences_v1 SET epoch = ?, token = ?",
      {int64_t{1}, int64_t{0}});
  EXPECT_EQ(InstalledAlone(Taken()), FenceInstalled::kOvertaken);
  EXPECT_EQ(One("SELECT token FROM oncemq_fences_v1"), "0");
}

TEST_P(SqlFenceTest, WhatIsNotHeldAnyMoreDoesNotAskTheDatabase) {
  Lease lease = Taken();
  lease.Release();
  EXPECT_EQ(InstalledAlone(lease), FenceInstalled::kLost);
  EXPECT_EQ(One("SELECT count(*) FROM oncemq_fences_v1"), "0");
}

// The one that was first reads and writes in peace; the later one reads what it has written.
TEST_P(SqlFenceTest, ALaterHolderWaitsForTheTransactionOfTheFormerOne) {
  Sql("CREATE TABLE IF NOT EXISTS accounts (balance bigint)");
  Sql("DELETE FROM accounts");
  Sql("INSERT INTO accounts VALUES (0)");
  const auto add_one = [](SqlTransaction& transaction) {
    const auto read = transaction.Run({"SELECT balance FROM accounts"});
    ASSERT_TRUE(read.has_value()) << ToString(read.error());
    const std::string text = "UPDATE accounts SET balance = " +
                             std::to_string(std::stol(read->rows.at(0).at(0).value_or("0")) + 1);
    ASSERT_TRUE(transaction.Run({text}));
    ASSERT_TRUE(transaction.Commit());
  };
  const Lease former = Taken();
  const Lease later = Taken();
  const auto first = Begin();
  ASSERT_EQ(Installed(*first, former), FenceInstalled::kYes);
  std::atomic<bool> passed{false};
  std::jthread waits([&] {
    const auto second = Begin();
    EXPECT_EQ(Installed(*second, later), FenceInstalled::kYes);
    passed = true;
    add_one(*second);
  });
  ASSERT_TRUE(Eventually(kPatience, [&] { return Waiting() > 0 || passed; }));
  EXPECT_FALSE(passed);
  add_one(*first);
  waits.join();
  EXPECT_EQ(One("SELECT balance FROM accounts"), "2");
  EXPECT_EQ(InstalledAlone(former), FenceInstalled::kOvertaken);
}

INSTANTIATE_TEST_SUITE_P(Sql, SqlFenceTest, ::testing::ValuesIn(SqlWorlds()),
                         [](const auto& tested) { return std::string(tested.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlFenceTest);

}  // namespace
}  // namespace oncemq::testing
