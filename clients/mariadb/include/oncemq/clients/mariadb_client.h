// SPDX-License-Identifier: Apache-2.0
// A SqlClient of one MariaDB.
//
//   mariadb://user[:password]@host[:port]/database
//   mariadb://user[:password]@/database?socket=/path/of/the/socket
//
// Limits: no TLS yet. While it connects, and only then, a server that speaks very slowly may keep a
// call for a few times as long as it may take.
#pragma once

#include <memory>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/clients/sql_endpoint.h"

namespace oncemq {

Result<SqlEndpoint> ParseMariadbEndpoint(std::string_view url);

// A server that takes no writes is refused. Sessions are REPEATABLE READ and strict; they end
// statements of their own that run for longer than a call, and wait for a row for a second less.
Result<std::unique_ptr<SqlClient>> OpenMariadb(const SqlEndpoint& endpoint,
                                               const SqlTimes& times = {},
                                               size_t max_connections = 16);

}  // namespace oncemq
