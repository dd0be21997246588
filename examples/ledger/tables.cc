// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "schema_sql.h"

namespace ledger {
namespace {

// In schema.sql a `;` at the end of a line ends a statement, and none stands there otherwise.
std::vector<oncemq::SqlStatement> Statements(std::string_view text) {
  std::vector<oncemq::SqlStatement> statements;
  for (size_t end = text.find(";\n"); end != std::string_view::npos; end = text.find(";\n")) {
    statements.push_back({text.substr(0, end)});
    text.remove_prefix(end + 2);
  }
  return statements;
}

}  // namespace

oncemq::Status MakeTables(std::string_view address) {
  const auto endpoint = oncemq::ParsePostgresEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  const auto client = oncemq::OpenPostgres(*endpoint, {.call = oncemq::milliseconds(10'000)}, 1);
  if (!client) {
    return client.error();
  }
  const auto made = (*client)->Try(Statements(oncemq::kSchemaSql));
  if (!made || made->refusal) {
    return made ? SqlError(*made->refusal) : made.error();
  }
  return oncemq::MigratePostgresWindow(address, oncemq::PostgresWindowOptions().schema);
}

}  // namespace ledger
