// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/postgres_client.h"

#include "oncemq/base/store_login.h"
#include "postgres_line.h"

namespace oncemq {

Result<std::unique_ptr<SqlClient>> OpenPostgres(const SqlEndpoint& endpoint, const SqlTimes& times,
                                                size_t max_connections) {
  const auto open = [endpoint, times, login = StoreLogin::Of(endpoint)](
                        BootTime until) -> Result<std::unique_ptr<SqlLine>> {
    auto line = login->Enter(endpoint, until, [&](const SqlEndpoint& as) {
      return PostgresLine::Open(as, times, until);
    });
    if (!line) {
      return line.error();
    }
    return std::unique_ptr<SqlLine>(*std::move(line));
  };
  return SqlClient::Open(SqlDialect::kPostgres, open, times, max_connections);
}

}  // namespace oncemq
