// SPDX-License-Identifier: Apache-2.0
// A library of its own, oncemq::service_postgres: with it comes the client of PostgreSQL.
#include "oncemq/framework/service_postgres.h"
#include "service_window.h"

namespace oncemq {

Result<std::unique_ptr<Window>> OpenPostgresServiceWindow(const ServiceOptions& options) {
  return options.engine == ServiceOptions::Engine::kPostgres
             ? OpenPostgresWindow(options.postgres_at, WithScope(options.postgres, options.runtime))
             : OpenServiceWindow(options);
}

}  // namespace oncemq
