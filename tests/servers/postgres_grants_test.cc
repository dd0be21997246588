// SPDX-License-Identifier: Apache-2.0
// What is printed for a PostgreSQL, applied as it is printed.
#include <gtest/gtest.h>

#include "postgres_fixture.h"
#include "sql_grants_fixture.h"

namespace oncemq::testing {
namespace {

class PostgresGrants : public SqlGrantsTest<PostgresServer, OpenPostgresAt> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    Begin();
  }
};

TEST_F(PostgresGrants, AnApplicationsOwnLocksWorkEntirely) {
  ExpectOwnLocksWork();
}

TEST_F(PostgresGrants, TheSecondTimeTheyChangeNothing) {
  ExpectTheSecondTimeChangesNothing();
}

TEST_F(PostgresGrants, AWrongPasswordIsRefusedByTheServer) {
  ExpectAWrongPasswordIsRefused();
}

// A role that names another's space locks a row of its own, and reaches no other.
TEST_F(PostgresGrants, TheRowsOfOthersAreRefusedByTheServer) {
  const auto theirs = OpenAs(catalogue_, Payments(), "refunds");
  ASSERT_EQ(theirs->Request(RequestOf(1))->kind, LockAnswer::Kind::kGranted);
  const std::string address = AddressFor(catalogue_.stores.at("store"), "store", Reports());
  const auto copy = OpenLockEngine(address, "payments.refunds");
  ASSERT_TRUE(copy.has_value()) << ToString(copy.error());
  EXPECT_TRUE((*copy)->Read("account/42")->parties.empty());
  const auto client = Open(address);
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  for (const std::string_view statement :
       {"SELECT * FROM oncemq_payments.oncemq_locks_v1",
        "DELETE FROM oncemq_payments.oncemq_locks_v1",
        "UPDATE oncemq_payments.oncemq_lock_seals_v1 SET epoch = 9",
        "INSERT INTO oncemq_payments.oncemq_lock_seals_v1 VALUES ('', 9)",
        "CREATE TABLE oncemq_payments.x (x int)", "DROP TABLE oncemq_locks_v1", "CREATE SCHEMA x",
        "CREATE TABLE oncemq_reports.x (x int)", "CREATE ROLE x", "SET ROLE oncemq_payments"}) {
    const auto done = (*client)->Run({statement});
    EXPECT_FALSE(done.has_value()) << statement;
    EXPECT_TRUE(done || done.error().message.find("permission denied") != std::string::npos ||
                done.error().message.find("must be owner") != std::string::npos)
        << ToString(done.error());
  }
  EXPECT_EQ(theirs->Read("account/42")->parties.size(), 1u);
}

TEST_F(PostgresGrants, ASwitchIsRecordedByTheApplicationItself) {
  ExpectASwitchIsRecorded();
}

}  // namespace
}  // namespace oncemq::testing
