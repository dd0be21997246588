// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/postgres_client.h"

#include "postgres_line.h"

namespace oncemq {

Result<std::unique_ptr<SqlClient>> OpenPostgres(const SqlPlace& place, const SqlTimes& times,
                                                size_t max_connections) {
  const auto open = [place, times](BootTime until) -> Result<std::unique_ptr<SqlLine>> {
    auto line = PostgresLine::Open(place, times, until);
    if (!line) {
      return line.error();
    }
    return std::unique_ptr<SqlLine>(*std::move(line));
  };
  return SqlClient::Open(SqlDialect::kPostgres, open, times, max_connections);
}

}  // namespace oncemq
