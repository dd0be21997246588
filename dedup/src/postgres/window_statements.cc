// SPDX-License-Identifier: Apache-2.0
#include "window_statements.h"

#include <map>

#include "statements_sql.h"

namespace oncemq {
namespace {

using Words = std::map<std::string, std::string, std::less<>>;

// Of other words.
Words Phrases() {
  return {// A watermark that is not known yet is no later than the clock.
          {"least_filed",
           "coalesce((SELECT greatest(latest, watermark) FROM @schema@.window_partitions AS p "
           "WHERE p.scope = $1 AND p.source = v.source AND p.part = v.part), "
           "(SELECT @clock@ / 1000))"},
          // A sweep takes older ids only: a watermark may have gone back since it began.
          {"slowest_now",
           "(SELECT CASE WHEN count(*) = count(watermark) THEN min(watermark) ELSE 0 END "
           "FROM @schema@.window_partitions WHERE scope = $1 AND own > 0)"}};
}

}  // namespace

std::string QuotedSchema(std::string_view schema) {
  return "\"" + std::string(schema) + "\"";
}

SqlTextsByName WindowStatements(std::string_view schema, std::string_view clock) {
  const Words words{
      {"schema", QuotedSchema(schema)},
      {"clock", std::string(clock)},
      {"started", "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"},
      {"timeline", "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"},
      {"position", "(pg_current_wal_lsn() - '0/0')::bigint"}};
  return {FillIn(kStatementsSql, Phrases()), words};
}

}  // namespace oncemq
