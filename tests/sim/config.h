// SPDX-License-Identifier: Apache-2.0
// Config: everything that a simulated run depends on. Two runs of one Config are equal to the last
// event. It has a text form (only what differs from the defaults), which a failure prints and a
// replay reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event_loop.h"
#include "oncemq/base/hash.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/core.h"

namespace oncemq::sim {

enum class Placement : uint8_t {
  kShared,           // one window for all processes: outlives each of them
  kPerProcess,       // in the process's memory: gone when it dies, and blind for what others did
  kNone,             // no window, no ids: order and commits only
  kPartitionStores,  // a store for each partition on the host's disk; one process at a time has it
};

enum class FaultKind : uint8_t {
  kCrash,  // the process is gone with all that it had in memory; a new one starts `value` later
  kCrashAtStep,  // the same, when a worker next comes to BatchStep `value`
  kCrashInStep,  // the same, after the window has carried that step out, before its reply
  kPause,        // no event reaches it for `value`; it wakes up with stale beliefs
  kCut,          // it reaches neither broker nor group for `value`
  kClose,        // drains and leaves; a new one starts `value` later
  kRebalance,    // the group gives partitions to other members
  kRewind,       // the source delivers the last `value` offsets of a partition again
  kWindowDown,   // the window answers nobody for `value`
  kReset,        // everybody leaves, an operator commits another offset, everybody starts again
  // Everybody leaves; then:
  kExpire,     // the group's commit of the partition is gone
  kPutBack,    // the partition's stores are what they were when they were copied
  kRemove,     // they are taken away
  kPowerLoss,  // a host goes down with all its processes; they start again `value` later
  kCopyStore,  // somebody copies the partition's stores
  kCompact,    // of what is committed, the log keeps the last record of each key
  kRetain,     // the log goes up to `value` thousandths of what is committed
  // The next time that ids of the partition are forgotten, before ForgetStep `value`:
  kCrashForgetting,
  kPowerForgetting,  // the host goes down
  // Everybody leaves; then:
  kReadUncommitted,  // the partition's stores are such as who reads aborted messages writes
  kCount,
};
std::string_view ToString(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kCrash;
  Micros at = 0;  // when; or, if `event` is set, instead of that event of process `slot`
  int64_t event = -1;
  int64_t slot = 0;
  int64_t partition = 0;
  int64_t value = 0;
};

// More finished ids than any run has.
inline constexpr int64_t kForgetsNothing = 100'000;

// Rates are per thousand, times are microseconds.
struct Config {
  int64_t seed = 1;
  // The group and the log.
  int64_t partitions = 2;
  int64_t processes = 2;
  int64_t workers = 1;
  int64_t cooperative = 0;
  int64_t messages = 60;      // of a partition, copies included
  int64_t keys = 5;           // of a partition
  int64_t no_key = 0;         // rate of messages without a key
  int64_t copies = 0;         // rate of producer duplicates
  int64_t near_copies = 300;  // of these, rate of those right behind their original
  int64_t crossing = 0;       // of these, rate of those in another partition
  int64_t rekeyed = 0;        // of these, rate of those with another key
  int64_t conflicting = 0;    // of these, rate of those with another payload
  int64_t replay = 0;         // rate of records that a second reader without ownership reads too
  int64_t holes = 0;          // rate of offsets that do not exist
  int64_t aborted = 0;      // rate of messages that are sent in a transaction that is aborted first
  int64_t compacted = 0;    // the topic's policy says that its log is compacted
  int64_t map_room = 4096;  // bytes that a commit has left for its map
  Micros appended_over = 3 * kSecond;
  // What is promised.
  int64_t order = static_cast<int64_t>(Order::kKey);
  int64_t level = static_cast<int64_t>(Level::kGuarded);
  int64_t placement = static_cast<int64_t>(Placement::kShared);
  int64_t fence = 0;    // the target also checks the ownership fence
  int64_t journal = 1;  // refused messages go into the journal; 0: they stop their partition
  int64_t park = 0;     // with order by key: they go to the park topic, and are redriven
  Micros mended_at = 6 * kSecond;  // with park: from then on handlers refuse nothing
  // Limits of the core.
  int64_t in_flight = 256;
  int64_t in_flight_bytes = 1 << 20;
  int64_t waiting = 64;
  int64_t waiting_bytes = 1 << 20;
  int64_t waiting_parks = 0;  // over these budgets; checkers know it of hopeless ids only
  int64_t deaths = 0;         // as in RetryPolicy; few with killers only
  int64_t partition_credit = 128;
  int64_t span = 1024;
  int64_t batch = 16;
  int64_t lane_batch = 8;
  // Times.
  Micros session = 6 * kSecond;
  Micros margin = kSecond;
  Micros drain = 2 * kSecond;
  Micros rebalance_limit = 20 * kSecond;
  Micros commit_interval = 100 * kMilli;
  Micros store_retry = 20 * kMilli;
  int64_t remember = kForgetsNothing;  // finished ids that the window surely knows
  int64_t catch_up = 0;      // offsets that a new owner may read back; windows in a process, stores
  Micros catch_up_time = 0;  // and how long it may take; 0: as long as it does
  int64_t collide = 0;       // all ids have one hash
  // Stores only.
  int64_t hosts = 0;           // 0: all processes on one; 1: each on its own
  int64_t sync = 1;            // 0 never, 1 before each commit, 2 each batch
  Micros remember_for = 0;     // finished ids, in log time; 0: for ever
  int64_t stamps = 0;          // rate of records with a time stamp of the past or the future
  int64_t store_busy = 0;      // rate of calls that are refused
  int64_t store_fails = 0;     // rate of writes that fail: there or not, and to be opened again
  int64_t run_incomplete = 0;  // goes on where ids of the past are not known
  Micros lease = 3 * kSecond;
  Micros max_lease = 30 * kSecond;
  Micros handler_timeout = 4 * kSecond;
  Micros latency = kMilli;  // most of one way of a call
  Micros call_timeout = 500 * kMilli;
  Micros skew = 0;  // most that wall clocks are wrong; above 0, boot clocks differ and drift too
  // The handler.
  Micros handler_time = 2 * kMilli;
  int64_t slow = 0;  // rate of ids whose handler takes slow_time
  Micros slow_time = 4 * kSecond;
  int64_t retries = 0;    // rate of ids that fail at first
  int64_t hopeless = 0;   // rate of ids that fail each time, without an effect
  int64_t killers = 0;    // rate of ids whose call ends the process, without an effect
  int64_t attempts = 0;   // that fail, until a message is parked; 0: without end
  int64_t rejects = 0;    // rate of ids that are refused
  int64_t malformed = 0;  // rate of messages without an id
  int64_t pass = 0;       // these are handled without the window; 0: they are refused
  int64_t renew = 1;      // leases are renewed while a handler runs
  // What goes wrong with calls.
  int64_t window_lost = 0;     // applied, reply lost
  int64_t window_refused = 0;  // not applied, and said so
  int64_t window_partial = 0;  // applied in part, reply lost
  int64_t window_late = 0;     // reply lost, applied long after
  int64_t commit_lost = 0;     // applied, reply lost
  int64_t commit_dropped = 0;  // not applied, no reply
  int64_t commit_late = 0;     // no reply, applied long after
  int64_t commit_retried =
      0;  // the client repeats it by itself, in the generation that it has by then
  int64_t commit_unknown = 0;  // "a rebalance is in progress"
  int64_t commit_slow = 0;     // the reply takes seconds
  int64_t raise_late = 0;    // an ownership is raised after its caller gave up: somebody is fenced
  int64_t journal_lost = 0;  // on record, reply lost
  int64_t journal_refused = 0;  // not on record, and said so
  int64_t journal_late = 0;     // with park: no reply, on record long after
  int64_t effect_lost = 0;      // the target's reply to the handler is lost
  // Faults at their times; after `faults_until` everything is healed and has `liveness` to drain.
  Micros faults_until = 12 * kSecond;
  Micros liveness = 4000 * kSecond;
  std::vector<Fault> faults;
};

std::string ToString(const Config& config);
std::optional<Config> ParseConfig(std::string_view text);

// A configuration out of the swarm: every seed another mixture of shapes, limits and faults.
Config RandomConfig(uint64_t seed);

// The swarm with one kind of trouble turned up.
enum class Theme : uint8_t {
  kDoubt,       // nobody can check effects, and replies are lost all the time
  kRebalances,  // partitions move all the time
  kRewinds,     // the source delivers again what is being worked on
  kZombies,     // members sleep or are cut off for about as long as their session
  kCommits,     // commits are refused, lost, late and repeated
  kCarried,     // owners die behind a stuck message, with much finished above it
  kCopies,      // producer duplicates everywhere, also across partitions
  kRefusals,    // messages are refused, the journal stumbles
  kLongRuns,    // handlers take longer than leases
  kTinyLimits,  // every limit is reached
  kResets,      // operators move offsets
  kFencing,     // ownerships are lost to raises that come late, while commits are under way
  kForgetting,  // the window remembers a handful
  kCatchUp,     // windows die with their processes, and new owners read what was finished
  kReplay,      // a second reader runs beside the group, into the same window
  kClocks,      // every process has another idea of the time
  kLocal,       // stores on disk: power losses, failing writes, operators who move them
  kAtomic,      // the same, and the effects are in them
  kAges,        // stores that forget by log time, copies of every age, wrong stamps
  kKillers,     // handlers end their process, next to deaths that are none of their doing
  kParking,     // refused messages are parked and redriven
  kCount,
};
Config ThemeConfig(Theme theme, uint64_t seed);

inline bool Parks(const Config& config) {
  return config.park != 0;
}
inline Order OrderOf(const Config& config) {
  return static_cast<Order>(config.order);
}
inline WindowTimes TimesOf(const Config& config) {
  const auto milli = [](Micros micros) { return milliseconds(micros / kMilli); };
  return {milli(config.lease), milli(config.max_lease), milli(config.handler_timeout)};
}
inline Level LevelOf(const Config& config) {
  return static_cast<Level>(config.level);
}
inline bool HasStores(const Config& config) {
  return config.placement == static_cast<int64_t>(Placement::kPartitionStores);
}
inline bool IsAtomic(const Config& config) {
  return config.level == static_cast<int64_t>(Level::kAtomic);
}
// What the tables of windows find an id by.
inline uint64_t IdHashOf(const Config& config, std::string_view id) {
  return config.collide != 0 ? 1 : StableHash(id);
}
inline Placement PlacementOf(const Config& config) {
  return static_cast<Placement>(config.placement);
}

template <class ConfigType, class Visit>
void EachLaterNumber(ConfigType& c, Visit& visit) {
  visit("hosts", c.hosts);
  visit("sync", c.sync);
  visit("remember_for", c.remember_for);
  visit("stamps", c.stamps);
  visit("store_busy", c.store_busy);
  visit("store_fails", c.store_fails);
  visit("run_incomplete", c.run_incomplete);
  visit("aborted", c.aborted);
  visit("compacted", c.compacted);
  visit("catch_up_time", c.catch_up_time);
  visit("collide", c.collide);
  visit("hopeless", c.hopeless);
  visit("attempts", c.attempts);
  visit("waiting", c.waiting);
  visit("waiting_bytes", c.waiting_bytes);
  visit("waiting_parks", c.waiting_parks);
  visit("deaths", c.deaths);
  visit("killers", c.killers);
  visit("park", c.park);
  visit("mended_at", c.mended_at);
  visit("journal_late", c.journal_late);
}

// Calls visit(name, value) for every number of the configuration.
template <class ConfigType, class Visit>
void EachNumber(ConfigType& c, Visit visit) {
  visit("seed", c.seed);
  visit("partitions", c.partitions);
  visit("processes", c.processes);
  visit("workers", c.workers);
  visit("cooperative", c.cooperative);
  visit("messages", c.messages);
  visit("keys", c.keys);
  visit("no_key", c.no_key);
  visit("copies", c.copies);
  visit("near_copies", c.near_copies);
  visit("crossing", c.crossing);
  visit("rekeyed", c.rekeyed);
  visit("conflicting", c.conflicting);
  visit("replay", c.replay);
  visit("holes", c.holes);
  visit("map_room", c.map_room);
  visit("appended_over", c.appended_over);
  visit("order", c.order);
  visit("level", c.level);
  visit("placement", c.placement);
  visit("fence", c.fence);
  visit("journal", c.journal);
  visit("in_flight", c.in_flight);
  visit("in_flight_bytes", c.in_flight_bytes);
  visit("partition_credit", c.partition_credit);
  visit("span", c.span);
  visit("batch", c.batch);
  visit("lane_batch", c.lane_batch);
  visit("session", c.session);
  visit("margin", c.margin);
  visit("drain", c.drain);
  visit("rebalance_limit", c.rebalance_limit);
  visit("commit_interval", c.commit_interval);
  visit("store_retry", c.store_retry);
  visit("remember", c.remember);
  visit("catch_up", c.catch_up);
  EachLaterNumber(c, visit);
  visit("lease", c.lease);
  visit("max_lease", c.max_lease);
  visit("handler_timeout", c.handler_timeout);
  visit("latency", c.latency);
  visit("call_timeout", c.call_timeout);
  visit("skew", c.skew);
  visit("handler_time", c.handler_time);
  visit("slow", c.slow);
  visit("slow_time", c.slow_time);
  visit("retries", c.retries);
  visit("rejects", c.rejects);
  visit("malformed", c.malformed);
  visit("pass", c.pass);
  visit("renew", c.renew);
  visit("window_lost", c.window_lost);
  visit("window_refused", c.window_refused);
  visit("window_partial", c.window_partial);
  visit("window_late", c.window_late);
  visit("commit_lost", c.commit_lost);
  visit("commit_dropped", c.commit_dropped);
  visit("commit_late", c.commit_late);
  visit("commit_retried", c.commit_retried);
  visit("commit_unknown", c.commit_unknown);
  visit("commit_slow", c.commit_slow);
  visit("raise_late", c.raise_late);
  visit("journal_lost", c.journal_lost);
  visit("journal_refused", c.journal_refused);
  visit("effect_lost", c.effect_lost);
  visit("faults_until", c.faults_until);
  visit("liveness", c.liveness);
}

}  // namespace oncemq::sim
