// SPDX-License-Identifier: Apache-2.0
// What is printed for a MariaDB, applied as it is printed.
#include <gtest/gtest.h>

#include "oncemq/clients/mariadb_client.h"
#include "store_grants_fixture.h"
#include "support/mariadb_server.h"

namespace oncemq::testing {
namespace {

constexpr SqlTimes kPatient{milliseconds(10'000), milliseconds(30'000)};

class MariadbGrants : public GrantsTest {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_MARIADB();
    if (!server_) {
      server_ = MariadbServer::Start();
    }
    std::string address = server_->url();
    address.erase(address.find("//") + 2, address.find('@') - address.find("//") - 1);
    catalogue_ = CatalogueOf(address);
    Apply(Payments());
    Apply(Reports());
  }
  static void TearDownTestSuite() { server_.reset(); }
  void Apply(const StoreIdentity& who) const {
    const auto client = OpenMariadb(*ParseMariadbPlace(server_->url()), kPatient, 1);
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    for (const std::string& line : StatementsFor(catalogue_, who)) {
      const auto done = (*client)->Run({line});
      EXPECT_TRUE(done.has_value()) << line << ": " << ToString(done.error());
    }
  }

  static inline std::unique_ptr<MariadbServer> server_;
  StoreCatalogue catalogue_;
};

TEST_F(MariadbGrants, AnApplicationsOwnLocksWorkEntirely) {
  for (const char* scope : {"", "settlement"}) {
    const auto one = OpenAs(catalogue_, Payments(), scope);
    const auto other = OpenAs(catalogue_, Payments(), scope);
    ASSERT_TRUE(one && other);
    EverythingWorks(*one, *other);
  }
}

TEST_F(MariadbGrants, TheSecondTimeTheyChangeNothing) {
  const auto before = OpenAs(catalogue_, Reports());
  ASSERT_EQ(*before->Seal(5), 5u);
  Apply(Reports());
  EXPECT_EQ(*OpenAs(catalogue_, Reports())->Seal(0), 5u);
}

TEST_F(MariadbGrants, AWrongPasswordIsRefusedByTheServer) {
  const std::string wrong = StorePassword(Reports(), "store");
  CannotOpen(AddressAs(catalogue_, "payments", wrong, Payments()), "payments", wrong);
  CannotOpen(AddressAs(catalogue_, "payments", wrong, {"nobody", ""}), "payments", wrong);
}

TEST_F(MariadbGrants, TheDatabaseOfOthersIsRefusedByTheServer) {
  const std::string password = StorePassword(Reports(), "store");
  CannotOpen(AddressAs(catalogue_, "payments", password, Reports()), "payments", password);
  const std::string address = AddressFor(catalogue_.stores.at("store"), "store", Reports());
  const auto client = OpenMariadb(*ParseMariadbPlace(address), kPatient, 1);
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

}  // namespace
}  // namespace oncemq::testing
