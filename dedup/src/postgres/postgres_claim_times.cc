// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL: the time of a claim.
#include <array>

#include "../claim_times.h"
#include "../window_check.h"
#include "oncemq/base/bytes.h"
#include "oncemq/clients/postgres_client.h"
#include "postgres_window_engine.h"

namespace oncemq {
namespace {

// A service needs no such right. `options` were taken by a window, so its schema is a plain name.
Status MayRemoveScopes(std::string_view address, const PostgresWindowOptions& options) {
  const auto endpoint = ParsePostgresEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  const auto client = OpenPostgres(*endpoint, {options.connect, options.call}, 1);
  if (!client) {
    return client.error();
  }
  const std::string text =
      "SELECT has_table_privilege('\"" + options.schema + "\".window_scopes', 'DELETE')";
  const auto may = (*client)->Run({text});
  if (!may) {
    return may.error();
  }
  return may->rows.size() == 1 && may->rows[0][0] == "t"
             ? Status()
             : InvalidRequest(
                   "the role of the address lacks the right DELETE on window_scopes, so a scope "
                   "that is made for this would stay");
}

}  // namespace

Status PostgresWindow::RemoveScope() {
  const std::array statements{Text("remove_ids", {scope_.number}),
                              Text("remove_scope", {scope_.number})};
  const auto removed = All(statements);
  return removed ? Status() : removed.error();
}

Result<std::vector<microseconds>> TimePostgresClaims(std::string_view address,
                                                     PostgresWindowOptions options, int claims) {
  options.scope = "doctor/" + Hex(SecureRandom64());
  options.level = options.level == Level::kOpaque ? Level::kOpaque : Level::kGuarded;
  options.existing_only = true;
  options.check_rights = true;
  const auto existing = PostgresWindow::OpenAt(address, options, kPostgresClock);
  if (!existing && existing.error().code != Code::kNotFound) {
    return existing.error();
  }
  if (const Status may = MayRemoveScopes(address, options); !may) {
    return may.error();
  }
  options.existing_only = false;
  return TimeClaimsIn(PostgresWindow::OpenAt(address, options, kPostgresClock), claims);
}

}  // namespace oncemq
