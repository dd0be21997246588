// SPDX-License-Identifier: Apache-2.0
// The window in Redis: one memory of ids for all processes of a group, on any host.
//
//   auto window = OpenRedisWindow("redis://payments:secret@cache.internal",
//                                 {.scope = "payments/settle", .level = Level::kGuarded});
//
// Promise: the contract of Window at the levels guarded and opaque. A finished id is known for at
// least `remember` of log time, at the slowest partition of the scope. Leases and ownerships follow
// the server's clock.
//
// Limits: the server's configuration decides how much a restart or a failover takes. A loss is
// recognised: calls for partitions opened before answer kLostWrites until Open() (rule 31), and
// losses() counts it. docs/windows.md has costs, settings and limits.
//
// Failure: kInvalid for a server that cannot keep the promise, a missing right, and a scope of
// another group, kind of ids or times. kRefused for a login. kUnavailable and kTimeout for
// outages, for a replica, and after a failover to a server that would be kInvalid.
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

struct RedisWindowOptions {
  // Begins each key, so that a right to "<prefix>:*" is a right to the windows of one application.
  // Printable, without spaces and braces.
  std::string prefix = "oncemq";
  // Names the handler and its group. Processes with the same scope share their ids.
  std::string scope;
  // Decides how a claim may be taken over. Must be said.
  std::optional<Level> level;
  // Set it where all copies of an id come through one partition: claims cost no round trip then,
  // and each commit stores the ids finished since. A partition that is not open here is answered
  // kFenced, and so is an id without one. Results are not kept. A scope keeps its kind.
  bool partition_owned = false;
  WindowTimes times;
  // How long a finished id is surely known, in log time: a century at most, as skew. Raise it where
  // copies come later, lower it to save memory. The scope keeps the longest `remember` and the
  // longest `skew` of all its openings, and ids age by these. An opening with a shorter one is
  // kInvalid. An operator lowers them for all (RememberChange::kReplace).
  milliseconds remember = std::chrono::hours(24 * 7);
  // Kept in addition. Raise it where time stamps of different producers differ by more.
  milliseconds skew = std::chrono::minutes(1);
  // Raise both for a server far away. A gate needs them short (GateOptions::within).
  milliseconds connect{1'000};
  milliseconds call{2'000};     // one script and its answer
  size_t max_connections = 16;  // two more than workers: raise it with them
  // Number of replicas to wait for in Announce(), and in a change of an id without a partition.
  // Raise it where a failover may pick a lagging replica. New claims and releases do not wait.
  int replicas = 0;
  // For a look from outside: makes no scope. One that is missing is kNotFound.
  bool existing_only = false;
  // Set it once the scope was made: one that is missing is kInvalid then, and not made anew
  // without its memory.
  bool expect_scope = false;
  // Tries each command of a service on a key that is gone at once. Off: the right to read
  // suffices for a look.
  bool check_rights = true;
  // Reads the address again after the server has refused its user or password, so that a new
  // password needs no restart. Set it where the address comes from a file. The server stays.
  ReadAddress read_address = {};
};

WindowCapabilities RedisWindowCapabilities(bool partition_owned = false);

// The address as of RedisEndpoint (clients/redis_endpoint.h). Blocks: for four calls. The
// capabilities say whether the server keeps its data over a restart (survives_restart).
Result<std::unique_ptr<Window>> OpenRedisWindow(std::string_view address,
                                                const RedisWindowOptions& options);

// How long claims take there. Makes a scope of its own below the prefix, claims and releases new
// ids one after another, and removes its keys. Of a call that is not answered keys may stay, below
// <prefix>:{doctor/...}. Fewer than `claims` where they last longer than 10 s. Failures: of an
// opening and of a call.
Result<std::vector<microseconds>> TimeRedisClaims(std::string_view address,
                                                  RedisWindowOptions options, int claims);

}  // namespace oncemq
