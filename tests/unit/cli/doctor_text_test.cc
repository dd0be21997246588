// SPDX-License-Identifier: Apache-2.0
// The findings of `oncemq doctor`, from what servers say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doctor_part.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DoctorText, EachPartHasALineAndALineForEachFact) {
  DoctorPart window{.name = "window", .at = "redis://h/0"};
  window.facts = {{"server", "Valkey"},
                  {"replicas", 1},
                  {"fsync", false},
                  {"skew_ms", 60'000},
                  {"claims", {{"made", 100}, {"p50_us", 7}}},
                  {"memory", {{"used_bytes", 1 << 20}, {"max_bytes", nullptr}}}};
  window.lowers = {"a restart empties it"};
  DoctorPart kafka{.name = "kafka", .at = "b:9092"};
  FailPart(kafka, Error{Code::kTimeout, Effect::kNone, "no broker answers\x1b"});
  FailPart(kafka, kExitUsage, "later");
  EXPECT_EQ(DoctorText({window, kafka}),
            "window: redis://h/0, ok\n"
            "  server: Valkey\n"
            "  replicas: 1\n"
            "  fsync: no\n"
            "  skew: 1m\n"
            "  claims: made 100, p50_us 7\n"
            "  memory: used 1024 KiB, max none\n"
            "  lowers the guarantee: a restart empties it\n"
            "kafka: b:9092, does not answer: no broker answers\\u001b\n");
  EXPECT_EQ(CodeOfParts({window, kafka}), kExitNoService);
  EXPECT_EQ(CodeOfParts({window}), kExitDone);
  const auto json = DoctorJson("f.yaml", {window, kafka});
  EXPECT_EQ(json["state"], "does not answer");
  EXPECT_EQ(json["parts"][0]["claims"]["made"], 100);
  EXPECT_EQ(json["parts"][0]["fsync"], false);
  EXPECT_EQ(json["parts"][0]["skew_ms"], 60'000);
  EXPECT_EQ(json["parts"][0]["lowers"][0], "a restart empties it");
  EXPECT_EQ(json["parts"][1]["state"], "does not answer");
}

TEST(DoctorText, ClaimsAreToldByTheirRank) {
  DoctorPart part;
  std::vector<microseconds> times;
  for (int i = 100; i > 0; i--) {
    times.emplace_back(i);
  }
  AddClaims(part, times);
  EXPECT_EQ(part.facts["claims"]["p50_us"], 50);
  EXPECT_EQ(part.facts["claims"]["p99_us"], 99);
  AddClaims(part, Error{Code::kInvalid, Effect::kNone, "may not"});
  EXPECT_EQ(part.facts["claims"]["made"], 0);
  EXPECT_EQ(part.facts["claims"]["why"], "may not");
  EXPECT_EQ(part.code, kExitDone);
  AddClaims(part, Error{Code::kTimeout, Effect::kNone, "silence"});
  EXPECT_EQ(part.code, kExitNoService);
}

TEST(DoctorText, PlacesWithoutAServerAreFieldsToo) {
  const testing::TempDir dir;
  ServiceOptions options;
  options.engine = ServiceOptions::Engine::kRocksDb;
  options.local.directory = dir.path() / "stores";
  const auto disk = DiagnoseWindow(options).facts;
  EXPECT_EQ(disk["directory_made"], false);
  EXPECT_TRUE(disk["free_bytes"].is_number());
  options.engine = ServiceOptions::Engine::kMemory;
  EXPECT_TRUE(DiagnoseWindow(options).facts["remember_ids"].is_number());
  const DoctorPart locks = DiagnoseLocks(options);
  EXPECT_EQ(locks.at, "");
  EXPECT_EQ(locks.facts["elided"], false);
  EXPECT_EQ(DoctorText({locks}), "locks: none, ok\n  elided: no\n");
  EXPECT_TRUE(DoctorJson("f.yaml", {locks})["parts"][0]["at"].is_null());
}

TEST(DoctorText, ABusyServerHasTheExitCodeOfASilentOne) {
  DoctorPart part;
  FailPart(part, Error{Code::kBusy, Effect::kNone, "all connections are in use"});
  EXPECT_EQ(part.code, kExitNoService);
}

TEST(DoctorText, SizesAreRoundedDown) {
  EXPECT_EQ(RoundSize(0), "0 B");
  EXPECT_EQ(RoundSize(10'240), "10 KiB");
  EXPECT_EQ(RoundSize(uint64_t{100} << 20), "100 MiB");
  EXPECT_EQ(RoundSize(uint64_t{9} << 30), "9216 MiB");
}

#ifdef ONCEMQ_WITH_REDIS

std::string InfoWith(const std::string& more) {
  return "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n"
         "used_memory:1048576\r\nmaxmemory:104857600\r\nmaxmemory_policy:noeviction\r\n" +
         more;
}

TEST(DoctorRedis, AValkeyIsNamedAsOne) {
  DoctorPart part;
  DescribeRedis(InfoWith("aof_enabled:1\r\nconnected_slaves:2\r\n"
                         "slave0:ip=h,port=1,state=online,offset=5,lag=0\r\n"
                         "slave1:ip=h,port=2,state=wait_bgsave,offset=0,lag=0\r\n"),
                {.fsync = "always", .save = "3600 1"}, 0, part);
  EXPECT_EQ(part.facts["server"], "Valkey");
  EXPECT_EQ(part.facts["version"], "8.0.1");
  EXPECT_EQ(part.facts["persistence"]["append_only_file"], true);
  EXPECT_EQ(part.facts["persistence"]["fsync"], "always");
  EXPECT_EQ(part.facts["persistence"]["snapshots"], "3600 1");
  EXPECT_EQ(part.facts["memory"]["policy"], "noeviction");
  EXPECT_EQ(part.facts["memory"]["used_bytes"], 1 << 20);
  EXPECT_EQ(part.facts["memory"]["max_bytes"], 100 << 20);
  EXPECT_EQ(part.facts["replicas"], 1);
  EXPECT_THAT(part.lowers, ElementsAre(HasSubstr("`window.replicas` is 0")));
  EXPECT_EQ(part.code, kExitDone);
}

TEST(DoctorRedis, SettingsThatLowerTheGuaranteeAreTold) {
  const auto lowers = [](const std::string& info, const RedisSettings& settings) {
    DoctorPart part;
    DescribeRedis(InfoWith(info), settings, 0, part);
    return part.lowers.empty() ? "" : part.lowers.front();
  };
  EXPECT_THAT(lowers("aof_enabled:0\r\n", {.save = ""}), HasSubstr("a restart empties the window"));
  EXPECT_THAT(lowers("aof_enabled:0\r\n", {.save = "60 1"}), HasSubstr("since the last snapshot"));
  EXPECT_THAT(lowers("aof_enabled:1\r\n", {.fsync = "everysec"}), HasSubstr("the last second"));
  EXPECT_THAT(lowers("aof_enabled:1\r\n", {.fsync = "no"}), HasSubstr("had not written"));
  EXPECT_THAT(lowers("aof_enabled:1\r\n", {.fsync = "always"}), HasSubstr("it has no replica"));
}

TEST(DoctorRedis, AServerThatCannotCarryAWindowIsNotWell) {
  DoctorPart few;
  DescribeRedis(InfoWith("aof_enabled:1\r\n"), {.fsync = "always"}, 2, few);
  EXPECT_EQ(few.code, kExitFailed);
  EXPECT_THAT(few.why, HasSubstr("is 2, and 0 follow: no commit is sent"));
  DoctorPart cluster;
  DescribeRedis(InfoWith("aof_enabled:1\r\nserver_mode:cluster\r\n"), {}, 0, cluster);
  EXPECT_EQ(cluster.code, kExitUsage);
  EXPECT_EQ(cluster.facts["persistence"].size(), 1u) << "the rest is not shown to this user";
  DoctorPart bare;
  DescribeRedis("redis_version:7.2.4\r\nmaxmemory:0\r\n", {.save = ""}, 0, bare);
  EXPECT_EQ(bare.facts["server"], "Redis");
  EXPECT_TRUE(bare.facts["memory"]["max_bytes"].is_null());
  EXPECT_TRUE(bare.facts["persistence"]["snapshots"].is_null());
  DoctorPart broken;
  DescribeRedis(InfoWith("aof_enabled:1\r\naof_last_write_status:err\r\n"), {}, 0, broken);
  EXPECT_EQ(broken.code, kExitFailed);
}

#endif
#ifdef ONCEMQ_WITH_POSTGRES

TEST(DoctorPostgres, SettingsThatLowerTheGuaranteeAreTold) {
  DoctorPart sound;
  DescribePostgres({"15.8", "on", "on", "on", "ANY 1 (b)", "1"}, sound);
  EXPECT_EQ(sound.facts["server"], "PostgreSQL");
  EXPECT_EQ(sound.facts["version"], "15.8");
  EXPECT_EQ(sound.facts["fsync"], true);
  EXPECT_EQ(sound.facts["standbys"]["attached"], 1);
  EXPECT_EQ(sound.facts["standbys"]["synchronous"], true);
  EXPECT_EQ(sound.facts["standbys"]["names"], "ANY 1 (b)");
  EXPECT_THAT(sound.lowers, ElementsAre());
  DoctorPart loose;
  DescribePostgres({"15.8", "off", "off", "off", "", "0"}, loose);
  EXPECT_EQ(loose.facts["synchronous_commit"], "off");
  EXPECT_EQ(loose.facts["window_synchronous_commit"], "on");
  EXPECT_EQ(loose.facts["full_page_writes"], false);
  EXPECT_EQ(loose.facts["standbys"]["attached"], 0);
  EXPECT_EQ(loose.facts["standbys"]["synchronous"], false);
  EXPECT_TRUE(loose.facts["standbys"]["names"].is_null());
  EXPECT_THAT(loose.lowers, ElementsAre(HasSubstr("fsync off"), HasSubstr("full_page_writes off"),
                                        HasSubstr("none is synchronous")));
  DoctorPart local;
  DescribePostgres({"15.8", "local", "on", "on", "b", "1"}, local);
  EXPECT_THAT(local.lowers, ElementsAre(HasSubstr("synchronous_commit local")));
  DoctorPart strange;
  DescribePostgres({}, strange);
  EXPECT_TRUE(strange.facts["version"].is_null());
  EXPECT_TRUE(strange.facts["fsync"].is_null());
  EXPECT_TRUE(strange.facts["standbys"]["synchronous"].is_null());
  EXPECT_THAT(strange.lowers, ElementsAre());
}

#endif

}  // namespace
}  // namespace oncemq
