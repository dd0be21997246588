// SPDX-License-Identifier: Apache-2.0
// What the tests of locks in SQL have in common. One server for all tests of a program that do not
// break it; each test has a space of its own there.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "oncemq/locks/lock_domain.h"
#include "sql_world.h"
#include "support/require_backend.h"

namespace oncemq::testing {

class SqlTest : public ::testing::TestWithParam<SqlWorldKind> {
 protected:
  void SetUp() override {
    auto& shared = Shared()[GetParam().name];
    if (!shared) {
      shared = GetParam().make();
      if (!shared->Missing()) {
        shared->Start();
      }
    }
    world_ = shared.get();
    ONCEMQ_REQUIRE_BACKEND(world_->Missing());
    space_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  // For those who break it.
  void StartOwn() {
    own_ = GetParam().make();
    own_->Start();
    world_ = own_.get();
  }
  static void TearDownTestSuite() { Shared().clear(); }

  std::shared_ptr<LockEngine> OpenLocks(milliseconds call = milliseconds(20'000),
                                        size_t max_waiters = 1'000) {
    return OpenLocksAt(world_->port(), call, max_waiters);
  }
  std::shared_ptr<LockEngine> OpenLocksAt(uint16_t port, milliseconds call = milliseconds(20'000),
                                          size_t max_waiters = 1'000) {
    auto locks = world_->OpenLocks(world_->UrlAt(port), space_, call, max_waiters);
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return locks ? *std::move(locks) : nullptr;
  }
  std::unique_ptr<SqlStore> OpenStore(bool own_clock = false) {
    auto store = world_->OpenStore(world_->url(), space_, milliseconds(20'000), own_clock);
    EXPECT_TRUE(store.has_value()) << ToString(store.error());
    return store ? *std::move(store) : nullptr;
  }
  SqlClient& client() {
    if (!client_) {
      auto client = world_->OpenClient(world_->url());
      EXPECT_TRUE(client.has_value()) << ToString(client.error());
      client_ = *std::move(client);
    }
    return *client_;
  }
  SqlAnswer Sql(const std::string& text, std::vector<SqlValue> values = {}) {
    auto answer = client().Run({text, std::move(values)});
    EXPECT_TRUE(answer.has_value()) << text << ": " << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  std::string One(const std::string& text, std::vector<SqlValue> values = {}) {
    const SqlAnswer answer = Sql(text, std::move(values));
    return answer.rows.empty() ? "" : answer.rows[0][0].value_or("");
  }
  // How many statements wait for a lock of somebody else.
  int Waiting() {
    return std::stoi(client().dialect() == SqlDialect::kPostgres
                         ? One("SELECT count(*) FROM pg_locks WHERE NOT granted")
                         : One("SELECT variable_value FROM information_schema.global_status WHERE "
                               "variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'"));
  }
  // The values of its space, and then of a name.
  std::string Here(bool name = false) const {
    const bool postgres = client_->dialect() == SqlDialect::kPostgres;
    return postgres ? (name ? "space = $1 AND name = $2" : "space = $1")
                    : (name ? "space = ? AND name = ?" : "space = ?");
  }

  static AcquireRequest RequestOf(uint64_t attempt, std::string_view name = "x") {
    return {.name = name,
            .token = {7, attempt},
            .lease = milliseconds(60'000),
            .queue_lease = milliseconds(60'000)};
  }

  SqlWorld* world_ = nullptr;
  std::string space_;

 private:
  using Worlds = std::map<std::string, std::unique_ptr<SqlWorld>>;
  static Worlds& Shared() {
    static Worlds worlds;
    return worlds;
  }

  std::unique_ptr<SqlWorld> own_;
  std::unique_ptr<SqlClient> client_;
};

}  // namespace oncemq::testing
