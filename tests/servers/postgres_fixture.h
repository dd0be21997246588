// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL for the tests of its client and of its locks.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "oncemq/clients/postgres_client.h"
#include "sql_client_fixture.h"
#include "support/postgres_server.h"

namespace oncemq::testing {

inline Result<std::unique_ptr<SqlClient>> OpenPostgresAt(const std::string& url,
                                                         const SqlTimes& times,
                                                         size_t connections) {
  const auto endpoint = ParsePostgresEndpoint(url);
  EXPECT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  return OpenPostgres(*endpoint, times, connections);
}

class PostgresTest : public SqlClientFixture<PostgresServer, OpenPostgresAt> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    Begin();
  }
  // Ends the connections of others: of those who listen, or of all.
  void Terminate(const std::string& which = "true") {
    const std::string text =
        "SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE backend_type = "
        "'client backend' AND pid <> pg_backend_pid() AND (" +
        which + ")";
    Run({text});
  }
};

}  // namespace oncemq::testing
