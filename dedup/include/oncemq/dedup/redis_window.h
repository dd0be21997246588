// SPDX-License-Identifier: Apache-2.0
// The window in Redis: one memory of ids for all processes of a group, on any host.
//
//   auto window = OpenRedisWindow("redis://payments:secret@cache.internal",
//                                 {.scope = "payments/settle", .level = Level::kGuarded});
//
// Promise: the contract of Window at the levels guarded and opaque, for any number of processes.
// Each change is one script, so it is made as a whole. Leases and ownerships follow the server's
// clock. A finished id is known for at least `remember` of log time, measured at the slowest
// partition of the scope, and has no TTL (rule 25). The time counts from its record's stamp, or
// from its partition's watermark if that is later. An id without a partition is known for its own
// time (CompleteRequest::keep), by the server's clock; statistics do not count it.
//
// Ids that their partition owns (`partition_owned`): all copies of an id come through one
// partition, so its owner decides in memory. Claims, completions and releases cost no round trip.
// Announce(), before each commit, appends the ids finished since to a stream of the partition;
// only the newest owner may. Open() and RaiseOwn() read the stream, so the next owner knows all
// that was announced. The rest is uncertain (WindowCapabilities::keeps_claims). A partition that is
// not open here is answered kFenced, and so is an id without one. Results are not kept, nothing is
// forgotten by hand, and leases follow this process's clock. A finished id takes about 25 bytes in
// Redis and up to 50 here where commits finish a hundred ids and more, else up to 41 and 177.
//
// Limits: claims of new ids, completions and plain releases cost one round trip, anything else two.
// How much a restart or a failover of the server takes is the server's configuration: append-only
// file, fsync, replicas. A server that has lost changes (an older replica, a restart, FLUSHALL) is
// recognised by a count of each process's changes: calls for partitions that were opened before
// answer kRegressed until Open() is called for them again (rule 31). The same is answered to a
// process that has asked nothing for a week. A dead owner counts nothing: for the next one a server
// that was started again or replaced since the last announcement has lost changes (Known). An
// opening within `remember` after such a change logs it, and counts it (losses()).
//
// Failure: kInvalid for a wrong address, a server that may evict keys, a node of a cluster, a
// version before 5, a missing right, shorter times than the scope has, and a scope that belongs to
// another group, or was made for ids of the other kind; kRefused for a user or password that the
// server does not take, which is backed off from (store_login.h); kUnavailable and kTimeout for
// outages, and for a replica. Each new connection is judged like the first one: after a failover to
// a server that would be refused, calls are kUnavailable until it is set up anew, or another one is
// master. A setting that changes under a connection goes unseen.
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
  // All copies of an id come through one partition (see above).
  bool partition_owned = false;
  WindowTimes times;
  // How long a finished id is surely known, in log time. A century at most, as skew. The
  // scope keeps the longest `remember` and the longest `skew` of all its openings, and ids age by
  // these. An opening with a shorter one is kInvalid. An operator lowers them for all
  // (RememberChange::kReplace).
  milliseconds remember = std::chrono::hours(24 * 7);
  // How far the time stamps of different producers may differ; kept in addition.
  milliseconds skew = std::chrono::minutes(1);
  milliseconds connect{1'000};
  milliseconds call{2'000};     // one script and its answer
  size_t max_connections = 16;  // one for each worker, and two that keep partitions and leases
  // So many replicas must have all changes before Announce() is answered, and before a change of an
  // id without a partition is; else it is kUnavailable. New claims and plain releases do not wait.
  int replicas = 0;
  // For a look from outside: makes no scope. One that is missing is kNotFound.
  bool look_only = false;
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

// The address as of RedisPlace (clients/redis_place.h). Blocks: for four calls. The capabilities
// say whether the server keeps its data over a restart (survives_restart).
Result<std::unique_ptr<Window>> OpenRedisWindow(std::string_view address,
                                                const RedisWindowOptions& options);

// How long claims take there. Makes a scope of its own below the prefix, claims and releases new
// ids one after another, and removes its keys. Of a call that is not answered keys may stay, below
// <prefix>:{doctor/...}. Fewer than `claims` where they last longer than 10 s. Failures: of an
// opening and of a call.
Result<std::vector<microseconds>> TimeRedisClaims(std::string_view address,
                                                  RedisWindowOptions options, int claims);

}  // namespace oncemq
