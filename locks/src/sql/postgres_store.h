// SPDX-License-Identifier: Apache-2.0
// SqlStore in PostgreSQL.
#pragma once

#include <memory>
#include <string>

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/clients/sql_endpoint.h"
#include "sql_store.h"

namespace oncemq {

struct PostgresStoreOptions {
  std::string space;
  SqlTimes times;
  size_t max_connections = 16;
  // What is the time, in microseconds since 1970: an expression.
  std::string clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
};

// Makes the tables where they are missing.
Result<std::unique_ptr<SqlStore>> OpenPostgresStore(const SqlEndpoint& endpoint,
                                                    const PostgresStoreOptions& options);

}  // namespace oncemq
