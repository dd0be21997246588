// SPDX-License-Identifier: Apache-2.0
// What one id names in the window in PostgreSQL: a scope keeps what it was made for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "support/log_file.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

class PostgresOneId : public ::testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static const auto server = PostgresServer::Start();
    server_ = server.get();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
  }
  Result<std::unique_ptr<Window>> Open(bool partition_owned, bool existing_only = false) const {
    return OpenPostgresWindow(server_->url(), {.scope = Scope(),
                                               .level = GetParam(),
                                               .partition_owned = partition_owned,
                                               .call = milliseconds(10'000),
                                               .existing_only = existing_only});
  }
  std::string Scope() const { return "one id " + std::string(ToString(GetParam())) + test_; }
  // As the version before left it.
  void MakeOlder() const {
    const std::string scope = Scope();
    ASSERT_TRUE(client_->Run(
        {"UPDATE oncemq.window_scopes SET ids = NULL WHERE name = $1", {std::string_view(scope)}}));
  }
  static ClaimVerdict Claim(Window& window, const Coordinates& at, uint64_t token) {
    const ClaimRequest claim{.id = "x", .token = {1, token}, .at = at};
    ClaimAnswer answer;
    EXPECT_TRUE(window.Claim({&claim, 1}, {&answer, 1}));
    return answer.answer;
  }
  static MarkerChange Complete(Window& window, const Coordinates& at, uint64_t token) {
    const CompleteRequest done{.id = "x", .token = {1, token}, .at = at};
    MarkerChange change{};
    EXPECT_TRUE(window.Complete({&done, 1}, {&change, 1}));
    return change;
  }
  static MarkerView Peek(Window& window) {
    const std::string_view id = "x";
    MarkerView view;
    EXPECT_TRUE(window.Peek({&id, 1}, {&view, 1}));
    return view;
  }

  const std::string test_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  PostgresServer* server_ = nullptr;
  std::unique_ptr<SqlClient> client_;
};

TEST_P(PostgresOneId, AScopeOfAnEarlierVersionKeepsItsIdsAndSaysSoOnce) {
  const Coordinates here{0, 3, 5};
  const Coordinates other_topic{1, 3, 5};
  {
    const auto before = Open(/*partition_owned=*/false);
    ASSERT_TRUE(before) << ToString(before.error());
    EXPECT_EQ(Claim(**before, here, 1), ClaimVerdict::kGranted);
    EXPECT_EQ(Complete(**before, here, 1), MarkerChange::kMade);
  }
  MakeOlder();
  LogFile log;
  const auto window = Open(/*partition_owned=*/true);
  ASSERT_TRUE(window) << ToString(window.error());
  EXPECT_TRUE((*window)->capabilities().still_crossing);
  EXPECT_FALSE((*window)->capabilities().partition_owned);
  EXPECT_EQ(Claim(**window, here, 2), ClaimVerdict::kDuplicate) << "forgotten by the new version";
  EXPECT_EQ(Claim(**window, other_topic, 3), ClaimVerdict::kDuplicate);
  EXPECT_TRUE(Open(/*partition_owned=*/true, /*existing_only=*/true));
  const std::string said = log.End();
  const size_t first = said.find("the scope is of an earlier version");
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("the scope is of an earlier version", first + 1), std::string::npos);
}

TEST_P(PostgresOneId, AScopeThatWasMadeForIdsOfTheOtherKindIsRefused) {
  ASSERT_TRUE(Open(/*partition_owned=*/true));
  const auto crossing = Open(/*partition_owned=*/false);
  ASSERT_FALSE(crossing);
  EXPECT_EQ(crossing.error().code, Code::kInvalid);
  EXPECT_THAT(crossing.error().message, HasSubstr("say so (`ids: partition_owned`)"));
}

TEST_P(PostgresOneId, AnIdIsFoundAndForgottenByItselfInWhicheverPartitionItIs) {
  const auto window = Open(/*partition_owned=*/true);
  ASSERT_TRUE(window) << ToString(window.error());
  for (const int32_t partition : {3, 4}) {
    ASSERT_TRUE((*window)->Open({.partition = partition, .topic = "a", .owner = "g"}));
  }
  const Coordinates at{0, 4, 5};
  EXPECT_EQ(Claim(**window, at, 1), ClaimVerdict::kGranted);
  EXPECT_EQ(Complete(**window, at, 1), MarkerChange::kMade);
  EXPECT_EQ(Peek(**window).state, MarkerState::kDone);
  EXPECT_EQ(Peek(**window).at, at);
  const std::string_view id = "x";
  MarkerChange change{};
  ASSERT_TRUE((*window)->ForgetByHand({&id, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kMade);
  EXPECT_EQ(Peek(**window).state, MarkerState::kNone);
  ASSERT_TRUE((*window)->ForgetByHand({&id, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kFenced);
  EXPECT_EQ(Claim(**window, at, 2), ClaimVerdict::kGranted);
}

INSTANTIATE_TEST_SUITE_P(Levels, PostgresOneId, ::testing::Values(Level::kGuarded, Level::kAtomic),
                         [](const auto& one) { return std::string(ToString(one.param)); });

}  // namespace
}  // namespace oncemq::testing
