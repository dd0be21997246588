// SPDX-License-Identifier: Apache-2.0
// A library of its own, oncemq::service_postgres: with it comes the client of PostgreSQL.
#include "oncemq/framework/service_postgres.h"
#include "service_window.h"

namespace oncemq {

Result<std::unique_ptr<Window>> OpenPostgresServiceWindow(const ServiceOptions& options) {
  if (options.engine != ServiceOptions::Engine::kPostgres) {
    return OpenServiceWindow(options);
  }
  PostgresWindowOptions window = options.postgres;
  if (window.scope.empty()) {  // of a program that filled in the options itself
    window.scope = WindowScope(options.runtime);
  }
  return OpenPostgresWindow(options.postgres_at, window);
}

}  // namespace oncemq
