// SPDX-License-Identifier: Apache-2.0
// Rules 3 and 11 on a real broker, at the level opaque: members that do not see each other's
// window, as on hosts of their own, or only the announced ids. One is killed in full work; its
// heir repeats some calls. Each of them is told to the handler, and the heir's count of uncertain
// ones is an upper bound of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "guarded_target.h"
#include "oncemq/dedup/store_reader.h"
#include "oncemq/framework/commit_metadata.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/dedup/redis_window.h"
#endif
#include "member_process.h"
#include "storm.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kSentMessages = 200'000;
constexpr size_t kCallsBeforeTheEnd = 2'000;

class KafkaUncleanEnd : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
#ifdef ONCEMQ_WITH_REDIS
    if (GetParam().starts_with("opaque-redis")) {
      ONCEMQ_REQUIRE_REDIS();
      server_ = RedisServer::Start();
      environment_["ONCEMQ_REDIS_URL"] = server_->url();
    }
#endif
#ifdef ONCEMQ_WITH_POSTGRES
    if (GetParam() == "opaque-postgres") {
      ONCEMQ_REQUIRE_POSTGRES();
      database_ = PostgresServer::Start();
      ASSERT_TRUE(MigratePostgresWindow(database_->url(), "oncemq"));
      environment_["ONCEMQ_POSTGRES_URL"] = database_->url();
    }
#endif
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name =
        "unclean-" + GetParam() + "-" + std::to_string(test.line());  // one topic for each test
    setup_ = {SharedKafka::Get().bootstrap(), name + "-group", name, dir_.path(), GetParam()};
    KafkaAdmin(setup_.bootstrap).CreateTopic({.name = name, .partitions = 1});
    TestProducer producer(setup_.bootstrap);
    for (uint32_t id = 0; id < kSentMessages; id++) {
      producer.Send({.topic = setup_.topic,
                     .key = "k" + std::to_string(id % 97),
                     .value = "some payload",
                     .headers = {{"message-id", std::to_string(id)}}});
    }
    producer.Flush();
  }

  // A member that has the partition, and works.
  std::unique_ptr<Process> StartWorking() {
    auto member = StartMember(setup_, started_, environment_);
    const uint32_t number = started_++;
    EXPECT_TRUE(Eventually(seconds(60), [&] { return CallsOf(number) >= kCallsBeforeTheEnd; }))
        << LogOfMember(setup_, number);
    return member;
  }
  // After an effect, before the window knows of it.
  void KillInsideACall() {
    const auto member = StartWorking();
    member->Signal(SIGUSR2);
    const auto hangs = [&] {
      const auto& calls = Calls();
      return std::any_of(calls.begin(), calls.end(), [&](const CallRecord& call) {
        return call.kind == CallRecord::kHangs && call.member == started_ - 1;
      });
    };
    EXPECT_TRUE(Eventually(seconds(30), hangs)) << LogOfMember(setup_, started_ - 1);
    member->Kill9();
  }
  // The last one does the rest, and leaves in order.
  void DoTheRest() {
    const uint32_t number = started_;
    const auto member = StartWorking();
    EXPECT_TRUE(AllCommitted(setup_.bootstrap, setup_.group, setup_.topic, kSentMessages))
        << LogOfMember(setup_, number);
    EXPECT_EQ(member->Terminate(seconds(20)), 0) << LogOfMember(setup_, number);
    const Totals totals =
        ExpectCommitsAddUp(setup_.bootstrap, setup_.group, setup_.topic, kSentMessages);
    EXPECT_EQ(totals.applied, kSentMessages);
  }

  const std::vector<CallRecord>& Calls() {
    CallLog(dir_.path() / "calls").ReadOn(calls_);
    return calls_;
  }
  size_t CallsOf(uint32_t member) {
    size_t count = 0;
    for (const CallRecord& call : Calls()) {
      count += call.kind == CallRecord::kCalled && call.member == member ? 1 : 0;
    }
    return count;
  }
  // How many calls repeated an earlier one. Expects that each of them was told.
  int64_t RepeatedCalls() {
    std::map<uint32_t, int> calls;
    int64_t repeated = 0;
    int64_t unreported = 0;
    for (const CallRecord& call : Calls()) {
      if (call.kind == CallRecord::kCalled && calls[call.id]++ > 0) {
        repeated++;
        unreported += call.uncertain == 0 || call.attempt < 2 ? 1 : 0;
      }
    }
    EXPECT_EQ(calls.size(), kSentMessages);
    EXPECT_EQ(unreported, 0) << "of " << repeated << " repeated calls";
    return repeated;
  }
  // As the closing report of the last member counts it.
  int64_t UncertainInTheEnd() {
    int64_t uncertain = -1;
    for (const CallRecord& call : Calls()) {
      uncertain = call.kind == CallRecord::kEnded ? call.uncertain : uncertain;
    }
    return uncertain;
  }
  int64_t RepeatedEffects() {
    std::map<uint32_t, int> effects;
    int64_t repeated = 0;
    for (const StoredEffect& effect : GuardedTarget(dir_.path() / "target").All()) {
      repeated += effects[effect.id]++ > 0 ? 1 : 0;
    }
    EXPECT_EQ(effects.size(), kSentMessages);
    return repeated;
  }

  // As `oncemq window uncertain` does.
  std::vector<UncertainRecord> ListUncertain() {
    std::unique_ptr<Window> window;
#ifdef ONCEMQ_WITH_REDIS
    if (server_) {
      window = *OpenRedisWindow(server_->url(), {.scope = setup_.group,
                                                 .level = Level::kOpaque,
                                                 .partition_owned = GetParam() == "opaque-redis",
                                                 .existing_only = true});
    }
#endif
#ifdef ONCEMQ_WITH_POSTGRES
    if (database_) {
      window = *OpenPostgresWindow(
          database_->url(),
          {.scope = setup_.group, .level = Level::kOpaque, .existing_only = true});
    }
#endif
    if (window) {
      return *window->ListUncertain({});
    }
    std::vector<UncertainRecord> all;
    for (const std::string& store : FindStores(dir_.path() / "stores")) {
      const auto reader = *StoreReader::Open(store, SystemClock::Instance());
      const auto records = *reader->ListUncertain({});
      all.insert(all.end(), records.begin(), records.end());
    }
    return all;
  }
  // Ids that were called more than once and are not on the list.
  int64_t UnlistedRepeats() {
    std::set<std::string> listed;
    for (const UncertainRecord& record : ListUncertain()) {
      EXPECT_EQ(record.topic, setup_.topic);
      listed.insert(record.id);
    }
    std::map<uint32_t, int> calls;
    int64_t unlisted = 0;
    for (const CallRecord& call : Calls()) {
      const bool repeats = call.kind == CallRecord::kCalled && calls[call.id]++ == 1;
      unlisted += repeats && !listed.contains(std::to_string(call.id)) ? 1 : 0;
    }
    return unlisted;
  }

#ifdef ONCEMQ_WITH_POSTGRES
  std::unique_ptr<PostgresServer> database_;
#endif
#ifdef ONCEMQ_WITH_REDIS
  std::unique_ptr<RedisServer> server_;
#endif
  std::map<std::string, std::string> environment_{{"ONCEMQ_SESSION_MS", "2000"}};
  const TempDir dir_;
  MemberSetup setup_;
  uint32_t started_ = 0;
  std::vector<CallRecord> calls_;
};

TEST_P(KafkaUncleanEnd, TheHeirCountsAllThatTheDeadOwnerMayHaveBegun) {
  KillInsideACall();
  DoTheRest();
  const int64_t repeated = RepeatedCalls();
  const int64_t uncertain = UncertainInTheEnd();
  RecordProperty("repeated", std::to_string(repeated));
  RecordProperty("uncertain", std::to_string(uncertain));
  EXPECT_GT(repeated, 0) << "nothing was repeated: the test is blind";
  EXPECT_LE(RepeatedEffects(), repeated);
  EXPECT_LE(repeated, uncertain);
  EXPECT_LT(uncertain, kSentMessages / 2) << "a bound that bounds nothing";
  const std::string log = LogOfMember(setup_, 1);
  EXPECT_THAT(log, HasSubstr("a former owner may have begun these offsets"));
  EXPECT_THAT(log, Not(HasSubstr("the window is complete")));
}

TEST_P(KafkaUncleanEnd, EachOfSeveralHeirsIsToldWhatTheDeadBeforeItMayHaveBegun) {
  for (int kill = 0; kill < 3; kill++) {
    KillInsideACall();
  }
  DoTheRest();
  EXPECT_GT(RepeatedCalls(), 0);
}

TEST_P(KafkaUncleanEnd, ACleanHandOverCountsNothing) {
  EXPECT_EQ(StartWorking()->Terminate(seconds(20)), 0) << LogOfMember(setup_, 0);
  DoTheRest();
  EXPECT_EQ(RepeatedCalls(), 0);
  EXPECT_EQ(RepeatedEffects(), 0);
  EXPECT_EQ(UncertainInTheEnd(), 0);
  EXPECT_THAT(LogOfMember(setup_, 1), Not(HasSubstr("a former owner may have begun")));
}

class KafkaUncertainList : public KafkaUncleanEnd {};

// The count of the last member covers its own calls. Record and commit cover those of the dead.
TEST_P(KafkaUncertainList, CoversEveryRepeatedCallAfterTheOwnerAndItsHeirWereKilled) {
  KillInsideACall();
  KillInsideACall();
  DoTheRest();
  const int64_t repeated = RepeatedCalls();
  RecordProperty("repeated", std::to_string(repeated));
  EXPECT_GT(repeated, 0) << "nothing was repeated: the test is blind";
  EXPECT_EQ(UnlistedRepeats(), 0) << "of " << repeated;
  const auto commits = KafkaAdmin(setup_.bootstrap).Committed(setup_.group, setup_.topic);
  const auto metadata = DecodeCommit(commits.at(0).metadata, commits.at(0).offset);
  ASSERT_TRUE(metadata) << ToString(metadata.error());
  EXPECT_GT(metadata->uncertain, 0);
  EXPECT_THAT(LogOfMember(setup_, 1) + LogOfMember(setup_, 2),
              HasSubstr("this call may repeat an effect of an earlier attempt"));
}

std::string UncleanNameOf(const ::testing::TestParamInfo<std::string>& info) {
  return info.param == "opaque-memory"           ? "InMemory"
         : info.param == "opaque-redis"          ? "InRedis"
         : info.param == "opaque-redis-crossing" ? "CrossingInRedis"
         : info.param == "opaque-postgres"       ? "InPostgres"
                                                 : "OnDisk";
}

INSTANTIATE_TEST_SUITE_P(Windows, KafkaUncleanEnd,
                         ::testing::Values("opaque-apart", "opaque-memory"), UncleanNameOf);
#ifdef ONCEMQ_WITH_REDIS
INSTANTIATE_TEST_SUITE_P(Server, KafkaUncleanEnd, ::testing::Values("opaque-redis"), UncleanNameOf);
INSTANTIATE_TEST_SUITE_P(Redis, KafkaUncertainList,
                         ::testing::Values("opaque-redis", "opaque-redis-crossing"), UncleanNameOf);
#endif
#ifdef ONCEMQ_WITH_POSTGRES
INSTANTIATE_TEST_SUITE_P(Postgres, KafkaUncertainList, ::testing::Values("opaque-postgres"),
                         UncleanNameOf);
#endif
INSTANTIATE_TEST_SUITE_P(Disk, KafkaUncertainList, ::testing::Values("opaque"), UncleanNameOf);

}  // namespace
}  // namespace oncemq::testing
