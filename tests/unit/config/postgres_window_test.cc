// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL in a service file: its keys, its refusals, and its guarantee in
// words. No database is asked here.
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

const std::string kShared =
    "kafka: {brokers: k1, group: payments}\n"
    "topics: payments\n"
    "window:\n"
    "  engine: postgres\n"
    "  at: \"postgres://pay:hunter2@db1/payments\"\n"
    "  level: guarded\n"
    "  ids: crossing\n"
    "  id: {header: message-id}\n";

std::string SharedWith(const std::string& line, const std::string& replacement) {
  std::string yaml = kShared;
  yaml.replace(yaml.find(line), line.size(), replacement);
  return yaml;
}

TEST(PostgresWindowFile, KeysOfAnotherEngineAreRefusedWhereTheyStand) {
  for (const char* key : {"at: \"postgres://u@h/d\"", "schema: x", "connections: 4", "connect: 1s",
                          "call: 1s", "expect_scope: true"}) {
    EXPECT_THAT(ErrorsOf(kMinimalService + "  " + key + "\n"),
                HasSubstr(std::string("has no meaning here: only ") +
                          (std::string_view(key) == "schema: x"
                               ? "the window in PostgreSQL has it"
                               : "a window in PostgreSQL or Redis has it")))
        << key;
    EXPECT_THAT(ErrorsOf("kafka: {brokers: k1, group: g}\ntopics: p\nwindow:\n  engine: none\n  " +
                         std::string(key) + "\n"),
                HasSubstr("`window.engine` is `none`"))
        << key;
  }
  EXPECT_THAT(ErrorsOf(SharedWith("  engine: postgres\n", "  engine: postgers\n")),
              Not(HasSubstr("unknown key")));
}

#ifndef ONCEMQ_WITH_POSTGRES

TEST(PostgresWindowFile, ABuildWithoutItSaysSo) {
  EXPECT_THAT(ErrorsOf(kShared),
              StartsWith("service.yaml:4:11: `window.engine` cannot be `postgres`: this build has "
                         "no window in PostgreSQL"));
}

#else

const std::string kAtomicShared = SharedWith("  level: guarded\n", "  level: atomic\n");
const std::string kOpaqueShared = SharedWith("  level: guarded\n", "  level: opaque\n");
const std::string kOwnedShared = SharedWith("  ids: crossing\n", "  ids: partition_owned\n");

TEST(PostgresWindowFile, EveryKeyReachesItsOption) {
  const ServiceOptions options =
      Parsed(kShared +
             "  schema: pay_1\n  remember: 36h\n  skew: 5s\n  lease: 20s\n  max_lease: 5m\n"
             "  handler_timeout: 90s\n  catch_up: 77\n  catch_up_time: 3s\n  incomplete: run\n"
             "  connections: 17\n  connect: 400ms\n  call: 3s\n  idle: 10s\n"
             "  expect_scope: true\n");
  EXPECT_TRUE(options.postgres.expect_scope);
  EXPECT_EQ(options.engine, ServiceOptions::Engine::kPostgres);
  EXPECT_EQ(options.postgres_at, "postgres://pay:hunter2@db1/payments");
  EXPECT_EQ(options.postgres.schema, "pay_1");
  EXPECT_EQ(options.postgres.level, Level::kGuarded);
  EXPECT_EQ(options.runtime.policy.level, Level::kGuarded);
  EXPECT_TRUE(options.runtime.policy.window);
  EXPECT_FALSE(options.runtime.ids_partition_owned);
  EXPECT_EQ(options.postgres.remember, 36h);
  EXPECT_EQ(options.postgres.skew, 5s);
  EXPECT_EQ(options.postgres.times.lease, 20s);
  EXPECT_EQ(TimesOf(options).lease, 20s);
  EXPECT_EQ(options.postgres.times.max_lease, 5min);
  EXPECT_EQ(options.postgres.times.handler_timeout, 90s);
  EXPECT_EQ(options.runtime.catch_up, 77);
  EXPECT_EQ(options.runtime.catch_up_time, milliseconds(3'000));
  EXPECT_EQ(options.runtime.incomplete, IncompletePolicy::kRun);
  EXPECT_EQ(options.postgres.max_connections, 17u);
  EXPECT_EQ(options.postgres.connect, 400ms);
  EXPECT_EQ(options.postgres.call, 3s);
}

TEST(PostgresWindowFile, TheSmallestOneTakesTheDefaultsOfTheEngine) {
  const ServiceOptions options = Parsed(kShared);
  const PostgresWindowOptions defaults;
  EXPECT_EQ(options.postgres.schema, defaults.schema);
  EXPECT_EQ(options.postgres.remember, defaults.remember);
  EXPECT_EQ(options.postgres.max_connections, defaults.max_connections);
  EXPECT_EQ(options.postgres.call, defaults.call);
  EXPECT_FALSE(options.runtime.incomplete) << "the runtime knows which engine stops";
  EXPECT_THAT(Describe(options), HasSubstr("  incomplete: stop\n"));
}

TEST(PostgresWindowFile, TheScopeNamesTheHandlerAndItsGroup) {
  EXPECT_EQ(Parsed(kShared).postgres.scope, "default/default/payments/default");
  EXPECT_EQ(Parsed("scope: {app: shop, namespace: eu, handler: settle}\n" + kShared).postgres.scope,
            "shop/eu/payments/settle");
}

TEST(PostgresWindowFile, KeysOfTheStoresOnDiskAreRefused) {
  for (const char* key : {"directory: /var/x", "sync: never", "generation: 5000", "max_open: 7",
                          "cache: 8MiB", "memory: 64MiB", "one_host: true"}) {
    EXPECT_THAT(ErrorsOf(kShared + "  " + key + "\n"), HasSubstr("only the window on disk has it"))
        << key;
  }
  EXPECT_THAT(ErrorsOf(kShared + "  max_parked: 5\n"),
              StartsWith("service.yaml:9:15: `window.max_parked` has no meaning here: a window in "
                         "PostgreSQL or Redis bounds no parked ids"));
}

TEST(PostgresWindowFile, WhatAnIdNamesReachesTheWindow) {
  EXPECT_FALSE(Parsed(kShared).postgres.partition_owned);
  EXPECT_TRUE(Parsed(kOwnedShared).postgres.partition_owned);
}

// One file for both engines: the same ids, the same effects.
TEST(PostgresWindowFile, WithSeveralTopicsItIsSaidThatCrossingIdsAreOneOverAllOfThem) {
  const auto two = [](std::string yaml) {
    return Explained(
        yaml.replace(yaml.find("topics: payments"), 16, "topics: [payments, refunds]"));
  };
  constexpr char kOver[] = "One id is one operation over all 2 topics";
  EXPECT_THAT(two(kShared), HasSubstr(kOver));
  EXPECT_LT(two(kShared).find(kOver), two(kShared).find("What holds"));
  EXPECT_THAT(Explained(kShared), Not(HasSubstr(kOver)));
  EXPECT_THAT(two(kOwnedShared),
              AllOf(Not(HasSubstr(kOver)),
                    HasSubstr("The same id in another partition or topic is another operation")));
}

TEST(PostgresWindowFile, IdsMayCrossPartitionsOrNot) {
  EXPECT_EQ(ErrorsOf(kShared), "");
  EXPECT_EQ(ErrorsOf(kOwnedShared), "");
  EXPECT_THAT(ErrorsOf(With("  ids: partition_owned\n", "  ids: crossing\n")),
              HasSubstr("need a shared engine: postgres"));
}

TEST(PostgresWindowFile, TheUserSaysWhatNobodyElseKnows) {
  const std::string at = "  at: \"postgres://pay:hunter2@db1/payments\"\n";
  EXPECT_THAT(ErrorsOf(SharedWith(at, "")), HasSubstr("`window.at` is missing"));
  EXPECT_THAT(ErrorsOf(SharedWith("  level: guarded\n", "")),
              HasSubstr("`window.level` is missing"));
  EXPECT_THAT(ErrorsOf(SharedWith("  ids: crossing\n", "")), HasSubstr("`window.ids` is missing"));
}

TEST(PostgresWindowFile, AnAddressThatNobodyCouldOpenIsRefusedWithoutItsPassword) {
  for (const char* at : {"mysql://pay:hunter2@db1/payments", "postgres://db1/payments",
                         "postgres://pay:hunter2@db1", "postgres://pay:hunter2@db1/payments?x=1",
                         "postgres://pay:hunter2@db1/payments?sslmode=maybe"}) {
    const std::string errors = ErrorsOf(
        SharedWith("\"postgres://pay:hunter2@db1/payments\"", "\"" + std::string(at) + "\""));
    EXPECT_THAT(errors, StartsWith("service.yaml:5:7: `window.at` cannot be read: ")) << at;
    EXPECT_THAT(errors, Not(HasSubstr("hunter2")));
  }
}

TEST(PostgresWindowFile, TheAddressMayComeFromAFile) {
  ConfigSources sources = NoSources();
  sources.secret_file = [](const std::string&) { return std::string("postgres://u:p@h/d"); };
  const auto options = ParseService(
      SharedWith("\"postgres://pay:hunter2@db1/payments\"", "${file:/run/secrets/window}"),
      "service.yaml", sources);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->postgres_at, "postgres://u:p@h/d");
}

TEST(PostgresWindowFile, AnAddressWithAFileInItCanBeReadAgain) {
  std::string file = "postgres://u:old@h/d";
  ConfigSources sources = NoSources();
  sources.secret_file = [&file](const std::string&) { return file; };
  const std::string address = "\"postgres://pay:hunter2@db1/payments\"";
  const auto whole =
      ParseService(SharedWith(address, "${file:/run/secrets/window}"), "service.yaml", sources);
  ASSERT_TRUE(whole) << whole.error().message;
  file = "new";
  EXPECT_EQ(*whole->postgres.read_address(), "new");
  const auto part = ParseService(SharedWith(address, "\"postgres://u:${file:/pw}@h/d\""),
                                 "service.yaml", sources);
  ASSERT_TRUE(part) << part.error().message;
  file = "newer";
  EXPECT_EQ(*part->postgres.read_address(), "postgres://u:newer@h/d");
  EXPECT_FALSE(Parsed(kShared).postgres.read_address) << "there is nothing to read";
}

TEST(PostgresWindowFile, LimitsFitIntoEachOther) {
  EXPECT_THAT(ErrorsOf(kShared + "  connections: 1\n"),
              StartsWith("service.yaml:9:16: `window.connections` must be at least 6"));
  EXPECT_EQ(ErrorsOf(kShared + "  call: 10s\n"), "");
  EXPECT_THAT(ErrorsOf(kShared + "  call: 11s\n"),
              HasSubstr("`window.lease` must be at least three times `window.call`, which is 11s"));
  for (const std::string schema : {"Pay", "1pay", "pay-1", "pay.x"}) {
    EXPECT_THAT(ErrorsOf(kShared + "  schema: " + schema + "\n"),
                HasSubstr("`window.schema` must be 1 to 63 of a-z, 0-9 and _"))
        << schema;
  }
  EXPECT_THAT(ErrorsOf(kShared + "  schema: " + std::string(64, 'a') + "\n"),
              HasSubstr("`window.schema`"));
}

TEST(PostgresWindowFile, AtomicNeedsAnIdForEachMessage) {
  EXPECT_EQ(ErrorsOf(kAtomicShared), "") << "the engine decides when it opens";
  EXPECT_THAT(ErrorsOf(kAtomicShared + "  missing_id: pass\n"),
              HasSubstr("`window.missing_id` cannot be `pass` at the level atomic"));
}

TEST(PostgresWindowFile, AProgramMeetsTheSameRules) {
  ServiceOptions options = Parsed(kShared);
  options.postgres.level.reset();
  options.postgres_at.clear();
  options.postgres.max_connections = 0;
  const Status status = CheckService(options);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("`window.level` must be said"));
  EXPECT_THAT(status.error().message, HasSubstr("`window.at` must be said: postgres://"));
  EXPECT_THAT(status.error().message, HasSubstr("`window.connections` must be at least 6"));
}

TEST(PostgresWindowFile, TheDescriptionGivesTheSameOptionsAgainAndNoPassword) {
  for (const std::string& yaml :
       {kShared, kOwnedShared, kAtomicShared, kOpaqueShared + "  schema: pay\n  call: 99ms\n"}) {
    const std::string text = Describe(Parsed(yaml));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(text, HasSubstr("  at: \"postgres://(not shown)@db1/payments\"\n"));
    EXPECT_EQ(Describe(Parsed(text)), text);
  }
}

TEST(PostgresWindowFile, TheGuaranteeSaysFirstThatTheDatabaseDecides) {
  for (const std::string& yaml : {kShared, kOpaqueShared, kAtomicShared}) {
    const std::string text = Explained(yaml);
    EXPECT_THAT(text, HasSubstr("window postgres, level "));
    EXPECT_THAT(text, HasSubstr("What does not hold - The database decides: "));
    EXPECT_THAT(text, HasSubstr("the schema oncemq of postgres://db1:5432/payments."));
    EXPECT_THAT(text, HasSubstr("a commit that waits for the server's disk"));
    EXPECT_THAT(text, HasSubstr("start time, timeline and log position tell"));
    EXPECT_THAT(text, HasSubstr("nothing runs without the window. The members keep their"));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(text, Not(HasSubstr("leaves its")));
  }
}

TEST(PostgresWindowFile, TheGuaranteeSaysWhatCompletesAWindowThatLostChanges) {
  EXPECT_THAT(Explained(kShared), HasSubstr("An owner whose window is new, or behind the commit, "
                                            "reads up to 1000000 offsets back in the log"));
  EXPECT_THAT(Explained(kShared), HasSubstr("does not start (`incomplete: stop`)"));
  EXPECT_THAT(Explained(kShared + "  catch_up: 0\n"), HasSubstr("`catch_up` is 0"));
  EXPECT_THAT(Explained(kAtomicShared), HasSubstr("it goes back, and its handlers run again"));
  EXPECT_THAT(Explained(kAtomicShared), Not(HasSubstr("offsets back in the log")));
}

TEST(PostgresWindowFile, TheGuaranteeSaysWhetherIdsMayCrossPartitions) {
  const std::string crossing = Explained(kShared);
  EXPECT_THAT(crossing, HasSubstr("Ids may cross partitions: all members of the group share"));
  EXPECT_LT(crossing.find("What holds"), crossing.find("Ids may cross partitions"));
  EXPECT_THAT(crossing, HasSubstr("away for longer than the lease of 30s"));
  EXPECT_THAT(crossing, HasSubstr("called again: the target decides"));
  EXPECT_THAT(Explained(kOpaqueShared), HasSubstr("called again: the effect is there twice"));
  EXPECT_THAT(Explained(kAtomicShared), Not(HasSubstr("called again")));
  const std::string owned = Explained(kOwnedShared);
  EXPECT_THAT(owned, HasSubstr("You said `ids: partition_owned`"));
  EXPECT_THAT(owned, Not(HasSubstr("Ids may cross partitions")));
  EXPECT_THAT(Explained(kShared + "  missing_id: pass\n"), HasSubstr("counted as unprotected"));
}

TEST(PostgresWindowFile, TheGuaranteeOfOpaqueCountsWhatRanWhenAProcessDied) {
  const std::string text = Explained(kOpaqueShared);
  EXPECT_THAT(text, HasSubstr("may happen twice for what was claimed and not finished"));
  EXPECT_THAT(text, HasSubstr("The database tells it, and it is counted as uncertain"));
  EXPECT_THAT(text, HasSubstr("`handler_timeout` (1m) has passed"));
  EXPECT_THAT(text, Not(HasSubstr("happens once")));
}

TEST(PostgresWindowFile, OneLineNeverPromisesMoreThanTheText) {
  EXPECT_EQ(GuaranteeLine(Parsed(kShared)),
            "guarded: once per id, if the target stores the id with the effect");
  EXPECT_EQ(GuaranteeLine(Parsed(kOpaqueShared)),
            "opaque: at least once, copies are suppressed while the window knows them");
  EXPECT_THAT(GuaranteeLine(Parsed(kAtomicShared)), StartsWith("atomic: once per id"));
  EXPECT_THAT(ExplainLevels(), HasSubstr("postgres: atomic, guarded or opaque"));
}

TEST(PostgresWindowFile, TheTextsFitIntoATerminal) {
  for (const std::string& yaml : {kShared, kOpaqueShared, kAtomicShared, kOwnedShared}) {
    ExpectExplainedInNarrowLines(yaml);
  }
}

TEST(PostgresWindowFile, TheReferenceFileShowsEveryKeyWithItsDefault) {
  ConfigSources sources = NoSources();
  sources.secret_file = [](const std::string&) { return std::string("postgres://u:p@h/d"); };
  const auto described = [&](const std::string& yaml) {
    const auto options = ParseService(yaml, "service.yaml", sources);
    EXPECT_TRUE(options) << options.error().message;
    return Describe(options.value_or(ServiceOptions{}));
  };
  const std::string opened = ReferenceWindow("postgres", /*every_key=*/true);
  const std::string smallest = described(ReferenceWindow("postgres", /*every_key=*/false));
  EXPECT_EQ(described(opened), smallest);
  EXPECT_GT(ExpectWindowKeysShown(smallest, opened), 18);
}

#endif

}  // namespace
}  // namespace oncemq
