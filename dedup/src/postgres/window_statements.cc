// SPDX-License-Identifier: Apache-2.0
#include "window_statements.h"

#include <map>

#include "oncemq/base/check.h"
#include "oncemq/base/mutant.h"
#include "statements_sql.h"

namespace oncemq {
namespace {

using Words = std::map<std::string, std::string, std::less<>>;

void ReplaceOnce(std::string& text, std::string_view old, std::string_view by) {
  const size_t at = text.find(old);
  ONCEMQ_CHECK(at != text.npos, "the statements have the text that is replaced");
  text.replace(at, old.size(), by);
}

std::string Statements() {
  std::string text(kStatementsSql);
  if (ONCEMQ_MUTANT("postgres-filed-by-stamp-alone")) {
    ReplaceOnce(text, "greatest(v.filed, @least_filed@)", "v.filed");
  }
  if (ONCEMQ_MUTANT("postgres-late-announcement-counts")) {
    ReplaceOnce(text, "p.told >= $12", "false");
  }
  return text;
}

// Of other words.
Words Phrases() {
  const std::string slowest =
      ONCEMQ_MUTANT("postgres-fast-partition-decides") ? "max(watermark)" : "min(watermark)";
  return {{"slowest", slowest},
          // A watermark that is not known yet is no later than the clock.
          {"least_filed",
           "coalesce((SELECT greatest(latest, watermark) FROM @schema@.window_partitions AS p "
           "WHERE p.scope = $1 AND p.source = v.source AND p.part = v.part), "
           "(SELECT @clock@ / 1000))"},
          // A sweep takes older ids only: a watermark may have gone back since it began.
          {"slowest_now", "(SELECT CASE WHEN count(*) = count(watermark) THEN " + slowest +
                              " ELSE 0 END FROM @schema@.window_partitions "
                              "WHERE scope = $1 AND own > 0)"}};
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
  return {FillIn(Statements(), Phrases()), words};
}

}  // namespace oncemq
