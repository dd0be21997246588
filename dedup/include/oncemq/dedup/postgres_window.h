// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL: one memory of ids for all processes of a group, on any host.
//
//   auto window = OpenPostgresWindow("postgres://payments:secret@db.internal/payments",
//                                    {.scope = "payments/settle", .level = Level::kGuarded});
//
// Promise: the contract of Window. Answers are committed. A finished
// id is known for at least `remember` of log time, at the slowest partition of the scope. At the
// level atomic the effects of a batch and its markers are one transaction (sql_effects.h).
//
// Limits: PostgreSQL 14 or later. synchronous_commit decides how much a commit survives. After a
// restart of the server calls for partitions opened before answer kLostWrites until Open().
// docs/windows.md has roles, costs and limits.
//
// Failure: kInvalid for a wrong address, an older server, missing tables or rights, and a scope
// of another group, kind of ids or times. kRefused for a login. kUnavailable and kTimeout for
// outages and locks of others, and for RaiseOwnerEpoch() during a batch of the earlier owner.
//
// Thread safety: any thread; calls run in parallel, each over a connection of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/address.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

struct PostgresWindowOptions {
  // The schema of the tables, one for each application: a-z, 0-9 and _, at most 63.
  std::string schema = "oncemq";
  // Names the handler and its group. Processes with the same scope share their ids.
  std::string scope;
  // Decides how a claim may be taken over. Must be said.
  std::optional<Level> level;
  // All copies of an id come through one partition: an id names one operation within its topic and
  // partition. Otherwise it names one over all of them. A scope keeps its kind.
  bool partition_owned = false;
  WindowTimes times;
  // How long a finished id is surely known, in log time. Raise it where copies come later, lower it
  // to save room. The scope keeps the longest `remember` and the longest `skew` of all its
  // openings, and ids age by these. An opening with a shorter one is kInvalid. An operator lowers
  // them for all (RememberChange::kReplace).
  milliseconds remember = std::chrono::hours(24 * 7);
  // Kept in addition. Raise it where time stamps of different producers differ by more.
  milliseconds skew = std::chrono::minutes(1);
  // Raise both for a server far away. A gate needs them short (GateOptions::within).
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one statement and its answer
  // Between two statements of a batch's transaction; then the server ends it. Raise it for handlers
  // that compute longer, and lower it where their rows must be free soon.
  milliseconds idle{10'000};
  // One for each worker, and two for partitions and leases: raise it with the workers.
  size_t max_connections = 16;
  // For a look from outside: makes no scope. One that is missing is kNotFound.
  bool existing_only = false;
  // Set it once the scope was made: one that is missing is kInvalid then, and not made anew
  // without its memory.
  bool expect_scope = false;
  // False: for a look by a role that may only read.
  bool check_rights = true;
  // Reads the address again after the server has refused its user or password, so that a new
  // password needs no restart. Set it where the address comes from a file. The server stays.
  ReadAddress read_address = {};
};

WindowCapabilities PostgresWindowCapabilities(bool partition_owned = false);

// The address as of OpenPostgres (clients/postgres_client.h). Blocks: for three calls.
Result<std::unique_ptr<Window>> OpenPostgresWindow(std::string_view address,
                                                   const PostgresWindowOptions& options);

// How long claims take there, at the level guarded where the options say atomic. Makes a scope of
// its own, claims and releases new ids one after another, and removes its rows; of a call that is
// not answered they may stay. Fewer than `claims` where they last longer than 10 s. Failures: of an
// opening and of a call; kInvalid also for a role without the right DELETE on window_scopes, which
// a service does not need.
Result<std::vector<microseconds>> TimePostgresClaims(std::string_view address,
                                                     PostgresWindowOptions options, int claims);

// The statements that make the tables, for a role that may. Making them twice changes nothing.
Result<std::string> PostgresWindowSchema(std::string_view schema);
Status MigratePostgresWindow(std::string_view address, std::string_view schema);

}  // namespace oncemq
