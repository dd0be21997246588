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
    return [this, partition_owned](const RememberTimes& times, bool existing_only) {
      auto options = Options();
      options.partition_owned = partition_owned;
      options.remember = times.remember;
      options.skew = times.skew;
      options.existing_only = existing_only;
      return OpenRedisWindow(server_->url(), options);
    };
  }
  std::string ScopeKey() { return Redis({"KEYS", "*:scope"}).list.at(0).text; }
  // Further ids, one for each 20 s of log time.
  void FinishTo(Window& window, int end) {
    for (; ids_ < end; ids_++) {
      const std::string id = IdOf(ids_);
      ClaimRequest claim = Request(id, ids_);
      claim.time = kThen + ids_ * std::chrono::seconds(20);
      ASSERT_EQ(AnswerTo(window, claim), ClaimVerdict::kGranted);
      ASSERT_EQ(*Complete(window, claim), MarkerChange::kMade);
    }
  }
  void ExpectAllKnown(Window& window) {
    for (int i = 0; i < ids_; i++) {
      const std::string id = IdOf(i);
      EXPECT_EQ(AnswerTo(window, Request(id, 500)), ClaimVerdict::kDuplicate) << id;
    }
  }
  int64_t Slices() { return Redis({"HLEN", Redis({"KEYS", "*:s"}).list.at(0).text}).integer; }
  static void Commit(Window& window, LogTime watermark) {
    const Progress progress{
        .partition = 3, .owner_epoch = *window.RaiseOwnerEpoch(0, 3, 0), .watermark = watermark};
    MarkerChange change{};
    ASSERT_TRUE(window.Committed({&progress, 1}, {&change, 1}));
  }

 private:
  static std::string IdOf(int number) { return "id-" + std::to_string(number); }
  int ids_ = 0;
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
  Commit(*first, kThen);
  FinishTo(*first, 4);
  EXPECT_EQ(Slices(), 4);
  ASSERT_TRUE(open({std::chrono::hours(168), milliseconds(0)}, false));
  FinishTo(*first, 40);
  EXPECT_EQ(Slices(), 4) << "they lie in the generation of the last one";
  ExpectAllKnown(*first);
}

// As a group that begins on an old log.
TEST_F(RedisRemember, IdsBeforeTheFirstWatermarkLieInAGenerationOfThePresent) {
  const auto window = *Opener(false)({std::chrono::hours(168), milliseconds(0)}, false);
  FinishTo(*window, 20);
  EXPECT_EQ(Slices(), 1);
  Commit(*window, kThen + std::chrono::seconds(400));
  FinishTo(*window, 40);
  EXPECT_EQ(Slices(), 2) << "one more for the log";
  ExpectAllKnown(*window);
}

}  // namespace
}  // namespace oncemq::testing
