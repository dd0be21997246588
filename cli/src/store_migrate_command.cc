// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "audit.h"
#include "exit_code.h"
#include "lock_target.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/framework/service_file.h"
#include "query_service.h"
#include "safe_json.h"
#include "store_command.h"

namespace oncemq {
namespace {

#ifdef ONCEMQ_WITH_POSTGRES

Error MigrationRefused(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

// Where the tables are to be.
struct MigrationTarget {
  std::string at;
  std::string schema;
};

Result<MigrationTarget> TargetOfFile(const std::string& config) {
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    return options.error();
  }
  if (options->engine != ServiceOptions::Engine::kPostgres) {
    return MigrationRefused(config + ": `window.engine` is `" +
                            std::string(ToString(options->engine)) +
                            "`; only the window in PostgreSQL has tables");
  }
  return MigrationTarget{options->postgres_at, options->postgres.schema};
}

Result<MigrationTarget> TargetOf(const MigrateArguments& arguments) {
  if (!arguments.config.empty()) {
    return TargetOfFile(arguments.config);
  }
  if (const Status fit = NoPasswordIn(arguments.at, "ONCEMQ_WINDOW"); !fit) {
    return fit.error();
  }
  MigrationTarget target{Said(arguments.at, "ONCEMQ_WINDOW"), arguments.schema};
  if (target.schema.empty()) {
    target.schema = PostgresWindowOptions().schema;
  }
  if (target.at.empty() && !arguments.print) {
    return MigrationRefused(
        "which database? Say -c FILE, or --at postgres://user@host:port/database; or set "
        "ONCEMQ_WINDOW");
  }
  return target;
}

int MigrationFailed(const Error& error) {
  std::cerr << SafeText(error.message) << "\n";
  return ExitCodeOfQuery(error);
}

int PrintSchema(const std::string& schema) {
  const auto text = PostgresWindowSchema(schema);
  if (!text) {
    return MigrationFailed(text.error());
  }
  std::cout << *text;
  return kExitDone;
}

#endif

}  // namespace

#ifdef ONCEMQ_WITH_POSTGRES

int StoreMigrateCommand(const MigrateArguments& arguments) {
  const auto target = TargetOf(arguments);
  if (!target) {
    std::cerr << target.error().message << "\n";  // of a file: a line for each mistake
    return kExitUsage;
  }
  if (arguments.print) {
    return PrintSchema(target->schema);
  }
  const Status made = Audited(
      "store migrate", target->schema, "",
      [&] { return MigratePostgresWindow(target->at, target->schema); },
      [](const Status& done) { return done ? std::string("done") : ToString(done.error()); });
  if (!made) {
    return MigrationFailed(made.error());
  }
  std::cout << "the tables of the window are in the schema " << target->schema << "\n";
  return kExitDone;
}

#else

int StoreMigrateCommand(const MigrateArguments&) {
  std::cerr << "this build has no window in PostgreSQL (ONCEMQ_WITH_POSTGRES=OFF)\n";
  return kExitUsage;
}

#endif

}  // namespace oncemq
