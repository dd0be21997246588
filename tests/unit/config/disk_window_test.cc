// SPDX-License-Identifier: Apache-2.0
// The window on disk in a service file: its keys, what is refused, and what the guarantee says.
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
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kDisk =
    "kafka: {brokers: k1, group: payments}\n"
    "topics: payments\n"
    "window:\n"
    "  engine: rocksdb\n"
    "  directory: /var/lib/pay\n"
    "  level: guarded\n"
    "  ids: partition_owned\n"
    "  id: {header: message-id}\n";

std::string DiskWith(const std::string& line, const std::string& replacement) {
  std::string yaml = kDisk;
  yaml.replace(yaml.find(line), line.size(), replacement);
  return yaml;
}

TEST(DiskWindow, KeysOfAnotherEngineAreRefusedWhereTheyStand) {
  EXPECT_THAT(ErrorsOf(kMinimalService + "  sync: never\n"),
              StartsWith("service.yaml:10:9: `window.sync` has no meaning here: only the window on "
                         "disk has it"));
  for (const char* key : {"directory: /var/x", "skew: 1m", "generation: 5000", "max_open: 7",
                          "cache: 8MiB", "memory: 64MiB", "one_host: true"}) {
    EXPECT_THAT(ErrorsOf(kMinimalService + "  " + key + "\n"), HasSubstr("only the window on disk"))
        << key;
    EXPECT_THAT(ErrorsOf("kafka: {brokers: k1, group: g}\ntopics: p\nwindow:\n  engine: none\n  " +
                         std::string(key) + "\n"),
                HasSubstr("`window.engine` is `none`"))
        << key;
  }
}

TEST(DiskWindow, WhatAnUnknownEngineWouldTakeIsNotCalledUnknown) {
  const std::string errors = ErrorsOf(DiskWith("  engine: rocksdb\n", "  engine: rocksbd\n"));
  EXPECT_THAT(errors, StartsWith("service.yaml:4:11: "));
  EXPECT_THAT(errors, Not(HasSubstr("directory")));
}

#ifndef ONCEMQ_WITH_ROCKSDB

TEST(DiskWindow, ABuildWithoutItSaysSo) {
  EXPECT_THAT(ErrorsOf(kDisk), StartsWith("service.yaml:4:11: `window.engine` cannot be `rocksdb`: "
                                          "this build has no window on disk"));
}

#else

const std::string kAtomic = DiskWith("  level: guarded\n", "  level: atomic\n  one_host: true\n");
const std::string kOpaque = DiskWith("  level: guarded\n", "  level: opaque\n");

TEST(DiskWindow, EveryKeyReachesItsOption) {
  const ServiceOptions options = Parsed(
      kDisk +
      "  one_host: true\n  sync: each_batch\n  remember: 36h\n  skew: 5s\n  generation: 5000\n"
      "  memory: 64MiB\n  max_open: 20000\n  max_parked: 70\n  cache: 8MiB\n  lease: 20s\n"
      "  max_lease: 5m\n  handler_timeout: 90s\n  catch_up: 77\n  catch_up_time: 3s\n"
      "  incomplete: run\n");
  EXPECT_EQ(options.engine, ServiceOptions::Engine::kRocksDb);
  EXPECT_EQ(options.local.directory, "/var/lib/pay");
  EXPECT_EQ(options.local.level, Level::kGuarded);
  EXPECT_EQ(options.runtime.policy.level, Level::kGuarded);
  EXPECT_TRUE(options.runtime.policy.window);
  EXPECT_TRUE(options.runtime.one_host);
  EXPECT_EQ(options.local.sync, SyncWhen::kEachBatch);
  EXPECT_EQ(options.local.remember, 36h);
  EXPECT_EQ(options.local.skew, 5s);
  EXPECT_EQ(options.local.generation, 5'000u);
  EXPECT_EQ(options.local.memory_bytes, uint64_t{64} << 20);
  EXPECT_EQ(options.local.max_open, 20'000u);
  EXPECT_EQ(options.local.max_parked, 70u);
  EXPECT_EQ(options.local.cache_bytes, size_t{8} << 20);
  EXPECT_EQ(options.local.times.lease, 20s);
  EXPECT_EQ(options.local.times.max_lease, 5min);
  EXPECT_EQ(options.local.times.handler_timeout, 90s);
  EXPECT_EQ(options.runtime.catch_up, 77);
  EXPECT_EQ(options.runtime.catch_up_time, milliseconds(3'000));
  EXPECT_EQ(options.runtime.incomplete, IncompletePolicy::kRun);
}

TEST(DiskWindow, TheSmallestOneTakesTheDefaultsOfTheEngine) {
  const ServiceOptions options = Parsed(kDisk);
  EXPECT_EQ(options.local.sync, LocalWindowOptions().sync);
  EXPECT_EQ(options.local.remember, LocalWindowOptions().remember);
  EXPECT_EQ(options.local.generation, LocalWindowOptions().generation);
  EXPECT_FALSE(options.runtime.one_host);
  EXPECT_FALSE(options.runtime.incomplete) << "the runtime knows which engine stops";
  EXPECT_THAT(Describe(options), HasSubstr("  incomplete: stop\n"));
  EXPECT_THAT(Describe(Parsed(kMinimalService)), HasSubstr("  incomplete: run\n"));
  EXPECT_THAT(Describe(Parsed(kMinimalService + "  incomplete: stop\n")),
              HasSubstr("  incomplete: stop\n"));
}

TEST(DiskWindow, AShortLeaseIsRenewedOftenEnough) {
  EXPECT_EQ(Parsed(kDisk + "  lease: 3s\n").runtime.renew_every, 1s);
}

TEST(DiskWindow, TheDescriptionGivesTheSameOptionsAgain) {
  for (const std::string& yaml : {kDisk, kAtomic, kOpaque + "  sync: never\n  cache: 9MiB\n"}) {
    const std::string text = Describe(Parsed(yaml));
    EXPECT_EQ(Describe(Parsed(text)), text);
  }
}

TEST(DiskWindow, TheUserSaysWhatOnlyHeCanKnow) {
  EXPECT_THAT(ErrorsOf(DiskWith("  directory: /var/lib/pay\n", "")),
              HasSubstr("`window.directory` is missing"));
  EXPECT_THAT(ErrorsOf(DiskWith("  level: guarded\n", "")), HasSubstr("`window.level` is missing"));
  EXPECT_THAT(ErrorsOf(DiskWith("  ids: partition_owned\n", "  ids: crossing\n")),
              HasSubstr("each partition has a store of its own"));
}

TEST(DiskWindow, AtomicNeedsOneHostAndAnIdForEachMessage) {
  EXPECT_EQ(ErrorsOf(kAtomic), "");
  const std::string anywhere = DiskWith("  level: guarded\n", "  level: atomic\n");
  EXPECT_THAT(ErrorsOf(anywhere), HasSubstr("`window.one_host` must be `true`"));
  EXPECT_THAT(ErrorsOf(anywhere + "  one_host: false\n"),
              StartsWith("service.yaml:9:13: `window.one_host` must be `true`"));
  EXPECT_THAT(ErrorsOf(kAtomic + "  missing_id: pass\n"),
              HasSubstr("`window.missing_id` cannot be `pass` at the level atomic"));
}

TEST(DiskWindow, LimitsFitTheStoreOfOnePartition) {
  EXPECT_THAT(ErrorsOf(kDisk + "  max_open: 100\n"),
              HasSubstr("`window.max_open` must be at least `limits.partition_credit`"));
  EXPECT_THAT(ErrorsOf(kDisk + "  remember: 1000000\n"), HasSubstr("`window.remember` must be"));
  EXPECT_THAT(ErrorsOf(kDisk + "  lease: 1h\n  max_lease: 10m\n"), HasSubstr("`window.lease`"));
  EXPECT_EQ(ErrorsOf(kDisk + "limits: {in_flight: 2000000}\n"), "");
}

TEST(DiskWindow, AWindowInMemoryThatNobodyCompletesCannotStopForWhatIsMissing) {
  EXPECT_THAT(ErrorsOf(kMinimalService + "  catch_up: 0\n  incomplete: stop\n"),
              HasSubstr("`window.incomplete` cannot be `stop` in memory"));
}

TEST(DiskWindow, TheGuaranteeSaysThatAMoveLeavesTheStoreBehind) {
  for (const std::string& yaml : {kDisk, kOpaque}) {
    const std::string text = Explained(yaml);
    EXPECT_THAT(text, HasSubstr("window rocksdb"));
    EXPECT_THAT(text, HasSubstr("moves to another host leaves its store behind"));
    EXPECT_THAT(text, HasSubstr("The bound is the work since the last acknowledged commit"));
    EXPECT_THAT(text, Not(HasSubstr("memory of this process")));
    EXPECT_LT(text.find("leaves its store behind"), text.find("What holds"));
    const std::string stays = Explained(yaml + "  one_host: true\n");
    EXPECT_THAT(stays, Not(HasSubstr("leaves its store behind")));
    EXPECT_THAT(stays, HasSubstr("oncemq cannot check that; a member elsewhere has other stores"));
  }
}

TEST(DiskWindow, OnlyOneHostNarrowsTheBoundOfOpaque) {
  EXPECT_THAT(Explained(kOpaque), HasSubstr("it may happen twice for what finished since the last "
                                            "acknowledged commit"));
  EXPECT_THAT(Explained(kOpaque + "  one_host: true\n"),
              HasSubstr("it may happen twice for what was claimed and not finished"));
  EXPECT_THAT(Explained(kOpaque), Not(HasSubstr("happens once")));
}

TEST(DiskWindow, TheGuaranteeSaysWhatALossOfPowerTakes) {
  EXPECT_THAT(Explained(kDisk), HasSubstr("takes what was finished since the last commit"));
  EXPECT_THAT(Explained(kDisk + "  sync: each_batch\n"), HasSubstr("takes nothing that was"));
  EXPECT_THAT(Explained(kDisk + "  sync: never\n"),
              HasSubstr("also what a commit calls finished. It is handled again"));
  EXPECT_THAT(Explained(kOpaque), HasSubstr("Claims are synced"));
  EXPECT_THAT(Explained(kOpaque + "  sync: never\n"), HasSubstr("is not counted as uncertain"));
  EXPECT_THAT(Explained(kAtomic + "  sync: never\n"), HasSubstr("go together"));
}

TEST(DiskWindow, TheGuaranteeSaysHowLongAnIdIsKnown) {
  const std::string text = Explained(kDisk + "  remember: 36h\n");
  EXPECT_THAT(text, HasSubstr("known for at least 36h, and 1m more"));
  EXPECT_THAT(text, HasSubstr("not by the clock (rule 22)"));
  EXPECT_THAT(text, HasSubstr("is new: nobody can know (rule 23)"));
}

TEST(DiskWindow, TheGuaranteeSaysWhatBecomesOfAStoreThatDoesNotFit) {
  EXPECT_THAT(Explained(kDisk), HasSubstr("reads up to 1000000 offsets back in the log"));
  EXPECT_THAT(Explained(kDisk), HasSubstr("does not start (`incomplete: stop`)"));
  EXPECT_THAT(Explained(kDisk + "  incomplete: run\n"), HasSubstr("run again (`incomplete: run`)"));
  EXPECT_THAT(Explained(kDisk + "  catch_up: 0\n"), HasSubstr("`catch_up` is 0"));
  EXPECT_THAT(Explained(kAtomic), HasSubstr("says what it found (rules 2 and 28)"));
  EXPECT_THAT(Explained(kAtomic), Not(HasSubstr("offsets back in the log")));
}

TEST(DiskWindow, AtomicIsForProgramsAndForEffectsInTheStore) {
  const std::string text = Explained(kAtomic);
  EXPECT_THAT(text, HasSubstr("`oncemq run` can only watch at this level"));
  EXPECT_THAT(text, HasSubstr("a message that it sends beside them happens at least once"));
  EXPECT_THAT(text, HasSubstr("effect and marker are one write in the partition's store"));
}

TEST(DiskWindow, OneLineNeverPromisesMoreThanTheText) {
  EXPECT_THAT(GuaranteeLine(Parsed(kDisk)), HasSubstr("leaves its window behind"));
  EXPECT_THAT(GuaranteeLine(Parsed(kOpaque)),
              HasSubstr("work since the last acknowledged commit may run twice there, told and "
                        "counted as uncertain"));
  EXPECT_THAT(GuaranteeLine(Parsed(kOpaque + "  one_host: true\n")),
              EndsWith("the window stays on this host, and so do all members"));
  EXPECT_THAT(GuaranteeLine(Parsed(kAtomic)), StartsWith("atomic: once per id"));
  EXPECT_THAT(ExplainLevels(), HasSubstr("rocksdb: atomic, guarded or opaque"));
}

TEST(DiskWindow, TheTextsFitIntoATerminal) {
  for (const std::string& yaml : {kDisk, kOpaque, kAtomic}) {
    ExpectExplainedInNarrowLines(yaml);
  }
}

TEST(DiskWindow, TheReferenceFileShowsEveryKeyWithItsDefault) {
  const std::string opened = ReferenceWindow("rocksdb", /*every_key=*/true);
  const std::string described = Describe(Parsed(ReferenceWindow("rocksdb", /*every_key=*/false)));
  EXPECT_EQ(Describe(Parsed(opened)), described);
  EXPECT_GT(ExpectWindowKeysShown(described, opened), 18);
}

#endif

}  // namespace
}  // namespace oncemq
