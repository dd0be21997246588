// SPDX-License-Identifier: Apache-2.0
// A MariaDB for the tests of its client and of its locks.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "oncemq/clients/mariadb_client.h"
#include "sql_client_fixture.h"
#include "support/mariadb_server.h"

namespace oncemq::testing {

inline Result<std::unique_ptr<SqlClient>> OpenMariadbAt(const std::string& url,
                                                        const SqlTimes& times, size_t connections) {
  const auto endpoint = ParseMariadbEndpoint(url);
  EXPECT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  return OpenMariadb(*endpoint, times, connections);
}

class MariadbTest : public SqlClientFixture<MariadbServer, OpenMariadbAt> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_MARIADB();
    Begin();
  }
  // The connection that runs such a statement; empty: none does.
  std::string Running(std::string_view like) {
    return One(
        {"SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND "
         "info LIKE CONVERT(? USING utf8mb4)",
         {like}});
  }
};

}  // namespace oncemq::testing
