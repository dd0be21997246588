// SPDX-License-Identifier: Apache-2.0
#include "gate_engines.h"

#include <atomic>
#include <stdexcept>

#include "oncemq/dedup/local_window.h"
#include "oncemq/dedup/memory_window.h"
#include "support/temp_dir.h"
#ifdef ONCEMQ_WITH_REDIS
#include "conformance/suite_server.h"
#include "oncemq/clients/redis_client.h"
#include "redis/redis_window_engine.h"
#include "support/redis_server.h"
#endif
#ifdef ONCEMQ_WITH_POSTGRES
#include "conformance/suite_server.h"
#include "oncemq/clients/postgres_client.h"
#include "postgres/postgres_window_engine.h"
#include "support/postgres_server.h"
#endif

namespace oncemq::testing {
namespace {

ManualClock& WindowsClock() {
  static ManualClock clock;
  return clock;
}

std::shared_ptr<Window> Taken(Result<std::unique_ptr<Window>> window) {
  if (!window) {
    throw std::runtime_error(ToString(window.error()));
  }
  return *std::move(window);
}

std::shared_ptr<Window> OpenInMemory(Level level, int) {
  return Taken(OpenMemoryWindow({.level = level, .remember = 10'000}, WindowsClock()));
}

std::shared_ptr<Window> OpenOnDisk(Level level, int number) {
  static const TempDir parent{TempDir::Quick()};
  LocalWindowOptions options;
  options.directory = parent.path() / std::to_string(number);
  options.identity = "gate";
  options.level = level;
  options.sync = SyncWhen::kNever;
  return Taken(OpenLocalWindow(options, WindowsClock()));
}

void AdvanceHere(milliseconds by) {
  WindowsClock().Advance(by);
}

#ifdef ONCEMQ_WITH_POSTGRES

// A clock that is a row, so that no test sleeps through a lease.
SqlClient& DatabaseClock() {
  static const auto client = [] {
    const std::string url = SuiteServer<PostgresServer>().url();
    auto opened = OpenPostgres(*ParsePostgresEndpoint(url));
    EXPECT_TRUE(MigratePostgresWindow(url, "oncemq"));
    EXPECT_TRUE((*opened)->Run({"CREATE TABLE test_clock (micros bigint)"}));
    EXPECT_TRUE((*opened)->Run({"INSERT INTO test_clock VALUES (1700000000000000)"}));
    return *std::move(opened);
  }();
  return *client;
}

void AdvanceThere(milliseconds by) {
  EXPECT_TRUE(DatabaseClock().Run({"UPDATE test_clock SET micros = micros + $1",
                                   {int64_t{std::chrono::microseconds(by).count()}}}));
}

std::shared_ptr<Window> OpenInDatabase(Level level, int number) {
  static_cast<void>(DatabaseClock());
  PostgresWindowOptions options;
  options.scope = "gate/" + std::to_string(number);
  options.level = level;
  options.connect = options.call = milliseconds(10'000);
  options.max_connections = 32;
  auto window = PostgresWindow::OpenAt(SuiteServer<PostgresServer>().url(), options,
                                       "(SELECT micros FROM test_clock)");
  if (!window) {
    throw std::runtime_error(ToString(window.error()));
  }
  return *std::move(window);
}

#endif

#ifdef ONCEMQ_WITH_REDIS

// A clock that is a key, likewise.
RedisClient& RedisClock() {
  static const auto client = [] {
    auto opened = RedisClient::Open(*ParseRedisEndpoint(SuiteServer<RedisServer>().url()));
    EXPECT_TRUE((*opened)->Run(RedisCommand{"SET", "test_clock", "1700000000000000"}));
    return *std::move(opened);
  }();
  return *client;
}

void AdvanceInRedis(milliseconds by) {
  const std::string micros = std::to_string(microseconds(by).count());
  EXPECT_TRUE(RedisClock().Run(RedisCommand{"INCRBY", "test_clock", micros}));
}

std::shared_ptr<Window> OpenInRedis(Level level, int number) {
  static_cast<void>(RedisClock());
  RedisWindowOptions options;
  // A scope has one level.
  options.scope = "gate/" + std::string(ToString(level)) + "/" + std::to_string(number);
  options.level = level;
  options.connect = options.call = milliseconds(10'000);
  options.max_connections = 32;
  auto window = RedisWindow::OpenAt(SuiteServer<RedisServer>().url(), options,
                                    "tonumber(redis.call('GET', 'test_clock'))");
  if (!window) {
    throw std::runtime_error(ToString(window.error()));
  }
  return *std::move(window);
}

#endif

TEST(GateEngines, TheServersAreThere) {
#ifdef ONCEMQ_WITH_REDIS
  ONCEMQ_REQUIRE_REDIS();
#endif
#ifdef ONCEMQ_WITH_POSTGRES
  ONCEMQ_REQUIRE_POSTGRES();
#endif
}

std::atomic<int> windows{0};

}  // namespace

const std::vector<GateEngine>& GateEngines() {
  static const std::vector<GateEngine> engines = [] {
    std::vector<GateEngine> all{{"memory", OpenInMemory, AdvanceHere, false},
                                {"rocksdb", OpenOnDisk, AdvanceHere}};
#ifdef ONCEMQ_WITH_REDIS
    if (!RedisServer::Missing()) {
      all.push_back({"redis", OpenInRedis, AdvanceInRedis});
    }
#endif
#ifdef ONCEMQ_WITH_POSTGRES
    if (!PostgresServer::Missing()) {
      all.push_back({"postgres", OpenInDatabase, AdvanceThere});
    }
#endif
    return all;
  }();
  return engines;
}

void GateTest::Open(Level level, const GateOptions& options) {
  window_ = GetParam().open(level, ++windows);
  gate_ = Another(options);
}

std::unique_ptr<Gate> GateTest::Another(const GateOptions& options) {
  auto opened = Gate::Open(window_, options, clock_);
  if (!opened) {
    throw std::runtime_error(ToString(opened.error()));
  }
  return *std::move(opened);
}

void GateTest::Advance(milliseconds by) {
  GetParam().advance(by);
  clock_.Advance(by);
}

void GateTest::Run(std::string_view key, std::string_view result) {
  PreAnswer pre = Pre(key);
  ASSERT_EQ(pre.state, PreState::kPermitted) << key;
  ASSERT_TRUE(pre.ticket.Final(result)) << key;
}

}  // namespace oncemq::testing
