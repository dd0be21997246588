// SPDX-License-Identifier: Apache-2.0
// A group over the window in Redis, on a real broker, with effects at a target that knows ids.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "redis_storm_store.h"
#include "redis_target.h"

namespace oncemq::testing {
namespace {

class RedisStore final : public RedisStormStore {
 public:
  std::vector<std::string> MemberWords(int number) const override {
    return {WindowUrl(), std::to_string(number), effects_->url()};
  }
  int64_t Effects() override { return target_.size(); }
  int64_t known() { return target_.known(); }
  void Judge(int ids) override {
    const std::vector<int64_t> all = target_.All();
    EXPECT_EQ(all.size(), static_cast<size_t>(ids));
    std::vector<int> times(static_cast<size_t>(ids));
    std::map<int64_t, int64_t> last;
    int disorder = 0;
    for (const int64_t id : all) {
      ASSERT_TRUE(id >= 0 && id < ids) << id;
      times[static_cast<size_t>(id)]++;
      if (!CrossesPartitions(id)) {
        const auto [before, first] = last.try_emplace(id % kStormKeys, id);
        disorder += !first && before->second > id ? 1 : 0;
        before->second = id;
      }
    }
    EXPECT_EQ(std::count(times.begin(), times.end(), 1), ids) << "lost or doubled";
    EXPECT_EQ(disorder, 0) << "out of order";
  }

 private:
  const std::unique_ptr<RedisServer> effects_ = RedisServer::Start();
  RedisTarget target_{effects_->url()};
};

class KafkaRedis : public SharedWindowStorm {
 protected:
  void BeginInRedis() {
    auto store = std::make_unique<RedisStore>();
    redis_ = store.get();
    Begin(std::move(store));
  }
  RedisStore* redis_ = nullptr;  // store_
};

TEST_F(KafkaRedis, MembersComeGoAndAreKilledAndTheWindowKnowsTheCopies) {
  ONCEMQ_REQUIRE_REDIS();
  constexpr int kIds = 30'000;
  BeginInRedis();
  Produce(0, kIds / 2);
  for (int i = 0; i < 3; i++) {
    Start();
  }
  ASSERT_TRUE(Reached(kIds / 10)) << TextOf(0);
  member(0).Kill9();
  Start();
  Produce(kIds / 2, kIds);
  ASSERT_TRUE(Reached(kIds / 3)) << TextOf(1);
  EXPECT_EQ(member(1).Terminate(seconds(30)), 0) << TextOf(1);
  Start();
  End(kIds);
  RecordProperty("known", std::to_string(redis_->known()));
  EXPECT_LT(redis_->known(), Copies(kIds) / 2) << "the window spares the target no copies";
}

TEST_F(KafkaRedis, StormNothingIsLostDoubledOrOutOfOrder) {
  ONCEMQ_REQUIRE_REDIS();
  BeginInRedis();
  Storm(Messages());
  RecordProperty("known", std::to_string(redis_->known()));
  EXPECT_LT(redis_->known(), Copies(Messages())) << "the window spares the target no copies";
  EXPECT_TRUE(AnySaid("has lost changes that it had acknowledged")) << "FLUSHALL went unnoticed";
}

TEST_F(KafkaRedis, StormNothingIsLostOrDoubledWhereAPartitionOwnsItsIds) {
  ONCEMQ_REQUIRE_REDIS();
  ids_cross_ = false;
  BeginInRedis();
  Storm(Messages());
  RecordProperty("known", std::to_string(redis_->known()));
  EXPECT_TRUE(AnySaid("has lost changes that it had acknowledged")) << "FLUSHALL went unnoticed";
}

}  // namespace
}  // namespace oncemq::testing
