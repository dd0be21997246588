// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL for the tests of its client and of its locks: one for all that do not break it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "support/eventually.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
inline constexpr SqlTimes kShort{milliseconds(10'000), milliseconds(3'000)};
inline constexpr SqlTimes kPatient{milliseconds(10'000), milliseconds(30'000)};
inline constexpr std::chrono::seconds kPatience{60};

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    if (!shared_) {
      shared_ = PostgresServer::Start();
    }
    server_ = shared_.get();
  }
  static void TearDownTestSuite() { shared_.reset(); }
  void StartOwn(std::vector<std::string> settings = {}) {
    own_ = PostgresServer::Start(std::move(settings));
    server_ = own_.get();
  }
  static Result<std::unique_ptr<SqlClient>> Open(const std::string& url,
                                                 const SqlTimes& times = kPatient,
                                                 size_t connections = 16) {
    const auto place = ParsePostgresPlace(url);
    EXPECT_TRUE(place.has_value()) << ToString(place.error());
    return OpenPostgres(*place, times, connections);
  }
  void OpenClient(const SqlTimes& times = kPatient, size_t connections = 16) {
    auto client = Open(server_->url(), times, connections);
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    client_ = *std::move(client);
  }
  SqlAnswer Run(const SqlStatement& statement) {
    if (!client_) {
      OpenClient();
    }
    auto answer = client_->Run(statement);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  std::string One(const SqlStatement& statement) {
    const SqlAnswer answer = Run(statement);
    return answer.rows.empty() ? "" : answer.rows[0][0].value_or("");
  }
  // Ends the connections of others: of those who listen, or of all.
  void Terminate(const std::string& which = "true") {
    const std::string text =
        "SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE backend_type = "
        "'client backend' AND pid <> pg_backend_pid() AND (" +
        which + ")";
    Run({text});
  }

  PostgresServer* server_ = nullptr;
  std::unique_ptr<SqlClient> client_;

 private:
  static inline std::unique_ptr<PostgresServer> shared_;
  std::unique_ptr<PostgresServer> own_;
};

}  // namespace oncemq::testing
