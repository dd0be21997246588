// SPDX-License-Identifier: Apache-2.0
// The findings of `oncemq doctor`, from what servers say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doctor_part.h"

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DoctorText, EachPartHasALineAndALineForEachFact) {
  DoctorPart window{.name = "window", .at = "redis://h/0"};
  window.facts = {{"server", "Valkey 8.0.1"}, {"replicas", 1}, {"claims", {{"made", 100}}}};
  window.lowers = {"a restart empties it"};
  DoctorPart kafka{.name = "kafka", .at = "b:9092"};
  FailPart(kafka, Error{Code::kTimeout, Effect::kNone, "no broker answers\x1b"});
  FailPart(kafka, kExitUsage, "later");
  EXPECT_EQ(DoctorText({window, kafka}),
            "window: redis://h/0, ok\n"
            "  server: Valkey 8.0.1\n"
            "  replicas: 1\n"
            "  claims: made 100\n"
            "  lowers the guarantee: a restart empties it\n"
            "kafka: b:9092, does not answer: no broker answers\\u001b\n");
  EXPECT_EQ(CodeOfParts({window, kafka}), kExitNoService);
  EXPECT_EQ(CodeOfParts({window}), kExitDone);
  const auto json = DoctorJson("f.yaml", {window, kafka});
  EXPECT_EQ(json["state"], "does not answer");
  EXPECT_EQ(json["parts"][0]["claims"]["made"], 100);
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
  EXPECT_EQ(part.facts["claims"], "none: may not");
  EXPECT_EQ(part.code, kExitDone);
  AddClaims(part, Error{Code::kTimeout, Effect::kNone, "silence"});
  EXPECT_EQ(part.code, kExitNoService);
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
  EXPECT_EQ(part.facts["server"], "Valkey 8.0.1");
  EXPECT_EQ(part.facts["persistence"], "append-only file, fsync always; snapshots (save 3600 1)");
  EXPECT_EQ(part.facts["memory"], "maxmemory-policy noeviction, 1024 KiB of 100 MiB");
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
  EXPECT_EQ(cluster.facts["persistence"],
            "append-only file, fsync not shown to this user; snapshots not shown to this user");
  DoctorPart broken;
  DescribeRedis(InfoWith("aof_enabled:1\r\naof_last_write_status:err\r\n"), {}, 0, broken);
  EXPECT_EQ(broken.code, kExitFailed);
}

#endif
#ifdef ONCEMQ_WITH_POSTGRES

TEST(DoctorPostgres, SettingsThatLowerTheGuaranteeAreTold) {
  DoctorPart sound;
  DescribePostgres({"15.8", "on", "on", "on", "ANY 1 (b)", "1"}, sound);
  EXPECT_EQ(sound.facts["server"], "PostgreSQL 15.8");
  EXPECT_EQ(sound.facts["standbys"]["attached"], 1);
  EXPECT_EQ(sound.facts["standbys"]["synchronous"], "ANY 1 (b)");
  EXPECT_THAT(sound.lowers, ElementsAre());
  DoctorPart loose;
  DescribePostgres({"15.8", "off", "off", "off", "", "0"}, loose);
  EXPECT_EQ(loose.facts["synchronous_commit"],
            "off, and the window waits for the disk all the same");
  EXPECT_EQ(loose.facts["standbys"]["attached"], 0);
  EXPECT_EQ(loose.facts["standbys"]["synchronous"], "none");
  EXPECT_THAT(loose.lowers, ElementsAre(HasSubstr("fsync off"), HasSubstr("full_page_writes off"),
                                        HasSubstr("none is synchronous")));
  DoctorPart local;
  DescribePostgres({"15.8", "local", "on", "on", "b", "1"}, local);
  EXPECT_THAT(local.lowers, ElementsAre(HasSubstr("synchronous_commit local")));
  DoctorPart strange;
  DescribePostgres({}, strange);
  EXPECT_EQ(strange.facts["server"], "PostgreSQL ?");
}

#endif

}  // namespace
}  // namespace oncemq
