// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/postgres_client.h"

#include "oncemq/base/store_login.h"
#include "postgres_line.h"

namespace oncemq {

Result<std::unique_ptr<SqlClient>> OpenPostgres(const SqlPlace& place, const SqlTimes& times,
                                                size_t max_connections) {
  const auto open = [place, times, login = StoreLogin::Of(place)](
                        BootTime until) -> Result<std::unique_ptr<SqlLine>> {
    auto line = login->Enter(
        place, until, [&](const SqlPlace& as) { return PostgresLine::Open(as, times, until); });
    if (!line) {
      return line.error();
    }
    return std::unique_ptr<SqlLine>(*std::move(line));
  };
  return SqlClient::Open(SqlDialect::kPostgres, open, times, max_connections);
}

}  // namespace oncemq
