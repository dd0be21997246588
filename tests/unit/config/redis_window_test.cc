// SPDX-License-Identifier: Apache-2.0
// The window in Redis in a service file: its keys, its refusals, and its guarantee in words. No
// server is asked here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "minimal_service.h"
#include "oncemq/framework/service_options.h"
#include "reference_window.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kAddress = "\"redis://pay:hunter2@cache1/3\"";
const std::string kInRedis =
    "kafka: {brokers: k1, group: payments}\n"
    "topics: payments\n"
    "window:\n"
    "  engine: redis\n"
    "  at: " +
    kAddress +
    "\n"
    "  level: guarded\n"
    "  ids: crossing\n"
    "  id: {header: message-id}\n";

std::string RedisWith(const std::string& line, const std::string& replacement) {
  std::string yaml = kInRedis;
  yaml.replace(yaml.find(line), line.size(), replacement);
  return yaml;
}

TEST(RedisWindowFile, KeysOfAnotherEngineAreRefusedWhereTheyStand) {
  for (const char* key : {"prefix: x", "replicas: 1"}) {
    EXPECT_THAT(ErrorsOf(kMinimalService + "  " + key + "\n"),
                HasSubstr("has no meaning here: only the window in Redis has it"))
        << key;
    EXPECT_THAT(ErrorsOf("kafka: {brokers: k1, group: g}\ntopics: p\nwindow:\n  engine: none\n  " +
                         std::string(key) + "\n"),
                HasSubstr("`window.engine` is `none`"))
        << key;
  }
  for (const char* key : {"schema: x", "idle: 5s"}) {
    EXPECT_THAT(ErrorsOf(kInRedis + "  " + key + "\n"),
                HasSubstr("only the window in PostgreSQL has it"))
        << key;
  }
  for (const char* key : {"directory: /var/x", "sync: never", "one_host: true"}) {
    EXPECT_THAT(ErrorsOf(kInRedis + "  " + key + "\n"), HasSubstr("only the window on disk has it"))
        << key;
  }
  EXPECT_THAT(ErrorsOf(RedisWith("  engine: redis\n", "  engine: rediss\n")),
              Not(HasSubstr("unknown key")));
}

#ifndef ONCEMQ_WITH_REDIS

TEST(RedisWindowFile, ABuildWithoutItSaysSo) {
  EXPECT_THAT(ErrorsOf(kInRedis),
              StartsWith("service.yaml:4:11: `window.engine` cannot be `redis`: this build has no "
                         "window in Redis"));
}

#else

const std::string kOpaqueInRedis = RedisWith("  level: guarded\n", "  level: opaque\n");
const std::string kOwnedInRedis = RedisWith("  ids: crossing\n", "  ids: partition_owned\n");

TEST(RedisWindowFile, EveryKeyReachesItsOption) {
  const ServiceOptions options =
      Parsed(kInRedis +
             "  prefix: pay.1\n  remember: 36h\n  skew: 5s\n  lease: 20s\n  max_lease: 5m\n"
             "  handler_timeout: 90s\n  catch_up: 77\n  incomplete: run\n"
             "  connections: 17\n  connect: 400ms\n  call: 3s\n  replicas: 2\n"
             "  expect_scope: true\n");
  EXPECT_TRUE(options.redis.expect_scope);
  EXPECT_EQ(options.engine, ServiceOptions::Engine::kRedis);
  EXPECT_EQ(options.redis_at, "redis://pay:hunter2@cache1/3");
  EXPECT_EQ(options.redis.prefix, "pay.1");
  EXPECT_EQ(options.redis.level, Level::kGuarded);
  EXPECT_EQ(LevelOf(options), Level::kGuarded);
  EXPECT_EQ(options.runtime.policy.level, Level::kGuarded);
  EXPECT_FALSE(options.runtime.ids_partition_owned);
  EXPECT_FALSE(options.redis.partition_owned);
  EXPECT_EQ(options.redis.remember, 36h);
  EXPECT_EQ(options.redis.skew, 5s);
  EXPECT_EQ(options.redis.times.lease, 20s);
  EXPECT_EQ(TimesOf(options).max_lease, 5min);
  EXPECT_EQ(options.redis.times.handler_timeout, 90s);
  EXPECT_EQ(options.runtime.catch_up, 77);
  EXPECT_EQ(options.runtime.incomplete, IncompletePolicy::kRun);
  EXPECT_EQ(options.redis.max_connections, 17u);
  EXPECT_EQ(options.redis.connect, 400ms);
  EXPECT_EQ(options.redis.call, 3s);
  EXPECT_EQ(options.redis.replicas, 2);
}

TEST(RedisWindowFile, TheSmallestOneTakesTheDefaultsOfTheEngineAndTheScopeOfTheGroup) {
  const ServiceOptions options = Parsed(kInRedis);
  const RedisWindowOptions defaults;
  EXPECT_EQ(options.redis.prefix, defaults.prefix);
  EXPECT_EQ(options.redis.remember, defaults.remember);
  EXPECT_EQ(options.redis.call, defaults.call);
  EXPECT_EQ(options.redis.replicas, 0);
  EXPECT_EQ(options.redis.scope, "default/default/payments/default");
  EXPECT_FALSE(options.runtime.incomplete) << "the runtime knows which engine stops";
}

TEST(RedisWindowFile, TheLevelAtomicIsRefusedWithTheReason) {
  EXPECT_THAT(ErrorsOf(RedisWith("  level: guarded\n", "  level: atomic\n")),
              StartsWith("service.yaml:6:10: `window.level` cannot be `atomic` in Redis: its "
                         "markers and your effect are no one transaction there"));
}

TEST(RedisWindowFile, IdsMayCrossPartitionsOrNot) {
  EXPECT_EQ(ErrorsOf(kInRedis), "");
  EXPECT_EQ(ErrorsOf(kOwnedInRedis), "");
  EXPECT_TRUE(Parsed(kOwnedInRedis).redis.partition_owned);
  EXPECT_THAT(ErrorsOf(With("  ids: partition_owned\n", "  ids: crossing\n")),
              AllOf(HasSubstr("need a shared engine: "), HasSubstr("redis")));
}

TEST(RedisWindowFile, TheUserSaysWhereItIs) {
  EXPECT_THAT(ErrorsOf(RedisWith("  at: " + kAddress + "\n", "")),
              HasSubstr("`window.at` is missing"));
  ServiceOptions options = Parsed(kInRedis);
  options.redis_at.clear();
  const Status status = CheckService(options);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("`window.at` must be said: redis://"));
}

TEST(RedisWindowFile, AnAddressThatNobodyCouldOpenIsRefusedWithoutItsPassword) {
  for (const char* at :
       {"postgres://pay:hunter2@db1/payments", "redis://pay:hunter2@c1/x",
        "redis-sentinel://pay:hunter2@s1,s2", "redis://pay:hunter2@c1?ca=/etc/ca.pem"}) {
    const std::string errors = ErrorsOf(RedisWith(kAddress, "\"" + std::string(at) + "\""));
    EXPECT_THAT(errors, StartsWith("service.yaml:5:7: `window.at` cannot be read: ")) << at;
    EXPECT_THAT(errors, Not(HasSubstr("hunter2")));
  }
  for (const char* at :
       {"redis-sentinel://pay:hunter2@s1,s2:26380/cache/1",
        "rediss://:hunter2@c1?ca=%2Fetc%2Fca.pem", "unix:///run/redis.sock?db=1"}) {
    EXPECT_EQ(ErrorsOf(RedisWith(kAddress, "\"" + std::string(at) + "\"")), "") << at;
  }
}

TEST(RedisWindowFile, LimitsFitIntoEachOther) {
  EXPECT_THAT(ErrorsOf(kInRedis + "  connections: 1\n"),
              StartsWith("service.yaml:9:16: `window.connections` must be at least 6"));
  EXPECT_THAT(ErrorsOf(kInRedis + "  call: 11s\n"),
              HasSubstr("`window.lease` must be at least three times `window.call`, which is 11s"));
  for (const std::string prefix : {"\"a b\"", "\"a{b}\"", "\"\""}) {
    EXPECT_THAT(ErrorsOf(kInRedis + "  prefix: " + prefix + "\n"), HasSubstr("`window.prefix`"))
        << prefix;
  }
}

TEST(RedisWindowFile, TheDescriptionGivesTheSameOptionsAgainAndNoPassword) {
  for (const std::string& yaml :
       {kInRedis, kOwnedInRedis, kOpaqueInRedis + "  prefix: pay\n  replicas: 1\n",
        RedisWith(kAddress, "\"redis-sentinel://pay:hunter2@s1,s2/cache\"")}) {
    const std::string text = Describe(Parsed(yaml));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(text, HasSubstr("://(not shown)@"));
    EXPECT_THAT(text, HasSubstr("  incomplete: stop\n"));
    EXPECT_EQ(Describe(Parsed(text)), text);
  }
}

TEST(RedisWindowFile, TheGuaranteeSaysFirstWhatRedisMayLose) {
  for (const std::string& yaml : {kInRedis, kOpaqueInRedis}) {
    const std::string text = Explained(yaml);
    EXPECT_THAT(text, HasSubstr("window redis, level "));
    EXPECT_THAT(text, HasSubstr("What does not hold - Redis decides: "));
    EXPECT_THAT(text, HasSubstr("under the keys oncemq: of redis://cache1:6379/3."));
    EXPECT_THAT(text, HasSubstr("A restart takes all of the window where nothing is persisted"));
    EXPECT_THAT(text,
                HasSubstr("A failover takes what the replica did not have yet. `replicas: N`"));
    EXPECT_THAT(text, HasSubstr("finds fewer than it was answered"));
    EXPECT_THAT(text, HasSubstr("(`maxmemory-policy` is not `noeviction`) is refused"));
    EXPECT_THAT(text, HasSubstr("A Redis that does not answer within 2s (`call`) stops"));
    EXPECT_THAT(text, HasSubstr("The slowest partition of the group decides what is old"));
    EXPECT_THAT(text, HasSubstr("An owner whose window is new, or behind the commit, reads up to"));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    ExpectExplainedInNarrowLines(yaml);
  }
  EXPECT_THAT(Explained(kInRedis + "  replicas: 2\n"),
              AllOf(HasSubstr("that fewer than 2 replicas have"), Not(HasSubstr("replicas: N"))));
}

TEST(RedisWindowFile, TheGuaranteeSaysWhetherIdsMayCrossPartitions) {
  const std::string crossing = Explained(kInRedis);
  EXPECT_LT(crossing.find("What holds"), crossing.find("Ids may cross partitions: all members"));
  EXPECT_THAT(crossing, HasSubstr("called again: the target decides"));
  EXPECT_THAT(Explained(kOpaqueInRedis), HasSubstr("called again: the effect is there twice"));
  const std::string owned = Explained(kOwnedInRedis);
  EXPECT_THAT(owned, HasSubstr("You said `ids: partition_owned`"));
  EXPECT_THAT(owned, HasSubstr("The owner of a partition decides, in memory"));
  EXPECT_THAT(owned, Not(HasSubstr("The slowest partition")));
}

TEST(RedisWindowFile, ClaimsOfOwnedIdsEndWithTheirProcess) {
  const std::string opaque = kOpaqueInRedis.substr(0, kOpaqueInRedis.find("  ids: crossing\n")) +
                             "  ids: partition_owned\n  id: key\n";
  const std::string text = Explained(opaque);
  EXPECT_THAT(text, HasSubstr("It counts all of it as uncertain, which is"));
  EXPECT_THAT(text, Not(HasSubstr("Redis tells it")));
  EXPECT_EQ(GuaranteeLine(Parsed(opaque)),
            "opaque: at least once, copies are suppressed while the window knows them; a partition "
            "that moves takes its window along: work since the last acknowledged commit may run "
            "twice then, told and counted as uncertain");
  EXPECT_EQ(GuaranteeLine(Parsed(kOwnedInRedis)),
            "guarded: once per id, if the target stores the id with the effect; a partition that "
            "moves takes its window along");
}

TEST(RedisWindowFile, TheGuaranteeOfOpaqueCountsWhatRanWhenAProcessDied) {
  const std::string text = Explained(kOpaqueInRedis);
  EXPECT_THAT(text, HasSubstr("Redis tells it, and it is counted as uncertain"));
  EXPECT_THAT(text, HasSubstr("while Redis keeps what it has answered"));
  EXPECT_THAT(text, HasSubstr("say from when to when"));
  EXPECT_THAT(Explained(kInRedis), Not(HasSubstr("say from when to when")));
  EXPECT_THAT(text, HasSubstr("`handler_timeout` (1m) has passed"));
  EXPECT_THAT(text, Not(HasSubstr("happens once")));
}

TEST(RedisWindowFile, OneLineNeverPromisesMoreThanTheText) {
  EXPECT_EQ(GuaranteeLine(Parsed(kInRedis)),
            "guarded: once per id, if the target stores the id with the effect");
  EXPECT_EQ(GuaranteeLine(Parsed(kOpaqueInRedis)),
            "opaque: at least once, copies are suppressed while the window knows them");
  const WindowCapabilities forgetful{
      .level = Level::kOpaque, .shared = true, .survives_restart = false};
  EXPECT_EQ(
      GuaranteeLine(&forgetful, MissingId::kRefuse, false),
      "opaque: at least once, copies are suppressed while the window knows them; a restart of "
      "its server empties the window");
  EXPECT_THAT(ExplainLevels(), HasSubstr("redis: guarded or opaque"));
}

TEST(RedisWindowFile, TheReferenceFileShowsEveryKeyWithItsDefault) {
  ConfigSources sources = NoSources();
  sources.secret_file = [](const std::string&) { return std::string("redis://u:p@h/0"); };
  const auto described = [&](const std::string& yaml) {
    const auto options = ParseService(yaml, "service.yaml", sources);
    EXPECT_TRUE(options) << options.error().message;
    return Describe(options.value_or(ServiceOptions{}));
  };
  const std::string opened = ReferenceWindow("redis", /*every_key=*/true);
  const std::string smallest = described(ReferenceWindow("redis", /*every_key=*/false));
  EXPECT_EQ(described(opened), smallest);
  EXPECT_GT(ExpectWindowKeysShown(smallest, opened), 18);
}

#endif

}  // namespace
}  // namespace oncemq
