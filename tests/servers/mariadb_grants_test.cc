// SPDX-License-Identifier: Apache-2.0
// What is printed for a MariaDB, applied as it is printed.
#include <gtest/gtest.h>

#include "mariadb_fixture.h"
#include "sql_grants_fixture.h"

namespace oncemq::testing {
namespace {

class MariadbGrants : public SqlGrantsTest<MariadbServer, OpenMariadbAt> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_MARIADB();
    Begin();
  }
};

TEST_F(MariadbGrants, AnApplicationsOwnLocksWorkEntirely) {
  ExpectOwnLocksWork();
}

TEST_F(MariadbGrants, TheSecondTimeTheyChangeNothing) {
  ExpectTheSecondTimeChangesNothing();
}

TEST_F(MariadbGrants, AWrongPasswordIsRefusedByTheServer) {
  ExpectAWrongPasswordIsRefused();
}

TEST_F(MariadbGrants, TheDatabaseOfOthersIsRefusedByTheServer) {
  const std::string password = StorePassword(Reports(), "store");
  CannotOpen(AddressAs(catalogue_, "payments", password, Reports()), "payments", password);
  const std::string address = AddressFor(catalogue_.stores.at("store"), "store", Reports());
  const auto client = Open(address);
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  for (const std::string_view statement :
       {"SELECT * FROM test_payments.oncemq_locks_v1", "DELETE FROM test_payments.oncemq_locks_v1",
        "UPDATE test_payments.oncemq_lock_seals_v1 SET epoch = 9", "DROP TABLE oncemq_locks_v1",
        "CREATE TABLE x (x int)", "CREATE DATABASE x", "CREATE USER x"}) {
    const auto done = (*client)->Run({statement});
    EXPECT_FALSE(done.has_value()) << statement;
    EXPECT_TRUE(done || done.error().message.find("denied") != std::string::npos)
        << ToString(done.error());
  }
}

TEST_F(MariadbGrants, ASwitchIsRecordedByTheApplicationItself) {
  ExpectASwitchIsRecorded();
}

}  // namespace
}  // namespace oncemq::testing
