// SPDX-License-Identifier: Apache-2.0
// What is printed for a ZooKeeper, applied as it is printed.
#include <gtest/gtest.h>

#include <fstream>

#include "oncemq/clients/zookeeper_session.h"
#include "store_grants_fixture.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "support/zookeeper_server.h"

namespace oncemq::testing {
namespace {

using Call = ZooKeeperCall;

class ZooKeeperGrants : public GrantsTest {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_ZOOKEEPER();
    if (!server_) {
      server_ = ZooKeeperServer::Start();
      std::vector<std::string> lines = StatementsFor(CatalogueHere(), Payments());
      for (const std::string& line : StatementsFor(CatalogueHere(), Reports())) {
        lines.push_back(line);
      }
      server_->Shell(lines);
    }
    catalogue_ = CatalogueHere();
  }
  static void TearDownTestSuite() { server_.reset(); }
  static const StoreCatalogue& CatalogueHere() {
    static const StoreCatalogue catalogue = CatalogueOf(server_->url() + "/applications/locks");
    return catalogue;
  }
  static std::unique_ptr<ZooKeeperSession> Raw(const std::string& address) {
    auto session =
        ZooKeeperSession::Start(*ParseZooKeeperEndpoint(address), {.call = milliseconds(20'000)},
                                {[](std::string_view) {}, [] {}});
    EXPECT_TRUE((*session)->Connected(milliseconds(30'000)));
    return *std::move(session);
  }
  // Every kind of call on a node of payments.
  static void Refused(ZooKeeperSession& session, const std::string& below) {
    for (const Call& call :
         {Call{.kind = Call::Kind::kGet, .path = below + "/payments"},
          Call{.kind = Call::Kind::kChildren, .path = below + "/payments"},
          Call{.kind = Call::Kind::kSet, .path = below + "/payments", .data = "x"},
          Call{.kind = Call::Kind::kCreate, .path = below + "/payments/x"},
          Call{.kind = Call::Kind::kGet, .path = below + "/payments/oncemq/locks/=payments/seal"},
          Call{.kind = Call::Kind::kSet,
          .path = below + "/payments/oncemq/locks/=payments/seal",
          .data = "9"},
          Call{.kind = Call::Kind::kDelete,
          .path = below + "/payments/oncemq/locks/=payments/seal"},
          Call{.kind = Call::Kind::kCreate,
          .path = below + "/payments/oncemq/locks/=payments/=x"}}) {
      const auto reply = session.Run({&call, 1});
      ASSERT_FALSE(reply.has_value()) << call.path;
      EXPECT_EQ(reply.error().code, Code::kInvalid) << ToString(reply.error());
    }
  }

  static inline std::unique_ptr<ZooKeeperServer> server_;
  StoreCatalogue catalogue_;
};

TEST_F(ZooKeeperGrants, AnApplicationsOwnLocksWorkEntirely) {
  for (const char* scope : {"settlement", "refunds"}) {
    const auto one = OpenAs(catalogue_, Payments(), scope);
    const auto other = OpenAs(catalogue_, Payments(), scope);
    ASSERT_TRUE(one && other);
    EverythingWorks(*one, *other);
  }
}

TEST_F(ZooKeeperGrants, AWrongPasswordOrNameIsRefusedByTheServer) {
  ASSERT_TRUE(OpenAs(catalogue_, Payments()));
  for (const auto& [user, secret] : {std::pair{Payments(), Reports()}, {Reports(), Reports()}}) {
    const std::string password = StorePassword(secret, "store");
    CannotOpen(AddressAs(catalogue_, "payments", password, user), "payments", password);
  }
}

TEST_F(ZooKeeperGrants, TheNodesOfOthersAreRefusedByTheServer) {
  ASSERT_TRUE(OpenAs(catalogue_, Payments()));
  Refused(*Raw(server_->url()), "/applications/locks");
  std::string address = AddressFor(catalogue_.stores.at("store"), "store", Reports());
  address.erase(address.find("/applications"));
  Refused(*Raw(address), "/applications/locks");
}

// What a node is granted for is not asked, so the statements are those of the locks.
TEST_F(ZooKeeperGrants, ASwitchIsRecordedByTheApplicationItself) {
  TheRecordIsKept(WithRecord(catalogue_), Reports());
}

}  // namespace
}  // namespace oncemq::testing
