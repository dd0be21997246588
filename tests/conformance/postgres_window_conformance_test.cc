// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL under the conformance suite: one server, a scope for each test, and a
// clock that is a row, so that no test sleeps through a lease.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

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
    auto opened = OpenPostgres(*ParsePostgresEndpoint(url));
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

Result<std::unique_ptr<Window>> OpenScope(const ConformanceSetup& setup, int number,
                                          bool partition_owned) {
  static_cast<void>(Server());
  PostgresWindowOptions options;
  options.scope = "test/" + std::to_string(number);
  options.level = setup.level;
  options.partition_owned = partition_owned;
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

WindowEngine Engine(std::string name, bool partition_owned) {
  return {
      .name = std::move(name),
      .capabilities = PostgresWindowCapabilities(partition_owned),
      .open =
          [=](const ConformanceSetup& setup) {
            return OpenScope(setup, ++scopes, partition_owned);
          },
      .reopen =
          [=](const ConformanceSetup& setup) { return OpenScope(setup, scopes, partition_owned); },
      .advance = Advance,
      .judges = true,
  };
}

Result<std::unique_ptr<Window>> OpenNew(const ConformanceSetup& setup) {
  return OpenScope(setup, ++scopes, /*partition_owned=*/false);
}

TEST(PostgresWindow, AServerIsThere) {
  ONCEMQ_REQUIRE_POSTGRES();
}

[[maybe_unused]] const bool kRegistered =
    !testing::PostgresServer::Missing() &&
    RegisterWindowConformance(Engine("postgres", /*partition_owned=*/false)) &&
    RegisterWindowConformance(Engine("postgres_owned", /*partition_owned=*/true));

}  // namespace

namespace testing {
INSTANTIATE_TEST_SUITE_P(Postgres, ClockSetBack,
                         ::testing::Values(ClockOfServer{"postgres", PostgresServer::Missing,
                                                         OpenNew, Advance}));
}  // namespace testing
}  // namespace oncemq
