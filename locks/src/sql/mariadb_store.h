// SPDX-License-Identifier: Apache-2.0
// SqlStore in MariaDB.
#pragma once

#include <memory>
#include <string>

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/clients/sql_endpoint.h"
#include "sql_store.h"

namespace oncemq {

struct MariadbStoreOptions {
  std::string space;
  SqlTimes times;
  size_t max_connections = 16;
  // What is the time, in microseconds since 1970: an expression. In UTC, as other times are
  // repeated in an hour of autumn.
  std::string clock = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
};

// Makes the tables where they are missing.
Result<std::unique_ptr<SqlStore>> OpenMariadbStore(const SqlEndpoint& endpoint,
                                                   const MariadbStoreOptions& options);

}  // namespace oncemq
