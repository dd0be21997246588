// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/mariadb_client.h"

#include <array>
#include <mutex>

#include "mariadb_connection.h"
#include "oncemq/base/store_login.h"

namespace oncemq {

Result<SqlEndpoint> ParseMariadbEndpoint(std::string_view url) {
  constexpr std::array<std::string_view, 1> kParameters{"socket"};
  return ParseSqlEndpoint(url, {"mariadb", 3306, "socket", kParameters});
}

Result<std::unique_ptr<SqlClient>> OpenMariadb(const SqlEndpoint& endpoint, const SqlTimes& times,
                                               size_t max_connections) {
  // Not safe to be done by two at once, as it would be by the first connections.
  static std::once_flag once;
  std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
  auto deadlines = Deadlines::Start();
  if (!deadlines) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no threads"};
  }
  const auto open = [endpoint, times, deadlines, login = StoreLogin::Of(endpoint)](
                        BootTime until) -> Result<std::unique_ptr<SqlConnection>> {
    auto connection = login->Enter(endpoint, until, [&](const SqlEndpoint& as) {
      return MariadbConnection::Open(as, times, deadlines, until);
    });
    if (!connection) {
      return connection.error();
    }
    return std::unique_ptr<SqlConnection>(*std::move(connection));
  };
  return SqlClient::Open(SqlDialect::kMariadb, open, times, max_connections);
}

}  // namespace oncemq
