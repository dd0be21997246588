// SPDX-License-Identifier: Apache-2.0
// Claims and completions of ids without a partition in PostgreSQL, which are offered before they
// are looked for.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "postgres/postgres_window_engine.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

constexpr std::string_view kStandingClock = "1700000000000000::bigint";

class PostgresFastPathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static const auto server = PostgresServer::Start();
    server_ = server.get();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
  }
  std::unique_ptr<Window> Open(std::string_view clock = kPostgresClock) {
    PostgresWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = Level::kOpaque;
    auto window = PostgresWindow::OpenAt(server_->url(), options, clock);
    EXPECT_TRUE(window) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }
  ClaimRequest Request(std::string_view id) { return {.id = id, .token = {7, ++tokens_}}; }
  static ClaimAnswer Claim(Window& window, const ClaimRequest& request) {
    ClaimAnswer answer;
    const Status asked = window.Claim({&request, 1}, {&answer, 1});
    EXPECT_TRUE(asked) << ToString(asked.error());
    return answer;
  }
  static MarkerChange Complete(Window& window, const CompleteRequest& request) {
    MarkerChange change = MarkerChange::kInFlight;
    const Status asked = window.Complete({&request, 1}, {&change, 1});
    EXPECT_TRUE(asked) << ToString(asked.error());
    return change;
  }
  // How many rows differ in more than their ids and tokens.
  int64_t Kinds() {
    const std::string_view scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const auto answer = client_->Run(
        {"SELECT count(*) FROM (SELECT DISTINCT state, source, part, off, filed, print, own, "
         "attempt, flags, granted, ends, entry, result FROM oncemq.window_ids AS m "
         "JOIN oncemq.window_scopes AS s USING (scope) WHERE s.name = $1) AS kinds",
         {scope}});
    EXPECT_TRUE(answer);
    return answer ? NumberOf(*answer, 0, 0) : 0;
  }

  PostgresServer* server_ = nullptr;
  std::unique_ptr<SqlClient> client_;
  std::atomic<uint64_t> tokens_{0};
};

// Two ids in one call are judged after the look.
TEST_F(PostgresFastPathTest, AnOfferMakesTheRowsThatTheJudgeMakes) {
  const auto window = Open(kStandingClock);
  for (const milliseconds keep : {milliseconds(0), milliseconds(5'000), kForEver}) {
    std::vector<ClaimRequest> claims{Request("offered"), Request("a"), Request("b")};
    for (ClaimRequest& claim : claims) {
      claim.fingerprint = 9;
      claim.lease = milliseconds(keep == kForEver ? 0 : 3'600'000);
    }
    std::vector<ClaimAnswer> answers(2);
    EXPECT_EQ(Claim(*window, claims[0]).answer, ClaimVerdict::kGranted);
    ASSERT_TRUE(window->Claim({&claims[1], 2}, answers));
    EXPECT_EQ(answers[1].answer, ClaimVerdict::kGranted);
    EXPECT_EQ(Kinds(), 1);
    std::vector<CompleteRequest> done;
    for (const ClaimRequest& claim : claims) {
      done.push_back({.id = claim.id, .token = claim.token, .result = "result", .keep = keep});
    }
    std::vector<MarkerChange> changes(2);
    EXPECT_EQ(Complete(*window, done[0]), MarkerChange::kMade);
    ASSERT_TRUE(window->Complete({&done[1], 2}, changes));
    EXPECT_EQ(changes[1], MarkerChange::kMade);
    EXPECT_EQ(Kinds(), 1);
    const std::vector<std::string_view> ids{"offered", "a", "b"};
    std::vector<MarkerChange> gone(ids.size());
    ASSERT_TRUE(window->ForgetByHand(ids, gone));
  }
}

TEST_F(PostgresFastPathTest, AnIdThatIsKnownIsJudged) {
  const auto window = Open();
  const ClaimRequest first = Request("x");
  EXPECT_EQ(Claim(*window, first).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Claim(*window, first).attempt, 1u) << "its answer was lost";
  const ClaimRequest other = Request("x");
  EXPECT_EQ(Claim(*window, other).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Complete(*window, {.id = "x", .token = other.token}), MarkerChange::kFenced);
  const CompleteRequest done{.id = "x", .token = first.token, .result = "result"};
  EXPECT_EQ(Complete(*window, done), MarkerChange::kMade);
  EXPECT_EQ(Complete(*window, done), MarkerChange::kMade) << "its answer was lost";
  const ClaimAnswer copy = Claim(*window, other);
  EXPECT_EQ(copy.answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(copy.result, "result");
}

TEST_F(PostgresFastPathTest, OfManyThatClaimAnIdOneIsGranted) {
  constexpr int kIds = 200;
  const std::vector<std::unique_ptr<Window>> windows = [&] {
    std::vector<std::unique_ptr<Window>> two;
    two.push_back(Open());
    two.push_back(Open());
    return two;
  }();
  std::vector<std::atomic<int>> granted(kIds);
  std::atomic<int> finished{0};
  {
    std::vector<std::jthread> callers;
    for (size_t caller = 0; caller < 6; caller++) {
      callers.emplace_back([&, caller] {
        for (int i = 0; i < kIds; i++) {
          const std::string id = "many-" + std::to_string(i);
          const ClaimRequest claim = Request(id);
          Window& window = *windows[caller % 2];
          if (Claim(window, claim).answer == ClaimVerdict::kGranted) {
            granted[static_cast<size_t>(i)]++;
            finished +=
                Complete(window, {.id = id, .token = claim.token}) == MarkerChange::kMade ? 1 : 0;
          }
        }
      });
    }
  }
  EXPECT_EQ(finished, kIds);
  for (size_t i = 0; i < granted.size(); i++) {
    EXPECT_EQ(granted[i], 1) << i;
  }
}

}  // namespace
}  // namespace oncemq::testing
