// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "oncemq/framework/service_file.h"

namespace oncemq {
namespace {

using ::testing::HasSubstr;

constexpr char kWatchedBegin[] = "kafka: {brokers: 'b:1', group: g, start: now}\ntopics: [t, u]\n";
constexpr char kWatchedIds[] = "ids: partition_owned, id: {header: message-id}";

ServiceOptions WatchedService(const std::string& window, const std::string& more = "") {
  auto options = ParseService(kWatchedBegin + ("window: {" + window + "}\n") + more, "s.yaml");
  EXPECT_TRUE(options) << options.error().message;
  return *std::move(options);
}

ServiceOptions MemoryService(const std::string& more = "") {
  return WatchedService(std::string("engine: memory, level: guarded, ") + kWatchedIds, more);
}

TEST(Watch, HasAGroupOfItsOwn) {
  const ServiceOptions watch = WatchOptions(MemoryService(), {.mark = "1a2b3c4d"});
  EXPECT_EQ(watch.runtime.kafka.group, "g.watch.1a2b3c4d");
  EXPECT_EQ(watch.runtime.kafka.topics, (std::vector<std::string>{"t", "u"}));
  EXPECT_EQ(watch.runtime.kafka.brokers, "b:1");
}

TEST(Watch, CutsAGroupThatLeavesNoRoomForTheMark) {
  EXPECT_EQ(WatchGroup(std::string(249, 'g'), "1a2b3c4d"),
            std::string(234, 'g') + ".watch.1a2b3c4d");
  EXPECT_EQ(WatchGroup(std::string(234, 'g'), "1a2b3c4d").size(), 249u);
  const std::string umlaut = "\u00e4";
  EXPECT_EQ(WatchGroup(std::string(233, 'g') + umlaut, "1a2b3c4d"),
            std::string(233, 'g') + ".watch.1a2b3c4d")
      << "no half of a character";
}

TEST(Watch, LeavesAloneWhatTheServiceHas) {
  ServiceOptions service = MemoryService(
      "reject: {journal: /var/refused}\nadmin: {socket: /run/a.sock}\nlog: {file: /var/log/x}\n"
      "locks: {at: 'redis://h', space: s}\n");
  const ServiceOptions watch = WatchOptions(service, {.mark = "m"});
  EXPECT_EQ(watch.runtime.journal, "");
  EXPECT_EQ(watch.runtime.policy.reject, RejectPolicy::kStop);
  EXPECT_EQ(watch.admin.socket, "");
  EXPECT_EQ(watch.log.file, "");
  EXPECT_FALSE(watch.locks.any());
  EXPECT_EQ(watch.locks.space, "");
  EXPECT_TRUE(CheckService(watch)) << CheckService(watch).error().message;
}

TEST(Watch, TakesNoLocksFromTheAssignment) {
  const ServiceOptions watch = WatchOptions(
      MemoryService(
          "locks: {elided: true, names_partition_owned: true, effects_check_fences: true}\n"),
      {.mark = "m"});
  EXPECT_FALSE(watch.runtime.locks.elided);
  EXPECT_TRUE(CheckService(watch)) << CheckService(watch).error().message;
}

#ifdef ONCEMQ_WITH_ROCKSDB
TEST(Watch, PutsAWindowInMemoryInPlaceOfTheStoresOnDisk) {
  const ServiceOptions watch =
      WatchOptions(WatchedService("engine: rocksdb, directory: /var/stores, level: atomic, "
                                  "one_host: true, lease: 90s, max_lease: 95s, " +
                                  std::string(kWatchedIds)),
                   {.mark = "m"});
  EXPECT_EQ(watch.engine, ServiceOptions::Engine::kMemory);
  EXPECT_EQ(LevelOf(watch), Level::kOpaque) << "nobody checks a line that was printed";
  EXPECT_EQ(watch.runtime.policy.level, Level::kOpaque);
  EXPECT_EQ(watch.local.directory, "");
  EXPECT_FALSE(watch.runtime.one_host);
  EXPECT_EQ(watch.memory.times.lease, milliseconds(90'000));
  EXPECT_EQ(watch.runtime.id_header, "message-id");
  EXPECT_TRUE(CheckService(watch)) << CheckService(watch).error().message;
}
#endif

#ifdef ONCEMQ_WITH_POSTGRES
TEST(Watch, PutsAWindowInMemoryInPlaceOfTheDatabase) {
  const ServiceOptions watch = WatchOptions(
      WatchedService("engine: postgres, at: 'postgres://u:hunter2@h/d', level: guarded, "
                     "ids: crossing, id: key, lease: 90s, max_lease: 95s"),
      {.mark = "m"});
  EXPECT_EQ(watch.engine, ServiceOptions::Engine::kMemory);
  EXPECT_EQ(LevelOf(watch), Level::kOpaque);
  EXPECT_EQ(watch.postgres_at, "");
  EXPECT_EQ(watch.postgres.scope, "");
  EXPECT_EQ(watch.memory.times.lease, milliseconds(90'000));
  EXPECT_TRUE(watch.runtime.ids_partition_owned) << "its group has one member";
  EXPECT_TRUE(CheckService(watch)) << CheckService(watch).error().message;
}
#endif

#ifdef ONCEMQ_WITH_REDIS
TEST(Watch, PutsAWindowInMemoryInPlaceOfRedis) {
  const ServiceOptions watch =
      WatchOptions(WatchedService("engine: redis, at: 'redis://u:hunter2@h', level: guarded, "
                                  "ids: crossing, id: key, lease: 90s, max_lease: 95s"),
                   {.mark = "m"});
  EXPECT_EQ(watch.engine, ServiceOptions::Engine::kMemory);
  EXPECT_EQ(watch.redis_at, "");
  EXPECT_EQ(watch.redis.scope, "");
  EXPECT_EQ(watch.memory.times.lease, milliseconds(90'000));
  EXPECT_TRUE(CheckService(watch)) << CheckService(watch).error().message;
}
#endif

TEST(Watch, OfAServiceWithoutAWindowHasNone) {
  const ServiceOptions watch = WatchOptions(WatchedService("engine: none"), {.mark = "m"});
  EXPECT_EQ(watch.engine, ServiceOptions::Engine::kNone);
  EXPECT_TRUE(CheckService(watch)) << CheckService(watch).error().message;
}

TEST(Watch, HasRoomForAllThatMayBeInFlight) {
  ServiceOptions service = MemoryService();
  service.runtime.core.in_flight = 2'000'000;
  service.runtime.core.waiting.messages = 1'000'000;
  service.memory.max_open = 1'000;
  const ServiceOptions watch = WatchOptions(std::move(service), {.mark = "m"});
  EXPECT_EQ(watch.memory.max_open, 3'000'000u);
}

TEST(Watch, ShowsTheMessagesThatTheServiceWouldRefuse) {
  const ServiceOptions watch =
      WatchOptions(MemoryService("order: {null_key: refuse}\n"), {.mark = "m"});
  EXPECT_EQ(watch.runtime.missing_id, MissingId::kPass);
  EXPECT_EQ(watch.runtime.null_key, NullKey::kUnordered);
  EXPECT_EQ(watch.runtime.conflicts, ConflictPolicy::kIgnore);
  EXPECT_EQ(watch.runtime.kafka.out_of_range, KafkaOptions::OutOfRange::kResumeAtLogStart);
  const ServiceOptions one_lane =
      WatchOptions(MemoryService("order: {null_key: one_lane}\n"), {.mark = "m"});
  EXPECT_EQ(one_lane.runtime.null_key, NullKey::kOneLane);
}

TEST(Watch, ReadsNothingAgainToCompleteItsWindow) {
  const ServiceOptions watch =
      WatchOptions(WatchedService("engine: memory, level: guarded, incomplete: stop, " +
                                  std::string(kWatchedIds)),
                   {.mark = "m"});
  EXPECT_EQ(watch.runtime.catch_up, 0);
  EXPECT_EQ(watch.runtime.incomplete, IncompletePolicy::kRun);
}

TEST(Watch, BeginsWhereTheServiceFileSaysOrWithNewMessages) {
  ServiceOptions service = MemoryService();
  service.runtime.kafka.start = KafkaOptions::Start::kEarliest;
  EXPECT_EQ(WatchOptions(service, {.mark = "m"}).runtime.kafka.start,
            KafkaOptions::Start::kEarliest);
  EXPECT_EQ(WatchOptions(service, {.mark = "m", .only_new = true}).runtime.kafka.start,
            KafkaOptions::Start::kNow);
}

TEST(Watch, SaysInOneLineWhatItLeavesAloneAndWhereItBegins) {
  ServiceOptions service = MemoryService();
  service.runtime.kafka.group = "g\x1b";
  const auto text = [&] { return WatchText(service, WatchOptions(service, {.mark = "m"})); };
  EXPECT_EQ(text(),
            "watching t, u as group \"g\\u001b.watch.m\": nothing is committed to \"g\\u001b\" and "
            "its window is not touched; begins with the messages that arrive from now on");
  service.runtime.kafka.start = KafkaOptions::Start::kEarliest;
  EXPECT_THAT(text(), HasSubstr("; begins at the start of the log"));
  service.runtime.kafka.start = KafkaOptions::Start::kTime;
  service.runtime.kafka.start_time_ms = 1'600'000'000'000;
  EXPECT_THAT(text(), HasSubstr("; begins at 2020-09-13T12:26:40.000Z"));
}

}  // namespace
}  // namespace oncemq
