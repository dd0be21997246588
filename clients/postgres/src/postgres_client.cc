// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/postgres_client.h"

#include <algorithm>
#include <array>

#include "postgres_line.h"

namespace oncemq {

Result<SqlPlace> ParsePostgresPlace(std::string_view url) {
  constexpr std::array<std::string_view, 3> kParameters{"host", "sslmode", "sslrootcert"};
  auto place = ParseSqlPlace(url, {"postgres", 5432, "host", kParameters});
  constexpr std::array<std::string_view, 7> kModes{"",        "disable",   "allow",      "prefer",
                                                   "require", "verify-ca", "verify-full"};
  if (place &&
      std::find(kModes.begin(), kModes.end(), place->Parameter("sslmode")) == kModes.end()) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the address of a PostgreSQL: sslmode is disable, allow, prefer, require, "
                 "verify-ca or verify-full"};
  }
  return place;
}

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
