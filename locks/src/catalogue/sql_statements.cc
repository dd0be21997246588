// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "oncemq/clients/store_secret.h"
#include "sql/sql_tables.h"
#include "store_statements.h"

namespace oncemq {
namespace {

struct Table {
  std::string_view name;
  std::string_view made_by;
  bool of_locks;  // else of switch records
};

constexpr Table kPostgres[] = {{"oncemq_locks_v1", kPostgresLocksTable, true},
                               {"oncemq_lock_seals_v1", kPostgresSealsTable, true},
                               {"oncemq_switch_v1", kPostgresSwitchTable, false},
                               {"oncemq_switch_words_v1", kPostgresWordsTable, false}};
constexpr Table kMariadb[] = {{"oncemq_locks_v1", kMariadbLocksTable, true},
                              {"oncemq_lock_seals_v1", kMariadbSealsTable, true},
                              {"oncemq_switch_v1", kMariadbSwitchTable, false},
                              {"oncemq_switch_words_v1", kMariadbWordsTable, false}};

constexpr std::string_view kRights = "SELECT, INSERT, UPDATE, DELETE";

// Of "host:port/database?name=value".
std::string DatabaseOf(std::string_view place) {
  place.remove_prefix(std::min(place.find('/') + 1, place.size()));
  return std::string(place.substr(0, place.find('?')));
}

// Quoted as a name: by `mark`, which is doubled in it.
std::string Name(std::string_view text, char mark) {
  std::string quoted(1, mark);
  for (const char c : text) {
    quoted.append(c == mark ? 2 : 1, c);
  }
  return quoted + mark;
}

std::vector<Table> TablesOf(const GrantOrder& order, std::span<const Table> all) {
  std::vector<Table> tables;
  std::copy_if(all.begin(), all.end(), std::back_inserter(tables),
               [&](const Table& table) { return table.of_locks ? order.locks : order.record; });
  return tables;
}

}  // namespace

// A schema for each application, which its role finds before any other. Whoever runs this owns it.
std::vector<std::string> PostgresStatements(const GrantOrder& order) {
  const std::string role = Name(order.user, '"');
  const std::string database = Name(DatabaseOf(order.place), '"');
  std::vector<std::string> lines{
      "DO $$BEGIN CREATE ROLE " + role + "; EXCEPTION WHEN duplicate_object THEN NULL; END$$;",
      "ALTER ROLE " + role + " WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '" +
          PostgresVerifier(order.password) + "';",
      "ALTER ROLE " + role + " IN DATABASE " + database + " SET search_path = " + role + ";",
      "GRANT CONNECT ON DATABASE " + database + " TO " + role + ";",
      "CREATE SCHEMA IF NOT EXISTS " + role + ";",
      "GRANT USAGE ON SCHEMA " + role + " TO " + role + ";",
      "SET search_path = " + role + ";"};
  for (const Table& table : TablesOf(order, kPostgres)) {
    lines.push_back(std::string(table.made_by) + ";");
    lines.push_back("GRANT " + std::string(kRights) + " ON " + std::string(table.name) + " TO " +
                    role + ";");
  }
  lines.emplace_back("RESET search_path;");
  return lines;
}

// A database for each application: the rights are those of single tables, whose names are no
// patterns.
std::vector<std::string> MariadbStatements(const GrantOrder& order) {
  const std::string user = "'" + std::string(order.user) + "'@'%'";
  const std::string password = " IDENTIFIED BY PASSWORD '" + MariadbVerifier(order.password) + "'";
  const std::string database =
      Name(DatabaseOf(order.place) + "_" + std::string(order.application), '`');
  std::vector<std::string> lines{
      "CREATE DATABASE IF NOT EXISTS " + database + ";", "CREATE USER IF NOT EXISTS " + user + ";",
      "ALTER USER " + user + " IDENTIFIED BY PASSWORD '" + MariadbVerifier(order.password) + "';",
      "USE " + database + ";"};
  for (const Table& table : TablesOf(order, kMariadb)) {
    lines.push_back(std::string(table.made_by) + ";");
    const std::string where = database + "." + std::string(table.name);
    lines.push_back("GRANT " + std::string(kRights) + " ON " + where + " TO " + user + ";");
  }
  return lines;
}

}  // namespace oncemq
