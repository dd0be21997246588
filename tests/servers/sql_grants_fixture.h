// SPDX-License-Identifier: Apache-2.0
// What is printed for a database, applied as it is printed; and what holds in each.
#pragma once

#include <memory>
#include <string>

#include "oncemq/clients/sql_client.h"
#include "store_grants_fixture.h"

namespace oncemq::testing {

template <class Server, auto kOpen>
class SqlGrantsTest : public GrantsTest {
 protected:
  // In SetUp(), once it is known that there can be a server.
  void Begin() {
    if (!server_) {
      server_ = Server::Start();
    }
    std::string address = server_->url();
    address.erase(address.find("//") + 2, address.find('@') - address.find("//") - 1);
    catalogue_ = CatalogueOf(address);
    Apply(Payments());
    Apply(Reports());
  }
  static void TearDownTestSuite() { server_.reset(); }

  static Result<std::unique_ptr<SqlClient>> Open(const std::string& url) {
    return kOpen(url, {milliseconds(10'000), milliseconds(30'000)}, 1);
  }
  // Over one connection, as a client for people has it.
  void Apply(const StoreIdentity& who) const {
    const auto client = Open(server_->url());
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    for (const std::string& line : StatementsFor(catalogue_, who)) {
      const auto done = (*client)->Run({line});
      EXPECT_TRUE(done.has_value()) << line << ": " << ToString(done.error());
    }
  }

  void ExpectOwnLocksWork() const {
    for (const char* scope : {"", "settlement"}) {
      const auto one = OpenAs(catalogue_, Payments(), scope);
      const auto other = OpenAs(catalogue_, Payments(), scope);
      ASSERT_TRUE(one && other);
      EverythingWorks(*one, *other);
    }
  }
  void ExpectTheSecondTimeChangesNothing() const {
    const auto before = OpenAs(catalogue_, Reports());
    ASSERT_EQ(*before->Seal(5), 5u);
    Apply(Reports());
    EXPECT_EQ(*OpenAs(catalogue_, Reports())->Seal(0), 5u);
  }
  void ExpectAWrongPasswordIsRefused() const {
    const std::string wrong = StorePassword(Reports(), "store");
    for (const StoreIdentity& who : {Payments(), StoreIdentity{"nobody", ""}}) {
      CannotOpen(AddressAs(catalogue_, "payments", wrong, who), "payments", wrong, Code::kRefused);
    }
  }
  void ExpectASwitchIsRecorded() const {
    const StoreCatalogue catalogue = WithRecord(catalogue_);
    const auto client = Open(server_->url());
    const auto grants = LockGrants(catalogue, Reports());
    ASSERT_EQ(grants->size(), 2u);
    EXPECT_EQ(grants->at(0).reader, "") << "memory knows no users";
    for (const std::string& line : grants->at(1).statements) {
      EXPECT_TRUE((*client)->Run({line}).has_value()) << line;
    }
    TheRecordIsKept(catalogue, Reports());
  }

  static inline std::unique_ptr<Server> server_;
  StoreCatalogue catalogue_;
};

}  // namespace oncemq::testing
