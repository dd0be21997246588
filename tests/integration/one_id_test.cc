// SPDX-License-Identifier: Apache-2.0
// Two topics with the same ids and equal values, on a real broker: each engine gives one id the
// same meaning. Effects are appended, and nothing looks at them but the test.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "oncemq/dedup/local_window.h"
#include "runtime_fixture.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/dedup/redis_window.h"
#include "support/redis_server.h"
#endif

namespace oncemq::testing {
namespace {

using Engine = std::tuple<std::string, Level>;

class KafkaOneId : public KafkaRuntimeTest, public ::testing::WithParamInterface<Engine> {
 protected:
  static constexpr int kIds = 100;

  void SetUp() override {
    KafkaRuntimeTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    TestProducer producer(bootstrap_);
    for (const std::string& topic : {topic_ + ".a", topic_ + ".b"}) {
      admin_->CreateTopic({.name = topic, .partitions = 2});
      for (int id = 1; id <= kIds; id++) {
        producer.Send({.topic = topic,
                       .partition = id % 2,
                       .key = "k",
                       .value = "x",
                       .headers = {{"message-id", std::to_string(id)}}});
      }
    }
    producer.Flush();
  }

  const std::string& engine() const { return std::get<0>(GetParam()); }
  Level level() const { return std::get<1>(GetParam()); }

  Result<std::unique_ptr<Window>> Open(bool partition_owned) {
#ifdef ONCEMQ_WITH_POSTGRES
    if (engine() == "postgres") {
      postgres_ = PostgresServer::Start();
      EXPECT_TRUE(MigratePostgresWindow(postgres_->url(), "oncemq"));
      PostgresWindowOptions options;
      options.scope = group_;
      options.level = level();
      options.partition_owned = partition_owned;
      options.call = milliseconds(10'000);
      return OpenPostgresWindow(postgres_->url(), options);
    }
#endif
#ifdef ONCEMQ_WITH_REDIS
    if (engine() == "redis") {
      redis_ = RedisServer::Start();
      RedisWindowOptions options;
      options.scope = group_;
      options.level = level();
      options.partition_owned = partition_owned;
      options.call = milliseconds(10'000);
      return OpenRedisWindow(redis_->url(), options);
    }
#endif
    if (engine() == "rocksdb") {
      LocalWindowOptions options;
      options.directory = dir_.path() / "stores";
      options.level = level();
      return OpenPartitionWindows(options, SystemClock::Instance());
    }
    return OpenMemoryWindow({.level = level(), .partition_owned = partition_owned},
                            SystemClock::Instance());
  }

  // What a member calls and suppresses until all of both topics is finished.
  DeliveryCounts RunToTheEnd(bool partition_owned) {
    const auto window = Open(partition_owned);
    EXPECT_TRUE(window) << ToString(window.error());
    RuntimeOptions options = Options();
    options.kafka.topics = {topic_ + ".a", topic_ + ".b"};
    options.ids_partition_owned = partition_owned || !(*window)->capabilities().shared;
    options.workers = 4;
    options.one_host = true;
    RunningMember member(options, window->get(), Record());
    EXPECT_TRUE(Eventually(seconds(60), [&] {
      int64_t finished = 0;
      for (const PartitionReport& partition : member.Now().partitions) {
        finished += partition.status.frontier;
      }
      return finished == 2 * kIds;
    }));
    const RunReport& report = member.Stop();
    EXPECT_TRUE(report.clean && report.counts.Balanced()) << report.error;
    return report.counts;
  }

  const TempDir dir_;
#ifdef ONCEMQ_WITH_POSTGRES
  std::unique_ptr<PostgresServer> postgres_;
#endif
#ifdef ONCEMQ_WITH_REDIS
  std::unique_ptr<RedisServer> redis_;
#endif
};

std::string NameOf(const ::testing::TestParamInfo<Engine>& info) {
  return std::get<0>(info.param) + "_" + std::string(ToString(std::get<1>(info.param)));
}

TEST_P(KafkaOneId, WherePartitionsOwnIdsEachTopicsMessageHasItsEffect) {
  const DeliveryCounts counts = RunToTheEnd(/*partition_owned=*/true);
  EXPECT_EQ(effects_.size(), 2u * kIds);
  EXPECT_EQ(counts.suppressed, 0);
}

class KafkaCrossingIds : public KafkaOneId {};

TEST_P(KafkaCrossingIds, WhereIdsCrossTheOtherTopicsMessageIsACopy) {
  const DeliveryCounts counts = RunToTheEnd(/*partition_owned=*/false);
  EXPECT_EQ(effects_.size(), size_t{kIds});
  EXPECT_EQ(counts.suppressed, kIds);
}

INSTANTIATE_TEST_SUITE_P(Memory, KafkaOneId, ::testing::Values(Engine{"memory", Level::kGuarded}),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(RocksDb, KafkaOneId,
                         ::testing::Values(Engine{"rocksdb", Level::kGuarded},
                                           Engine{"rocksdb", Level::kAtomic}),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Memory, KafkaCrossingIds,
                         ::testing::Values(Engine{"memory", Level::kGuarded}), NameOf);
#ifdef ONCEMQ_WITH_POSTGRES
const auto kPostgres =
    ::testing::Values(Engine{"postgres", Level::kGuarded}, Engine{"postgres", Level::kAtomic});
INSTANTIATE_TEST_SUITE_P(Postgres, KafkaOneId, kPostgres, NameOf);
INSTANTIATE_TEST_SUITE_P(Postgres, KafkaCrossingIds, kPostgres, NameOf);
#endif
#ifdef ONCEMQ_WITH_REDIS
const auto kRedis = ::testing::Values(Engine{"redis", Level::kGuarded});
INSTANTIATE_TEST_SUITE_P(Redis, KafkaOneId, kRedis, NameOf);
INSTANTIATE_TEST_SUITE_P(Redis, KafkaCrossingIds, kRedis, NameOf);
#endif

}  // namespace
}  // namespace oncemq::testing
