// SPDX-License-Identifier: Apache-2.0
#include "service_rules.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "kafka_names.h"
#include "kafka_properties.h"
#include "oncemq/base/topic_name.h"
#include "oncemq/clients/redis_endpoint.h"
#include "oncemq/clients/sql_endpoint.h"
#include "oncemq/clients/store_catalogue.h"
#include "oncemq/locks/lock_engines.h"
#include "quoted.h"
#include "units.h"

namespace oncemq {
namespace {

using std::chrono::duration_cast;

constexpr char kParkPlace[] = "`park` needs a place: `reject: park` or `reject: {journal: FILE}`";

class Rules {
 public:
  void Demand(bool holds, std::string_view path, std::string text) {
    if (!holds) {
      broken_.push_back({std::string(path), std::move(text)});
    }
  }
  std::vector<BrokenRule> Take() { return std::move(broken_); }

 private:
  std::vector<BrokenRule> broken_;
};

void CheckKafka(const KafkaOptions& kafka, Rules& rules) {
  const Status brokers = CheckBrokers(kafka.brokers);
  rules.Demand(brokers.has_value(), "kafka.brokers", brokers ? "" : brokers.error().message);
  const Status group = CheckGroup(kafka.group);
  rules.Demand(group.has_value(), "kafka.group", group ? "" : group.error().message);
  rules.Demand(!kafka.topics.empty(), "topics", "must name at least one topic");
  std::set<std::string_view> seen;
  for (const std::string& topic : kafka.topics) {
    const Status name = CheckTopic(topic);
    rules.Demand(name.has_value(), "topics", name ? "" : name.error().message);
    rules.Demand(seen.insert(topic).second, "topics", Quoted(topic) + " stands here twice");
  }
  std::set<std::string_view> names;
  for (const auto& [name, value] : kafka.properties) {
    const Status status = CheckKafkaProperty(name, value);
    rules.Demand(status.has_value(), "kafka.properties." + name,
                 status ? "" : status.error().message);
    rules.Demand(names.insert(name).second, "kafka.properties." + name, "stands here twice");
  }
}

void CheckClientTimes(const RuntimeOptions& runtime, Rules& rules) {
  const auto session = duration_cast<milliseconds>(runtime.core.session_timeout);
  for (const auto& [name, value] : runtime.kafka.properties) {
    const auto number = KafkaNumber(value);
    if (!number) {
      continue;  // if it had to be one, that rule is broken already
    }
    const Status status = CheckHeartbeat(name, value, runtime.core.session_margin);
    rules.Demand(status.has_value(), "kafka.properties." + name,
                 status ? "" : status.error().message);
    rules.Demand(name != "max.poll.interval.ms" || milliseconds(*number) >= session,
                 "kafka.properties." + name,
                 "must be at least `kafka.session_timeout`, which is " + FormatDuration(session));
  }
}

void CheckTimes(const ServiceOptions& options, Rules& rules) {
  const CoreOptions& core = options.runtime.core;
  CheckClientTimes(options.runtime, rules);
  const WindowTimes& times = TimesOf(options);
  rules.Demand(core.commit_interval * 3 <= core.session_timeout, "kafka.commit_interval",
               "must be at most a third of `kafka.session_timeout`, which is " +
                   FormatDuration(duration_cast<milliseconds>(core.session_timeout)) +
                   ": an acknowledged commit is the proof that the session still lives");
  rules.Demand(core.session_margin * 2 <= core.session_timeout, "kafka.session_timeout",
               "must be at least twice its margin of " +
                   FormatDuration(duration_cast<milliseconds>(core.session_margin)));
  rules.Demand(
      times.lease <= times.max_lease, "window.lease",
      "must not be longer than `window.max_lease`, which is " + FormatDuration(times.max_lease));
  const bool renewed = options.engine != ServiceOptions::Engine::kNone;
  rules.Demand(!renewed || options.runtime.renew_every * 3 <= times.lease, "window.lease",
               "must be at least three times the time between renewals, which is " +
                   FormatDuration(options.runtime.renew_every));
}

void CheckLimits(const ServiceOptions& options, Rules& rules) {
  const CoreOptions& core = options.runtime.core;
  const std::string in_flight = std::to_string(core.in_flight);
  rules.Demand(core.batch >= 1 && core.batch <= core.in_flight, "limits.batch",
               "must be from 1 to `limits.in_flight`, which is " + in_flight);
  rules.Demand(core.partition_credit >= 1 && core.partition_credit <= core.in_flight,
               "limits.partition_credit",
               "must be from 1 to `limits.in_flight`, which is " + in_flight);
  rules.Demand(core.span >= core.partition_credit, "limits.span",
               "must be at least `limits.partition_credit`, which is " +
                   std::to_string(core.partition_credit));
}

// Of a window that is not shared, for the reason `why`.
void CheckOwnedIds(const ServiceOptions& options, const std::string& why, Rules& rules) {
#if defined(ONCEMQ_WITH_POSTGRES) && defined(ONCEMQ_WITH_REDIS)
  constexpr char kShared[] = "need a shared engine: postgres or redis";
#elif defined(ONCEMQ_WITH_POSTGRES)
  constexpr char kShared[] = "need a shared engine: postgres";
#elif defined(ONCEMQ_WITH_REDIS)
  constexpr char kShared[] = "need a shared engine: redis";
#else
  constexpr char kShared[] = "need a shared engine, and this build has none";
#endif
  rules.Demand(options.runtime.ids_partition_owned, "window.ids",
               "must be `partition_owned`: " + why + ", so ids that cross partitions " + kShared);
}

void CheckAtomicIds(const ServiceOptions& options, Rules& rules) {
  rules.Demand(
      LevelOf(options) != Level::kAtomic || options.runtime.missing_id != MissingId::kPass,
      "window.missing_id",
      "cannot be `pass` at the level atomic: an effect is written with the marker of its id");
}

void CheckMemoryWindow(const ServiceOptions& options, Rules& rules) {
  CheckOwnedIds(options, "a window in memory sees only the partitions of its own process", rules);
  rules.Demand(options.memory.level != Level::kAtomic, "window.level",
               "cannot be `atomic`: memory has no transaction that holds the effect too");
  const CoreOptions& core = options.runtime.core;
  rules.Demand(options.memory.max_open >= core.in_flight + core.waiting.messages,
               "limits.in_flight",
               "and `limits.waiting` together must not be above the window's limit for open ids, "
               "which is " +
                   std::to_string(options.memory.max_open));
  rules.Demand(
      options.runtime.catch_up > 0 || options.runtime.incomplete != IncompletePolicy::kStop,
      "window.incomplete",
      "cannot be `stop` in memory while `window.catch_up` is 0: nobody would look what is missing");
}

void CheckDiskWindow(const ServiceOptions& options, Rules& rules) {
#ifndef ONCEMQ_WITH_ROCKSDB
  rules.Demand(false, "window.engine",
               "cannot be `rocksdb`: this build has no window on disk (ONCEMQ_WITH_ROCKSDB=OFF)");
#endif
  const RuntimeOptions& runtime = options.runtime;
  const bool atomic = options.local.level == Level::kAtomic;
  CheckOwnedIds(options, "on disk each partition has a store of its own", rules);
  CheckAtomicIds(options, rules);
  rules.Demand(!options.local.directory.empty(), "window.directory",
               "must be said: where the stores of the partitions lie, on a local disk");
  rules.Demand(!atomic || runtime.one_host, "window.one_host",
               "must be `true` at the level atomic: the effects live in this host's directory, so "
               "all members of the group have to run here (rule 49)");
  rules.Demand(options.local.max_open >= runtime.core.partition_credit, "window.max_open",
               "must be at least `limits.partition_credit`, which is " +
                   std::to_string(runtime.core.partition_credit));
}

// `endpoint`: as it was read from the address `at`, of that form.
template <class Endpoint>
void CheckServerEndpoint(const std::string& at, std::string_view form,
                         const Result<Endpoint>& endpoint, Rules& rules) {
  rules.Demand(endpoint.has_value(), "window.at",
               at.empty() ? "must be said: " + std::string(form)
                          : "cannot be read: " + (endpoint ? "" : endpoint.error().message));
}

// Of the options of a window in a server.
template <class Options>
void CheckServerLimits(const RuntimeOptions& runtime, const Options& window, Rules& rules) {
  const uint32_t workers = std::max(runtime.workers, runtime.workers_when_blocking);
  rules.Demand(window.max_connections >= workers + 2, "window.connections",
               "must be at least " + std::to_string(workers + 2) +
                   ": one for each worker (`runtime.workers`), and two that keep partitions and "
                   "leases");
  rules.Demand(window.times.lease >= window.call * 3, "window.lease",
               "must be at least three times `window.call`, which is " +
                   FormatDuration(window.call) +
                   ": a renewal that gets no answer is repeated before the lease ends");
}

// The engines have the same rules; a file is refused before the server is asked.
bool IsSchemaName(std::string_view name) {
  return !name.empty() && name.size() <= 63 && (name[0] < '0' || name[0] > '9') &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

bool IsKeyPrefix(std::string_view prefix) {
  return !prefix.empty() && prefix.size() <= 64 &&
         std::all_of(prefix.begin(), prefix.end(),
                     [](char c) { return c > ' ' && c < '\x7F' && c != '{' && c != '}'; });
}

void CheckPostgresWindow(const ServiceOptions& options, Rules& rules) {
#ifndef ONCEMQ_WITH_POSTGRES
  rules.Demand(false, "window.engine",
               "cannot be `postgres`: this build has no window in PostgreSQL "
               "(ONCEMQ_WITH_POSTGRES=OFF)");
#endif
  const PostgresWindowOptions& window = options.postgres;
  CheckAtomicIds(options, rules);
  CheckServerEndpoint(options.postgres_at, "postgres://user:password@host:port/database",
                      ParsePostgresEndpoint(options.postgres_at), rules);
  rules.Demand(
      IsSchemaName(window.schema), "window.schema",
      "must be 1 to 63 of a-z, 0-9 and _, the first no digit, not " + Quoted(window.schema));
  CheckServerLimits(options.runtime, window, rules);
}

void CheckRedisWindow(const ServiceOptions& options, Rules& rules) {
#ifndef ONCEMQ_WITH_REDIS
  rules.Demand(false, "window.engine",
               "cannot be `redis`: this build has no window in Redis (ONCEMQ_WITH_REDIS=OFF)");
#endif
  const RedisWindowOptions& window = options.redis;
  rules.Demand(window.level != Level::kAtomic, "window.level",
               "cannot be `atomic` in Redis: its markers and your effect are no one transaction "
               "there; the engines postgres and rocksdb have this level");
  CheckServerEndpoint(options.redis_at, "redis://user:password@host:port/0",
                      ParseRedisEndpoint(options.redis_at), rules);
  rules.Demand(IsKeyPrefix(window.prefix), "window.prefix",
               "must be 1 to 64 printable characters without spaces and braces, not " +
                   Quoted(window.prefix));
  CheckServerLimits(options.runtime, window, rules);
}

void CheckWindow(const ServiceOptions& options, Rules& rules) {
  if (options.engine == ServiceOptions::Engine::kNone) {
    return;
  }
  rules.Demand(LevelOf(options).has_value(), "window.level",
               "must be said: guarded if the target of the effect stores the id with it, opaque if "
               "nobody can check");
  rules.Demand(options.runtime.id_from != IdFrom::kHeader || !options.runtime.id_header.empty(),
               "window.id", "must name the header that carries the id");
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
      return;
    case ServiceOptions::Engine::kMemory:
      return CheckMemoryWindow(options, rules);
    case ServiceOptions::Engine::kRocksDb:
      return CheckDiskWindow(options, rules);
    case ServiceOptions::Engine::kPostgres:
      return CheckPostgresWindow(options, rules);
    case ServiceOptions::Engine::kRedis:
      return CheckRedisWindow(options, rules);
  }
}

// Rule 50, as Runtime::Open has it.
void CheckElision(const ServiceOptions& options, Rules& rules) {
  const LockUse& use = options.runtime.locks;
  const std::optional<Level> level = LevelOf(options);
  rules.Demand(use.elided || !use.names_partition_owned, "locks.names_partition_owned",
               "is a statement for `locks.elided` only");
  rules.Demand(use.elided || !use.effects_check_fences, "locks.effects_check_fences",
               "is a statement for `locks.elided` only");
  if (!use.elided) {
    return;
  }
  rules.Demand(use.names_partition_owned, "locks.names_partition_owned",
               "must be `true` where locks are elided: whoever takes a name does so in one "
               "partition (rule 50)");
  rules.Demand(level == Level::kAtomic || (level == Level::kGuarded && use.effects_check_fences),
               "locks.elided",
               "needs effects that are checked: the level atomic, or guarded with "
               "`effects_check_fences: true` (rule 50)");
}

void CheckLocks(const ServiceOptions& options, Rules& rules) {
  const ServiceLocks& locks = options.locks;
  const bool catalogue = !locks.catalogue.empty();
  const bool one = !locks.at.empty();
  const bool elided = options.runtime.locks.elided;
  rules.Demand(static_cast<int>(catalogue) + static_cast<int>(one) + static_cast<int>(elided) <= 1,
               "locks", "names a `catalogue`, a store `at`, or is `elided`: one of these");
  for (const auto& [path, text] : {std::pair("locks.application", &locks.application),
                                   {"locks.scope", &locks.scope},
                                   {"locks.secret", &locks.secret}}) {
    rules.Demand(text->empty() || catalogue, path, "has no meaning without `locks.catalogue`");
  }
  rules.Demand(locks.space.empty() || one, "locks.space",
               "has no meaning without `locks.at`: in a catalogue the application has its own");
  const auto requested = [&](const LockNeed& need) { return locks.needs.*need.requested; };
  rules.Demand(locks.any() || std::none_of(std::begin(kLockNeeds), std::end(kLockNeeds), requested),
               "locks.needs", "has no meaning without a store: `locks.catalogue` or `locks.at`");
  rules.Demand(!catalogue || IsApplicationName(locks.application), "locks.application",
               "must be the name under which the catalogue knows this service");
  rules.Demand(locks.scope.empty() || IsApplicationName(locks.scope), "locks.scope",
               "must be one that the catalogue gives this application");
  rules.Demand(!catalogue || !locks.secret.empty(), "locks.secret",
               "must be said, best as `${file:/path}`: the application proves itself by it");
  if (one) {
    const auto can = CapabilitiesAt(locks.at);
    rules.Demand(can.has_value(), "locks.at", can ? "" : ": " + can.error().message);
  }
  CheckElision(options, rules);
}

}  // namespace

std::vector<BrokenRule> BrokenRules(const ServiceOptions& options) {
  Rules rules;
  const RuntimeOptions& runtime = options.runtime;
  CheckKafka(runtime.kafka, rules);
  CheckTimes(options, rules);
  CheckLimits(options, rules);
  CheckWindow(options, rules);
  CheckLocks(options, rules);
  for (const auto& [path, name] :
       {std::pair<std::string_view, std::string_view>{"scope.app", runtime.app},
        {"scope.namespace", runtime.name_space},
        {"scope.handler", runtime.handler}}) {
    rules.Demand(IsTopicName(name), path,
                 "must be letters, digits and . _ - only, not " + Quoted(name));
  }
  rules.Demand((runtime.policy.reject == RejectPolicy::kJournal) == !runtime.journal.empty(),
               "reject", "must name a journal exactly when refused messages go there");
  rules.Demand(
      runtime.policy.reject != RejectPolicy::kPark || runtime.core.order != Order::kPartition,
      "reject",
      "must be `stop` or `{journal: FILE}`, since `order.mode` is `partition`: all later "
      "messages would follow a parked one");
  const Status retry = CheckRetryPolicy(runtime.policy.retry);
  rules.Demand(retry.has_value(), "retry", retry ? "" : retry.error().message);
  rules.Demand(
      runtime.policy.retry.at_end != AtEnd::kPark || runtime.policy.reject != RejectPolicy::kStop,
      "retry.at_end", kParkPlace);
  rules.Demand(!runtime.core.waiting.park || runtime.policy.reject != RejectPolicy::kStop,
               "limits.over_waiting", kParkPlace);
  if (!options.admin.socket.empty()) {
    const Status socket = CheckAdminSocket(options.admin.socket);
    rules.Demand(socket.has_value(), "admin.socket", socket ? "" : socket.error().message);
  }
  if (!options.admin.listen.empty()) {
    const auto address = ParseAdminAddress(options.admin.listen);
    rules.Demand(address.has_value(), "admin.listen", address ? "" : address.error().message);
  }
  return rules.Take();
}

Status CheckService(const ServiceOptions& options) {
  Error error{Code::kInvalid, Effect::kNone, {}};
  for (const BrokenRule& rule : BrokenRules(options)) {
    error.message += error.message.empty() ? "" : "\n";
    error.message += "`" + rule.path + "` " + rule.text;
  }
  return error.message.empty() ? Status() : Status(std::move(error));
}

}  // namespace oncemq
