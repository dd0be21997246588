// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/postgres_client.h"

#include "oncemq/base/store_login.h"
#include "postgres_connection.h"

namespace oncemq {

Result<std::unique_ptr<SqlClient>> OpenPostgres(const SqlEndpoint& endpoint, const SqlTimes& times,
                                                size_t max_connections) {
  const auto open = [endpoint, times, login = StoreLogin::Of(endpoint)](
                        BootTime until) -> Result<std::unique_ptr<SqlConnection>> {
    auto connection = login->Enter(endpoint, until, [&](const SqlEndpoint& as) {
      return PostgresConnection::Open(as, times, until);
    });
    if (!connection) {
      return connection.error();
    }
    return std::unique_ptr<SqlConnection>(*std::move(connection));
  };
  return SqlClient::Open(SqlDialect::kPostgres, open, times, max_connections);
}

}  // namespace oncemq
