// SPDX-License-Identifier: Apache-2.0
// A SqlClient of one PostgreSQL; and PostgresListener, which hears its notifications.
//
//   postgres://user[:password]@host[:port]/database[?sslmode=...&sslrootcert=...]
//   postgres://user[:password]@/database?host=/directory/of/the/socket
//
// Limits: a pool in front of the server (pgbouncer) must keep a session for a client: with pooling
// by transaction neither prepared statements nor notifications get through.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/clients/sql_endpoint.h"

namespace oncemq {

// A server that takes no writes is refused. Sessions are READ COMMITTED, and end statements and
// waits for locks before the time of a call is over (SqlTimes). All else is as the server has it,
// synchronous_commit too.
Result<std::unique_ptr<SqlClient>> OpenPostgres(const SqlEndpoint& endpoint,
                                                const SqlTimes& times = {},
                                                size_t max_connections = 16);

// Why PostgreSQL cannot be sent these values: a SqlText has a byte 0. A statement with such a value
// is not sent; it costs its connection, so a caller with a transaction asks here first.
std::optional<Error> UnfitForPostgres(const SqlStatement& statement);

// Hears what is notified on one channel, on a thread of its own, and connects again as long as it
// lives. What is notified while it is not connected, it does not hear.
//
// Thread safety: any thread.
class PostgresListener {
 public:
  // The channel: lower-case letters, digits and _, at most 63. `heard` is called with each
  // payload, `connected` each time it begins or ceases to hear; both on the listener's thread,
  // which they must not block. None if the system gives no thread.
  static std::unique_ptr<PostgresListener> Start(const SqlEndpoint& endpoint, const SqlTimes& times,
                                                 const std::string& channel,
                                                 std::function<void(std::string_view)> heard,
                                                 std::function<void(bool)> connected);
  // Ends its thread, in bounded time.
  ~PostgresListener();
  PostgresListener(const PostgresListener&) = delete;
  PostgresListener& operator=(const PostgresListener&) = delete;

 private:
  struct Parts;
  explicit PostgresListener(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
