// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/service_file.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "minimal_service.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using oncemq::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ServiceFile, TheSmallestOneTakesTheDefaults) {
  const ServiceOptions options = Parsed(kMinimalService);
  const RuntimeOptions& runtime = options.runtime;
  EXPECT_EQ(runtime.kafka.brokers, "localhost:9092");
  EXPECT_EQ(runtime.kafka.group, "payments");
  EXPECT_EQ(runtime.kafka.topics, std::vector<std::string>{"payments"});
  EXPECT_EQ(runtime.kafka.start, KafkaOptions::Start::kEarliest);
  EXPECT_EQ(runtime.kafka.assignor, KafkaOptions::Assignor::kRange);
  EXPECT_EQ(options.engine, ServiceOptions::Engine::kMemory);
  EXPECT_EQ(options.memory.level, Level::kGuarded);
  EXPECT_EQ(runtime.id_from, IdFrom::kHeader);
  EXPECT_EQ(runtime.id_header, "message-id");
  EXPECT_TRUE(runtime.policy.window);
  EXPECT_EQ(runtime.policy.level, Level::kGuarded);
  EXPECT_EQ(runtime.missing_id, MissingId::kRefuse);
  EXPECT_EQ(runtime.null_key, NullKey::kUnordered);
  EXPECT_EQ(runtime.core.order, Order::kKey);
  EXPECT_EQ(runtime.core.session_timeout, CoreOptions().session_timeout);
  EXPECT_EQ(options.log.level, LogLevel::kInfo);
}

const std::string kFullService =
    "scope: {app: shop, namespace: eu, handler: pay}\n"
    "kafka:\n"
    "  brokers: [k1:9092, k2:9093]\n"
    "  group: payments\n"
    "  start: 2026-11-21T10:00:00Z\n"
    "  assignor: cooperative-sticky\n"
    "  out_of_range: resume_at_log_start\n"
    "  prefetch: 100MiB\n"
    "  session_timeout: 60s\n"
    "  commit_interval: 1s\n"
    "  properties: {client.id: pay, fetch.max.bytes: 1000000}\n"
    "topics: [a, b]\n"
    "window:\n"
    "  engine: memory\n"
    "  level: opaque\n"
    "  ids: partition_owned\n"
    "  id: key\n"
    "  missing_id: pass\n"
    "  conflicts: ignore\n"
    "  remember: 5000\n"
    "  max_parked: 600\n"
    "  lease: 20s\n"
    "  max_lease: 5m\n"
    "  handler_timeout: 90s\n"
    "  catch_up: 77\n"
    "order: {mode: partition}\n"
    "reject: {journal: /var/lib/pay/refused}\n"
    "runtime:\n"
    "  workers: 3\n"
    "  workers_when_blocking: 7\n"
    "  hang_after: 3s\n"
    "  spare_workers: 9\n"
    "  poll_budget: 50ms\n"
    "  drain_deadline: 20s\n"
    "retry: {first: 10ms, most: 1m, jitter_percent: 7, attempts: 9, give_up_after: 2h,\n"
    "        at_end: park, deaths: 5}\n"
    "limits: {in_flight: 1000, in_flight_bytes: 64MiB, waiting: 2000, waiting_bytes: 32MiB,\n"
    "         over_waiting: park, partition_credit: 100, span: 5000, batch: 50, lane_batch: 5}\n"
    "log: {level: debug, format: json, file: /var/log/pay}\n"
    "admin: {socket: /run/pay/admin.sock, listen: 9464, metrics_by_partition: false}\n";

TEST(ServiceFile, EveryKeyOfSourceAndScopeReachesItsOption) {
  const ServiceOptions options = Parsed(kFullService);
  const RuntimeOptions& runtime = options.runtime;
  EXPECT_EQ(runtime.app, "shop");
  EXPECT_EQ(runtime.name_space, "eu");
  EXPECT_EQ(runtime.handler, "pay");
  EXPECT_EQ(runtime.kafka.brokers, "k1:9092,k2:9093");
  EXPECT_EQ(runtime.kafka.start, KafkaOptions::Start::kTime);
  EXPECT_EQ(runtime.kafka.start_time_ms, 1'795'255'200'000);
  EXPECT_EQ(runtime.kafka.assignor, KafkaOptions::Assignor::kCooperativeSticky);
  EXPECT_EQ(runtime.kafka.out_of_range, KafkaOptions::OutOfRange::kResumeAtLogStart);
  EXPECT_EQ(runtime.kafka.prefetch_bytes, 100U << 20);
  EXPECT_EQ(runtime.core.session_timeout, 60s);
  EXPECT_EQ(runtime.core.commit_interval, 1s);
  ASSERT_EQ(runtime.kafka.properties.size(), 2u);
  EXPECT_EQ(runtime.kafka.properties[1],
            std::pair(std::string("fetch.max.bytes"), std::string("1000000")));
  EXPECT_EQ(runtime.kafka.topics, (std::vector<std::string>{"a", "b"}));
}

TEST(ServiceFile, EveryKeyOfWindowAndOrderReachesItsOption) {
  const ServiceOptions options = Parsed(kFullService);
  const RuntimeOptions& runtime = options.runtime;
  EXPECT_EQ(options.memory.level, Level::kOpaque);
  EXPECT_EQ(runtime.policy.level, Level::kOpaque);
  EXPECT_EQ(runtime.id_from, IdFrom::kKey);
  EXPECT_EQ(options.memory.remember, 5000u);
  EXPECT_EQ(options.memory.max_parked, 600u);
  EXPECT_EQ(options.memory.times.lease, 20s);
  EXPECT_EQ(options.memory.times.max_lease, 5min);
  EXPECT_EQ(options.memory.times.handler_timeout, 90s);
  EXPECT_EQ(runtime.catch_up, 77);
  EXPECT_EQ(runtime.conflicts, ConflictPolicy::kIgnore);
  EXPECT_EQ(runtime.missing_id, MissingId::kPass);
  EXPECT_EQ(runtime.core.order, Order::kPartition);
  EXPECT_EQ(runtime.policy.reject, RejectPolicy::kJournal);
  EXPECT_EQ(runtime.journal, "/var/lib/pay/refused");
}

TEST(ServiceFile, EveryKeyOfRuntimeLimitsAndLogReachesItsOption) {
  const ServiceOptions options = Parsed(kFullService);
  const RuntimeOptions& runtime = options.runtime;
  EXPECT_EQ(runtime.workers, 3u);
  EXPECT_EQ(runtime.workers_when_blocking, 7u);
  EXPECT_EQ(runtime.hang_after, 3s);
  EXPECT_EQ(runtime.spare_workers, 9u);
  EXPECT_EQ(runtime.poll_budget, 50ms);
  EXPECT_EQ(runtime.drain_deadline, 20s);
  EXPECT_EQ(runtime.policy.retry.first, 10ms);
  EXPECT_EQ(runtime.policy.retry.most, 1min);
  EXPECT_EQ(runtime.policy.retry.jitter_percent, 7u);
  EXPECT_EQ(runtime.policy.retry.attempts, 9u);
  EXPECT_EQ(runtime.policy.retry.give_up_after, 2h);
  EXPECT_EQ(runtime.policy.retry.at_end, AtEnd::kPark);
  EXPECT_EQ(runtime.policy.retry.deaths, 5u);
  EXPECT_EQ(runtime.core.in_flight, 1000u);
  EXPECT_EQ(runtime.core.in_flight_bytes, 64u << 20);
  EXPECT_EQ(runtime.core.waiting.messages, 2000u);
  EXPECT_EQ(runtime.core.waiting.bytes, 32u << 20);
  EXPECT_TRUE(runtime.core.waiting.park);
  EXPECT_EQ(runtime.core.partition_credit, 100u);
  EXPECT_EQ(runtime.core.span, 5000u);
  EXPECT_EQ(runtime.core.batch, 50u);
  EXPECT_EQ(runtime.core.lane_batch, 5u);
  EXPECT_EQ(options.log.level, LogLevel::kDebug);
  EXPECT_EQ(options.log.format, LogOptions::Format::kJson);
  EXPECT_EQ(options.log.file, "/var/log/pay");
  EXPECT_EQ(options.admin.socket, "/run/pay/admin.sock");
  EXPECT_EQ(options.admin.listen, "9464");
  EXPECT_FALSE(options.admin.metrics_by_partition);
}

TEST(ServiceFile, WithoutAWindowNothingIsAskedAboutIds) {
  const ServiceOptions options =
      Parsed("kafka: {brokers: k1, group: payments}\ntopics: payments\nwindow: {engine: none}\n");
  EXPECT_EQ(options.engine, ServiceOptions::Engine::kNone);
  EXPECT_FALSE(options.runtime.policy.window);
  EXPECT_EQ(options.runtime.policy.level, Level::kOpaque);
}

TEST(ServiceFile, AShortSessionKeepsMostOfItsTimeForWork) {
  const ServiceOptions options =
      Parsed(With("  group: payments\n", "  group: payments\n  session_timeout: 6s\n"));
  EXPECT_EQ(options.runtime.core.session_margin, 1500ms);
}

TEST(ServiceFile, AShortLeaseIsRenewedOftenEnough) {
  EXPECT_EQ(Parsed(kMinimalService + "  lease: 3s\n").runtime.renew_every, 1s);
  EXPECT_EQ(Parsed(kMinimalService + "  lease: 50s\n").runtime.renew_every, 10s);
}

TEST(ServiceFile, AQuotedNumberIsANumberAndAPlainOneMayBeAName) {
  EXPECT_EQ(Parsed(kMinimalService + "runtime: {workers: \"3\"}\n").runtime.workers, 3u);
  EXPECT_EQ(Parsed(With("  group: payments\n", "  group: 17\n")).runtime.kafka.group, "17");
}

TEST(ServiceFile, NumbersAreStrict) {
  for (const std::string text : {"-1", "1.5", "1e3", "0x10", "1_000", "many",
                                 "99999999999999999999", "5000000000", "1025"}) {
    EXPECT_THAT(ErrorsOf(kMinimalService + "runtime: {workers: " + text + "}\n"),
                HasSubstr("must be a whole number from 0 to 1024, not `" + text + "`"));
  }
}

TEST(ServiceFile, VariablesAreReplacedInValues) {
  ConfigSources sources = NoSources();
  sources.variable = [](const std::string& name) -> std::optional<std::string> {
    return name == "GROUP" ? std::optional<std::string>("from-outside") : std::nullopt;
  };
  const std::string yaml = With("  group: payments\n", "  group: ${GROUP}-${STAGE:dev}\n");
  const auto options = ParseService(yaml, "service.yaml", sources);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->runtime.kafka.group, "from-outside-dev");
}

TEST(ServiceFile, AVariableIsNeverReadAsYaml) {
  ConfigSources sources = NoSources();
  sources.variable = [](const std::string&) {
    return std::optional<std::string>("x\nwindow: {engine: none}\n");
  };
  const auto options =
      ParseService(With("  group: payments\n", "  group: ${GROUP}\n"), "service.yaml", sources);
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().message, HasSubstr("`kafka.group` must be 1 to 249 characters"));
}

TEST(ServiceFile, AMissingVariableIsAnErrorAtItsPlace) {
  EXPECT_THAT(ErrorsOf(With("  group: payments\n", "  group: ${GROUP}\n")),
              StartsWith("service.yaml:3:10: `kafka.group`: the environment has no variable"));
}

TEST(ServiceFile, ASecretFileMayFillASecretPropertyOnly) {
  ConfigSources sources = NoSources();
  sources.secret_file = [](const std::string& path) -> Result<std::string> {
    return path == "/run/secret" ? Result<std::string>(std::string("hunter2"))
                                 : Result<std::string>(Error{Code::kInvalid, Effect::kNone, "no"});
  };
  const auto parse = [&](const std::string& property) {
    return ParseService(With("  group: payments\n", "  group: payments\n  properties: {" +
                                                        property + ": \"${file:/run/secret}\"}\n"),
                        "service.yaml", sources);
  };
  const auto secret = parse("sasl.password");
  ASSERT_TRUE(secret) << secret.error().message;
  EXPECT_EQ(secret->runtime.kafka.properties[0].second, "hunter2");
  const auto open = parse("client.id");
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("for secrets only"));
}

TEST(ServiceFile, APropertyOutsideTheListIsAnErrorAtItsPlace) {
  EXPECT_THAT(ErrorsOf(With("  group: payments\n",
                            "  group: payments\n  properties:\n    enable.auto.commit: true\n")),
              StartsWith("service.yaml:5:5: librdkafka's property `enable.auto.commit` is "
                         "refused: only finished messages are committed"));
}

TEST(ServiceFile, APropertyInTheWrongPlaceIsExplained) {
  EXPECT_THAT(ErrorsOf(With("  group: payments\n", "  group: payments\n  group.id: x\n")),
              HasSubstr("unknown key `group.id` in `kafka`; write `kafka.group`"));
  EXPECT_THAT(ErrorsOf(With("  group: payments\n", "  group: payments\n  client.id: x\n")),
              HasSubstr("stand under `kafka.properties`"));
  EXPECT_THAT(ErrorsOf(kMinimalService + "auto.offset.reset: latest\n"),
              HasSubstr("never a reset"));
}

TEST(ServiceFile, TheUserMustSayWhatOnlyHeCanKnow) {
  EXPECT_THAT(ErrorsOf(With("  level: guarded\n", "")), HasSubstr("`window.level` is missing"));
  EXPECT_THAT(ErrorsOf(With("  ids: partition_owned\n", "")), HasSubstr("`window.ids` is missing"));
  EXPECT_THAT(ErrorsOf(With("  id: {header: message-id}\n", "")),
              HasSubstr("`window.id` is missing"));
  EXPECT_THAT(ErrorsOf(With("  engine: memory\n", "")), HasSubstr("`window.engine` is missing"));
}

TEST(ServiceFile, CrossingIdsNeedASharedEngine) {
  EXPECT_THAT(ErrorsOf(With("  ids: partition_owned\n", "  ids: crossing\n")),
              StartsWith("service.yaml:8:8: `window.ids` must be `partition_owned`"));
  EXPECT_THAT(ErrorsOf(With("  ids: partition_owned\n", "  ids: crossing\n")),
              HasSubstr("need a shared engine"));
}

TEST(ServiceFile, MemoryIsNeverAtomic) {
  EXPECT_THAT(ErrorsOf(With("  level: guarded\n", "  level: atomic\n")),
              StartsWith("service.yaml:7:10: `window.level` cannot be `atomic`"));
}

TEST(ServiceFile, KeysOfAWindowThatIsNotThereAreErrors) {
  const std::string errors = ErrorsOf(
      "kafka: {brokers: k1, group: payments}\ntopics: payments\n"
      "window: {engine: none, level: guarded, remember: 5}\n");
  EXPECT_THAT(errors, HasSubstr("`window.level` has no meaning here"));
  EXPECT_THAT(errors, HasSubstr("`window.remember` has no meaning here"));
}

TEST(ServiceFile, TheIdHasThreeForms) {
  const auto id_from = [](const std::string& id) {
    return Parsed(With("  id: {header: message-id}\n", "  id: " + id + "\n")).runtime.id_from;
  };
  EXPECT_EQ(id_from("key"), IdFrom::kKey);
  EXPECT_EQ(id_from("coordinates"), IdFrom::kCoordinates);
  EXPECT_EQ(id_from("{header: x}"), IdFrom::kHeader);
  EXPECT_THAT(ErrorsOf(With("  id: {header: message-id}\n", "  id: header\n")),
              HasSubstr("must be `{header: NAME}`, `key` or `coordinates`, not `header`"));
  EXPECT_THAT(ErrorsOf(With("  id: {header: message-id}\n", "  id: {haeder: x}\n")),
              HasSubstr("unknown key `haeder` in `window.id`; did you mean `header`?"));
}

TEST(ServiceFile, RefusedMessagesStopOrGoToAJournal) {
  EXPECT_EQ(Parsed(kMinimalService + "reject: stop\n").runtime.policy.reject, RejectPolicy::kStop);
  EXPECT_THAT(ErrorsOf(kMinimalService + "reject: journal\n"),
              HasSubstr("must be `stop`, `park` or `{journal: FILE}`, not `journal`"));
  EXPECT_THAT(ErrorsOf(kMinimalService + "reject: {}\n"), HasSubstr("`reject.journal` is missing"));
}

TEST(ServiceFile, LoadReadsAFileAndNamesIt) {
  const TempDir dir;
  const std::string path = (dir.path() / "pay.yaml").string();
  std::ofstream(path) << kMinimalService;
  EXPECT_TRUE(LoadService(path));
  std::ofstream(path) << "kafka: 5\n";
  EXPECT_THAT(LoadService(path).error().message, StartsWith(path + ":1:"));
}

TEST(ServiceFile, LoadSaysWhenThereIsNoFile) {
  const TempDir dir;
  const std::string path = (dir.path() / "none.yaml").string();
  EXPECT_EQ(LoadService(path).error().code, Code::kNotFound);
  EXPECT_EQ(LoadService(path).error().message, path + ": No such file or directory");
  EXPECT_EQ(LoadService(dir.path().string()).error().code, Code::kInvalid);
}

TEST(ServiceFile, ARelativePathIsTakenFromTheFolderOfTheFile) {
  const std::string yaml = With("  engine: memory\n", "  engine: rocksdb\n  directory: stores\n") +
                           "reject: {journal: refused/a}\nadmin: {socket: ../run/s}\n"
                           "log: {file: ./log}\n";
  const auto options = ParseService(yaml, "/etc/pay/service.yaml", NoSources());
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->local.directory, "/etc/pay/stores");
  EXPECT_EQ(options->runtime.journal, "/etc/pay/refused/a");
  EXPECT_EQ(options->admin.socket, "/etc/pay/../run/s");
  EXPECT_EQ(options->log.file, "/etc/pay/./log");
  const auto here = ParseService(yaml, "service.yaml", NoSources());
  EXPECT_EQ(here->local.directory, std::filesystem::current_path() / "stores") << "absolute";
}

TEST(ServiceFile, ADurationThatIsTooLongIsToldTheTrueBound) {
  for (const char* key : {"remember", "skew"}) {
    const auto with = [key](const std::string& value) {
      return With("  engine: memory\n",
                  "  engine: rocksdb\n  directory: /d\n  " + (key + (": " + value)) + "\n");
    };
    const auto refused = ParseService(with("10001h"), "service.yaml", NoSources());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("to 10000h, not `10001h`"));
    EXPECT_TRUE(ParseService(with("10000h"), "service.yaml", NoSources()));
  }
}

}  // namespace
}  // namespace oncemq
