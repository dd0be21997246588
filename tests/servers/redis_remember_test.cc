// SPDX-License-Identifier: Apache-2.0
// Processes of one scope in Redis that ask for different times, for both kinds of ids.
#include <gtest/gtest.h>

#include <chrono>

#include "redis_window_fixture.h"
#include "remember_scenarios.h"

namespace oncemq::testing {
namespace {

class RedisRemember : public RedisWindowTest {
 protected:
  OpenScope Opener(bool partition_owned) {
    Start();
    return [this, partition_owned](const RememberTimes& times, bool look_only) {
      auto options = Options();
      options.partition_owned = partition_owned;
      options.remember = times.remember;
      options.skew = times.skew;
      options.look_only = look_only;
      return OpenRedisWindow(server_->url(), options);
    };
  }
  std::string ScopeKey() { return Redis({"KEYS", "*:scope"}).list.at(0).text; }
};

TEST_F(RedisRemember, AProcessThatAsksForShorterTimesIsRefused) {
  ExpectShorterTimesAreRefused(Opener(false));
}

TEST_F(RedisRemember, LongerTimesHoldForAllProcesses) {
  ExpectLongerTimesHoldForAll(Opener(false));
}

TEST_F(RedisRemember, WhereAPartitionOwnsItsIdsAProcessThatAsksForShorterTimesIsRefused) {
  ExpectShorterTimesAreRefused(Opener(true));
}

TEST_F(RedisRemember, WhereAPartitionOwnsItsIdsLongerTimesHoldForAllProcesses) {
  ExpectLongerTimesHoldForAll(Opener(true));
}

TEST_F(RedisRemember, AScopeOfAnEarlierVersionTakesTheTimesOfItsFirstOpening) {
  const RememberTimes day{std::chrono::hours(24), milliseconds(0)};
  const OpenScope open = Opener(false);
  ASSERT_TRUE(open({std::chrono::hours(168), milliseconds(0)}, false));
  Redis({"HDEL", ScopeKey(), "remember", "skew"});
  ASSERT_TRUE(open({milliseconds(1), milliseconds(0)}, true));
  EXPECT_EQ(InForce(**open(day, false)), day) << "not those of a look";
  EXPECT_FALSE(open({std::chrono::hours(1), milliseconds(0)}, false));
}

// A generation is half of `remember`, and ids are looked for in each.
TEST_F(RedisRemember, ALongMemoryHasFewGenerationsHoweverItsScopeBegan) {
  const OpenScope open = Opener(false);
  const auto first = *open({std::chrono::seconds(10), milliseconds(0)}, false);
  int ids = 0;
  const auto finish = [&](int until) {
    for (; ids < until; ids++) {
      const std::string id = "id-" + std::to_string(ids);
      ClaimRequest claim = Request(id, ids);
      claim.time = kThen + ids * std::chrono::seconds(20);
      ASSERT_EQ(AnswerTo(*first, claim), Answer::kGranted);
      ASSERT_EQ(*Complete(*first, claim), Change::kMade);
    }
  };
  const auto slices = [&] {
    return Redis({"HLEN", Redis({"KEYS", "*:s"}).list.at(0).text}).integer;
  };
  finish(4);
  EXPECT_EQ(slices(), 4);
  ASSERT_TRUE(open({std::chrono::hours(168), milliseconds(0)}, false));
  finish(40);
  EXPECT_EQ(slices(), 4) << "they lie in the generation of the last one";
  for (int i = 0; i < ids; i++) {
    const std::string id = "id-" + std::to_string(i);
    EXPECT_EQ(AnswerTo(*first, Request(id, 500)), Answer::kDuplicate) << id;
  }
}

}  // namespace
}  // namespace oncemq::testing
