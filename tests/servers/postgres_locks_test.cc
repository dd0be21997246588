// SPDX-License-Identifier: Apache-2.0
// Behaviour that only the locks in PostgreSQL have.
#include "oncemq/locks/postgres_locks.h"

#include <thread>

#include "hand_overs.h"
#include "oncemq/locks/lock_domain.h"
#include "postgres_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

using PostgresLocksTest = PostgresTest;

const PostgresLockOptions kPatiently{.connect = kPatient.connect, .call = kPatient.call};

TEST_F(PostgresLocksTest, WhoMayNotMakeTheTablesIsToldHowTheyAreMade) {
  StartOwn();
  Run({"CREATE ROLE app LOGIN PASSWORD 'secret'"});
  Run({"REVOKE CREATE ON SCHEMA public FROM PUBLIC"});
  std::string url = server_->url();
  url.replace(url.find("oncemq"), 6, "app");
  const auto refused = OpenPostgresLocks(url, kPatiently);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().message.find("CREATE TABLE"), std::string::npos);
  ASSERT_TRUE(OpenPostgresLocks(server_->url(), kPatiently));
  Run({"GRANT SELECT, INSERT, UPDATE, DELETE ON oncemq_locks_v1, oncemq_lock_seals_v1 TO app"});
  const auto locks = OpenPostgresLocks(url, kPatiently);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  EXPECT_TRUE((*locks)->Request({.name = "x",
                                 .token = {1, 1},
                                 .lease = milliseconds(9'000),
                                 .queue_lease = milliseconds(9'000)}));
}

TEST_F(PostgresLocksTest, ManyWhoMakeTheTablesAtOnceAllFindThem) {
  StartOwn();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; t++) {
    threads.emplace_back([&] {
      const auto locks = OpenPostgresLocks(server_->url(), kPatiently);
      EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    });
  }
}

// A session that sees the database as it was at its first look would look too early.
TEST_F(PostgresLocksTest, TheIsolationOfTheRoleDoesNotMatter) {
  StartOwn({"default_transaction_isolation=serializable"});
  OpenClient();
  EXPECT_EQ(One({"SHOW transaction_isolation"}), "read committed");
}

TEST_F(PostgresLocksTest, AWaiterWhoseWakesAreCutGetsItsTurn) {
  const PostgresLockOptions cut{.space = "cut", .connect = kPatient.connect, .call = kPatient.call};
  auto locks = OpenPostgresLocks(server_->url(), cut);
  auto others = OpenPostgresLocks(server_->url(), cut);
  ASSERT_TRUE(locks.has_value() && others.has_value());
  const auto domain = LockDomain::Open(*locks, {.queue_lease = milliseconds(600)});
  const auto other = LockDomain::Open(*others);
  for (int round = 0; round < 5; round++) {
    auto holder = (*other)->Acquire("x");
    ASSERT_TRUE(holder.has_value() && holder->has_value());
    std::jthread waits([&] {
      const auto lease = (*domain)->Acquire("x");
      EXPECT_TRUE(lease.has_value() && lease->has_value());
    });
    ASSERT_TRUE(Eventually(kPatience, [&] { return (*locks)->Read("x")->parties.size() == 2; }));
    Terminate("query LIKE 'LISTEN%' OR query = 'SELECT 1'");
    EXPECT_EQ((*holder)->Release(), Released::kYes);
  }
}

TEST_F(PostgresLocksTest, ANameThatGoesThroughManyProcessesIsOneWakeForEachHandOver) {
  constexpr size_t kWaiters = 20;
  LockEngines engines;
  for (int i = 0; i < 4; i++) {
    auto locks = OpenPostgresLocks(
        server_->url(), {.space = "through", .connect = kPatient.connect, .call = kPatient.call});
    ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
    engines.push_back(*std::move(locks));
  }
  ASSERT_NO_FATAL_FAILURE(UntilEachHears(engines));
  ExpectOneWakeEach(HandThrough(engines, kWaiters), kWaiters);
}

}  // namespace
}  // namespace oncemq::testing
