// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL: one memory of ids for all processes of a group, on any host.
//
//   auto window = OpenPostgresWindow("postgres://payments:secret@db.internal/payments",
//                                    {.scope = "payments/settle", .level = Level::kGuarded});
//
// Promise: the full contract of Window for any number of processes. Every answer was committed
// before it is given. Leases and ownerships follow the server's clock. A finished id is known for
// at least `remember` of log time, measured at the slowest partition of the scope. The time counts
// from its record's stamp, or from its partition's watermark if that is later. An id without a
// partition is known for its own time (CompleteRequest::keep), by the server's clock. At the level
// atomic the effects of a run and its markers are one transaction (sql_effects.h): claims are not
// stored, and of concurrent copies the one that commits first counts.
//
// Ids: one id names one operation over all topics and partitions of the scope. With
// `partition_owned` it names one within its topic and partition, as in the other engines. A scope
// keeps what it was made for. One of an earlier version keeps one id over all partitions; the log
// and WindowCapabilities::still_crossing say so.
//
// Limits: PostgreSQL 14 or later. A call costs one or two round trips; a claim or a completion of
// one id without a partition costs one, and up to three where another row is in its place. How much
// a commit survives is the server's synchronous_commit. A pool in front of the server must keep a
// session for a client. A server that may have lost commits (a promoted standby, a restored backup,
// any restart) is recognised by its start, timeline and log position: calls for partitions that
// were opened before answer kRegressed until Open() is called for them again. At the level opaque
// Open() tells a process that had not opened the partition before the same (Known). Stop all
// members before a restore, promote synchronous standbys only, or choose guarded.
//
// Failure: kInvalid for a wrong address, an older server, missing tables (the text says how they
// are made), a missing right, shorter times than the scope has, and a scope that belongs to another
// group or was made for ids of the other kind; kRefused for a user or password that the server does
// not take, which is backed off from (store_login.h); kUnavailable and kTimeout for outages and
// for locks of others; kUnavailable of RaiseOwn(), at once, while a run of the earlier owner is
// under way.
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
  // All copies of an id come through one partition (see above).
  bool partition_owned = false;
  WindowTimes times;
  // How long a finished id is surely known, in log time. The scope keeps the longest
  // `remember` and the longest `skew` of all its openings, and ids age by these. An opening with a
  // shorter one is kInvalid. An operator lowers them for all (RememberChange::kReplace).
  milliseconds remember = std::chrono::hours(24 * 7);
  // How far the time stamps of different producers may differ; kept in addition.
  milliseconds skew = std::chrono::minutes(1);
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one statement and its answer
  // Of a handler between two statements in the run's transaction; after it the server ends it.
  milliseconds idle{10'000};
  // One for each worker, whose run may keep it while handlers work, and two that keep partitions
  // and leases.
  size_t max_connections = 16;
  // For a look from outside: makes no scope. One that is missing is kNotFound.
  bool look_only = false;
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
