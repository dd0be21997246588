// SPDX-License-Identifier: Apache-2.0
// The set of a replay and its dry run, on a real broker: what is in it, and that nothing changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/framework/replay.h"
#include "runtime_fixture.h"
#include "support/judged_window.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "support/redis_server.h"
#endif

namespace oncemq::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kDay = 86'400'000;

class KafkaReplayBase : public KafkaRuntimeTest {
 protected:
  // Until the group has committed everything up to these offsets.
  void RunUntil(int64_t committed, Window* window) {
    RunningMember member(options_, window, Record());
    EXPECT_TRUE(Eventually(seconds(60), [&] { return Committed() == committed; }));
    EXPECT_TRUE(member.Stop().clean);
  }
  int64_t Committed() {
    int64_t sum = 0;
    for (const auto& [partition, commit] : admin_->Committed(group_, topic_)) {
      sum += commit.offset;
    }
    return sum;
  }
  ReplaySet Frozen(const ReplayRequest& request) {
    auto set = FreezeReplay(options_, request, seconds(20));
    EXPECT_TRUE(set) << ToString(set.error());
    return set ? *std::move(set) : ReplaySet{};
  }
  ReplayTable Judged(const ReplaySet& set, Window& window) {
    auto table = JudgeReplay(options_, set, window, {});
    EXPECT_TRUE(table) << ToString(table.error());
    return table.value_or(ReplayTable{});
  }
  static ReplayCounts SumOf(const ReplayTable& table) {
    ReplayCounts sum;
    for (const auto& [place, counts] : table) {
      sum += counts;
    }
    return sum;
  }

  RuntimeOptions options_;
};

// Over the memory window, and a dry run that answers from a table.
class KafkaReplaySet : public KafkaReplayBase {
 protected:
  void SetUp() override {
    KafkaReplayBase::SetUp();
    if (!IsSkipped()) {
      options_ = Options();
    }
  }
  void SendOn(int64_t timestamp_ms, int count) {
    TestProducer producer(bootstrap_);
    for (int i = 0; i < count; i++) {
      const std::string id = std::to_string(++sent_);
      producer.Send({.topic = topic_,
                     .partition = 0,
                     .key = "k",
                     .value = id,
                     .headers = {{"message-id", id}},
                     .timestamp_ms = timestamp_ms});
    }
    producer.Flush();
  }

  JudgedWindow judged_;
  int sent_ = 0;
};

TEST_F(KafkaReplaySet, ATimeIsThatOfTheRecords) {
  CreateTopic(1);
  const int64_t today = SystemClock::Instance().Wall().micros / 1'000 / kDay * kDay;
  for (const int64_t ago : {3, 2, 1}) {
    SendOn(today - ago * kDay, 5);
    SendOn(today - ago * kDay + kDay - 1, 5);
  }
  RunUntil(30, window_.get());
  const ReplaySet set = Frozen({.since_ms = today - 2 * kDay, .until_ms = today - kDay});
  ASSERT_EQ(set.ranges.size(), 1u);
  EXPECT_EQ(set.ranges.front(),
            (ReplayRange{.topic = topic_, .partition = 0, .from = 10, .to = 20, .frontier = 30}));
  const ReplayTable table = Judged(set, judged_);
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table.at({topic_, today / kDay - 2})[ReplayWord::kApplies], 10);
  const ReplaySet rest = Frozen({.since_ms = today - kDay});
  EXPECT_EQ(rest.ranges.front().from, 20);
  EXPECT_EQ(rest.ranges.front().to, 30);
  const auto none = FreezeReplay(options_, {.since_ms = today + kDay}, seconds(20));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("asked 30 to 30, frontier 30"));
}

TEST_F(KafkaReplaySet, MessagesAboveTheFrontierAreLeftToTheLiveGroup) {
  CreateTopic(2);
  SendOn(0, 8);
  RunUntil(8, window_.get());
  SendOn(0, 3);
  const ReplaySet set = Frozen({.since_ms = 0});
  ASSERT_EQ(set.ranges.size(), 1u);
  EXPECT_EQ(set.ranges.front().to, 8);
  EXPECT_THAT(set.notices, Contains(HasSubstr("3 offsets above the frontier")));
  EXPECT_EQ(SumOf(Judged(set, judged_)).messages(), 8);
}

TEST_F(KafkaReplaySet, AbortedRecordsAndMarkersEndARange) {
  CreateTopic(1);
  TestProducer producer(bootstrap_, {.transactional_id = topic_});
  for (const bool commit : {true, false}) {
    producer.Begin();
    for (int i = 0; i < 5; i++) {
      SendOne(producer, std::to_string(commit) + "-" + std::to_string(i), "k", "v", 0);
    }
    producer.Flush();  // an abort would drop them
    commit ? producer.Commit() : producer.Abort();
  }
  RunningMember member(options_, window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(60), [&] {
    const RunReport now = member.Now();
    return now.partitions.size() == 1 && now.partitions[0].lag == 0 &&
           now.partitions[0].log_end == 12;
  }));
  EXPECT_TRUE(member.Stop().clean);
  const ReplaySet set = Frozen({.since_ms = 0});
  EXPECT_EQ(set.ranges.front().to, 12) << "the last commit of the member passes them";
  EXPECT_EQ(SumOf(Judged(set, judged_)).messages(), 5);
}

TEST_F(KafkaReplaySet, RecordsThatAreGoneAreToldBeforeAndAfterTheSetIsFrozen) {
  CreateTopic(1, {{"cleanup.policy", "compact,delete"}});
  SendOn(0, 10);
  RunUntil(10, window_.get());
  admin_->DeleteRecords(topic_, 0, 4);
  const ReplaySet set = Frozen({.partitions = {0}, .from = 1});
  EXPECT_EQ(set.ranges.front().from, 4);
  EXPECT_THAT(set.notices, Contains(HasSubstr("3 offsets are gone from the log, from 1 on")));
  EXPECT_THAT(set.notices, Contains(HasSubstr("is compacted")));
  EXPECT_EQ(SumOf(Judged(set, judged_)).messages(), 6);
  admin_->DeleteRecords(topic_, 0, 6);
  const auto gone = JudgeReplay(options_, set, judged_, {});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kNotFound);
}

TEST_F(KafkaReplaySet, AnOperatorsCommitIsNoHistory) {
  CreateTopic(1);
  SendOn(0, 10);
  admin_->AlterOffsets(group_, topic_, {{0, 7}});
  const ReplaySet set = Frozen({.since_ms = 0});
  EXPECT_EQ(set.ranges.front().to, 7);
  EXPECT_THAT(set.notices, Contains(HasSubstr("its commit is not of this service")));
  EXPECT_EQ(SumOf(Judged(set, judged_)).before_history, 7);
}

TEST_F(KafkaReplaySet, AMissingTopicIsNamed) {
  const auto set = FreezeReplay(options_, {.since_ms = 0}, seconds(20));
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kNotFound);
}

struct Engine {
  std::string name;
  Level level;
};

class KafkaReplay : public KafkaReplayBase, public ::testing::WithParamInterface<Engine> {
 protected:
  static constexpr int kIds = 5'000;
  static constexpr int kForgotten = 100;
  static constexpr int kEach = kIds / kForgotten;

  void SetUp() override {
    KafkaReplayBase::SetUp();
    if (IsSkipped()) {
      return;
    }
    CreateTopic(4);
    Send(0, kIds, 97);
    options_ = Options();
    options_.ids_partition_owned = false;
    options_.workers = 4;
    auto opened = Open();
    ASSERT_TRUE(opened) << ToString(opened.error());
    shared_ = *std::move(opened);
  }

  Result<std::unique_ptr<Window>> Open() {
#ifdef ONCEMQ_WITH_POSTGRES
    if (GetParam().name == "postgres") {
      postgres_ = PostgresServer::Start();
      EXPECT_TRUE(MigratePostgresWindow(postgres_->url(), "oncemq"));
      PostgresWindowOptions options;
      options.scope = group_;
      options.level = GetParam().level;
      options.call = milliseconds(10'000);
      return OpenPostgresWindow(postgres_->url(), options);
    }
#endif
#ifdef ONCEMQ_WITH_REDIS
    if (GetParam().name == "redis") {
      redis_ = RedisServer::Start();
      RedisWindowOptions options;
      options.scope = group_;
      options.level = GetParam().level;
      options.call = milliseconds(10'000);
      return OpenRedisWindow(redis_->url(), options);
    }
#endif
    return Error{Code::kInvalid, ::oncemq::Effect::kNone, "not in this build"};
  }

  // Ids 0, 50, 100, ...
  void Forget() {
    std::vector<std::string> ids;
    for (int id = 0; id < kIds; id += kEach) {
      ids.push_back(std::to_string(id));
    }
    const std::vector<std::string_view> views(ids.begin(), ids.end());
    std::vector<MarkerChange> changes(ids.size());
    ASSERT_TRUE(shared_->ForgetByHand(views, changes));
    EXPECT_THAT(changes, ::testing::Each(MarkerChange::kMade));
  }

  // All that a dry run must leave as it is.
  std::vector<std::string> Everything() {
    std::vector<std::string> all = Rows();
    EXPECT_GT(all.size(), 4u);
    for (const auto& [partition, commit] : admin_->Committed(group_, topic_)) {
      all.push_back(std::to_string(partition) + " at " + std::to_string(commit.offset) + " " +
                    commit.metadata);
    }
    std::vector<std::string> ids;
    for (int id = 0; id < kIds; id++) {
      ids.push_back(std::to_string(id));
    }
    const std::vector<std::string_view> views(ids.begin(), ids.end());
    std::vector<MarkerView> markers(ids.size());
    EXPECT_TRUE(shared_->Peek(views, markers));
    for (size_t i = 0; i < ids.size(); i++) {
      all.push_back(ids[i] + " " + std::string(ToString(markers[i].state)) + " " +
                    std::to_string(markers[i].at.offset));
    }
    return all;
  }

  // The rows with their versions, or the keys. A process counts its calls in a key of its own, and
  // the scope's key has the last sight of the server.
  std::vector<std::string> Rows() {
    std::vector<std::string> rows;
#ifdef ONCEMQ_WITH_POSTGRES
    if (postgres_) {
      const auto client = OpenPostgres(*ParsePostgresEndpoint(postgres_->url()), {}, 1);
      for (const char* table : {"partitions", "sources", "ids", "uncertain"}) {
        const std::string text = std::string("SELECT xmin::text || t::text FROM oncemq.window_") +
                                 table + " AS t ORDER BY 1";
        const auto answer = (*client)->Run({text});
        EXPECT_TRUE(answer) << ToString(answer.error());
        for (const SqlRow& row : answer.value_or(SqlAnswer{}).rows) {
          rows.push_back(row.front().value_or(""));
        }
      }
    }
#endif
#ifdef ONCEMQ_WITH_REDIS
    if (redis_) {
      const auto client = *RedisClient::Open(*ParseRedisEndpoint(redis_->url()));
      const auto keys = client->Run(RedisCommand{"KEYS", "*"});
      EXPECT_TRUE(keys) << ToString(keys.error());
      for (const RedisReply& key : keys.value_or(RedisReply{}).list) {
        if (key.text.ends_with("}:scope") || key.text.find("}:n:") != std::string::npos) {
          continue;
        }
        const auto value = client->Run(RedisCommand{"DUMP", key.text});
        EXPECT_TRUE(value) << ToString(value.error());
        rows.push_back(key.text + " " + value.value_or(RedisReply{}).text);
      }
      std::ranges::sort(rows);
    }
#endif
    return rows;
  }

#ifdef ONCEMQ_WITH_POSTGRES
  std::unique_ptr<PostgresServer> postgres_;
#endif
#ifdef ONCEMQ_WITH_REDIS
  std::unique_ptr<RedisServer> redis_;
#endif
  std::unique_ptr<Window> shared_;
};

TEST_P(KafkaReplay, TheDryRunTellsWhatIsMissingAndChangesNothing) {
  RunUntil(kIds, shared_.get());
  Forget();
  const std::vector<std::string> before = Everything();
  const ReplaySet set = Frozen({.since_ms = 0});
  const ReplayCounts counts = SumOf(Judged(set, *shared_));
  EXPECT_EQ(counts[ReplayWord::kApplies], kForgotten);
  EXPECT_EQ(counts[ReplayWord::kSuppressed], kIds - kForgotten);
  EXPECT_EQ(counts.messages(), kIds);
  EXPECT_EQ(counts.before_history, 0);
  const std::vector<std::string> after = Everything();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); i++) {
    EXPECT_EQ(before[i], after[i]);
  }
}

TEST_P(KafkaReplay, NextToTheLiveGroupItTellsOfItsOwnSet) {
  RunningMember member(options_, shared_.get(), Record());
  ASSERT_TRUE(Eventually(seconds(60), [&] { return Committed() == kIds; }));
  Forget();
  const ReplaySet set = Frozen({.since_ms = 0});
  const std::jthread more([&] { Send(kIds, kIds + 500, 97); });
  const ReplayCounts counts = SumOf(Judged(set, *shared_));
  EXPECT_EQ(counts[ReplayWord::kApplies], kForgotten);
  EXPECT_EQ(counts[ReplayWord::kSuppressed], kIds - kForgotten);
  EXPECT_TRUE(Eventually(seconds(60), [&] { return Committed() == kIds + 500; }));
  EXPECT_TRUE(member.Stop().clean);
  EXPECT_THAT(effects_.Judge(Ids(0, kIds + 500)), ::testing::IsEmpty());
}

std::string NameOf(const ::testing::TestParamInfo<Engine>& info) {
  return info.param.name + "_" + std::string(ToString(info.param.level));
}

#ifdef ONCEMQ_WITH_POSTGRES
INSTANTIATE_TEST_SUITE_P(Postgres, KafkaReplay,
                         ::testing::Values(Engine{"postgres", Level::kGuarded},
                                           Engine{"postgres", Level::kAtomic}),
                         NameOf);
#endif
#ifdef ONCEMQ_WITH_REDIS
INSTANTIATE_TEST_SUITE_P(Redis, KafkaReplay,
                         ::testing::Values(Engine{"redis", Level::kGuarded},
                                           Engine{"redis", Level::kOpaque}),
                         NameOf);
#endif
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KafkaReplay);

}  // namespace
}  // namespace oncemq::testing
