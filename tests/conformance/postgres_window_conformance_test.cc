// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL under the conformance suite: one server, a scope for each test, and a
// clock that is a row, so that no test sleeps through a lease.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "clock_set_back.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/conformance/window_conformance.h"
#include "postgres/postgres_window_engine.h"
#include "suite_server.h"
#include "support/postgres_server.h"

namespace oncemq {
namespace {

constexpr std::string_view kTestClock = "(SELECT micros FROM test_clock)";

SqlClient& Server() {
  static const auto client = [] {
    const std::string url = testing::SuiteServer<testing::PostgresServer>().url();
    auto opened = OpenPostgres(*ParsePostgresPlace(url));
    EXPECT_TRUE(MigratePostgresWindow(url, "oncemq"));
    EXPECT_TRUE((*opened)->Run({"CREATE TABLE test_clock (micros bigint)"}));
    EXPECT_TRUE((*opened)->Run({"INSERT INTO test_clock VALUES (1700000000000000)"}));
    return *std::move(opened);
  }();
  return *client;
}

void Advance(milliseconds by) {
  EXPECT_TRUE(Server().Run({"UPDATE test_clock SET micros = micros + $1",
                            {int64_t{std::chrono::microseconds(by).count()}}}));
}

Result<std::unique_ptr<Window>> OpenScope(const ConformanceSetup& setup, int number) {
  static_cast<void>(Server());
  PostgresWindowOptions options;
  options.scope = "test/" + std::to_string(number);
  options.level = setup.level;
  options.times = setup.times;
  options.remember = setup.remember;
  options.skew = milliseconds(0);
  options.connect = options.call = milliseconds(10'000);
  auto window = PostgresWindow::OpenAt(testing::SuiteServer<testing::PostgresServer>().url(),
                                       options, kTestClock);
  if (!window) {
    return window.error();
  }
  return std::unique_ptr<Window>(*std::move(window));
}

std::atomic<int> scopes{0};

Result<std::unique_ptr<Window>> OpenNew(const ConformanceSetup& setup) {
  return OpenScope(setup, ++scopes);
}

Result<std::unique_ptr<Window>> OpenAgain(const ConformanceSetup& setup) {
  return OpenScope(setup, scopes);
}

TEST(PostgresWindow, AServerIsThere) {
  ONCEMQ_REQUIRE_POSTGRES();
}

[[maybe_unused]] const bool kRegistered =
    !testing::PostgresServer::Missing() && RegisterWindowConformance({
                                               .name = "postgres",
                                               .capabilities = PostgresWindowCapabilities(),
                                               .open = OpenNew,
                                               .reopen = OpenAgain,
                                               .advance = Advance,
                                           });

}  // namespace

namespace testing {
INSTANTIATE_TEST_SUITE_P(Postgres, ClockSetBack,
                         ::testing::Values(ClockOfServer{"postgres", PostgresServer::Missing,
                                                         OpenNew, Advance}));
}  // namespace testing
}  // namespace oncemq
