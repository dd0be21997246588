// SPDX-License-Identifier: Apache-2.0
// A group over the window in Redis at the level opaque, on a real broker: Redis loses changes, and
// nobody can check effects. Each effect that was made twice must be covered by the program's words.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "oncemq/base/wait_until.h"
#include "redis_storm_store.h"
#include "redis_target.h"

namespace oncemq::testing {
namespace {

constexpr char kLost[] = "the window has lost ids of the partition";
constexpr int64_t kLasts = int64_t{1} << 50;  // no end, in ms
constexpr char kKnows[] = "the window knows all ids of the partition again";

class OpaqueStore final : public RedisStormStore {
 public:
  std::vector<std::string> MemberWords(int number) const override {
    return {WindowUrl(), std::to_string(number), target_->url(), "opaque"};
  }
  // Of all members, so few that the last commits of most partitions are still announced.
  void RestartWithoutTail() {
    server().LoseTail(12'000);
    Restart();
  }
  int64_t Effects() override { return effects_.ids(); }
  std::vector<RedisEffects::Call> Calls() { return effects_.All(); }
  void Judge(int ids) override { EXPECT_EQ(effects_.ids(), ids) << "lost"; }

 private:
  const std::unique_ptr<RedisServer> target_ = RedisServer::Start();
  RedisEffects effects_{target_->url()};
};

// A field of a line of the log.
int64_t NumberIn(const std::string& line, const std::string& field) {
  const std::string key = "\"" + field + "\":";
  const size_t at = line.find(key);
  EXPECT_NE(at, line.npos) << line;
  return at == line.npos ? -1 : std::stoll(line.substr(at + key.size()));
}

// As the members have reported it, in ms since 1970.
struct Unprotected {
  int64_t partition = 0;
  int64_t since = 0;
  int64_t until = 0;
};

class KafkaRedisOpaque : public SharedWindowStorm {
 protected:
  void BeginInRedis() {
    auto store = std::make_unique<OpaqueStore>();
    redis_ = store.get();
    Begin(std::move(store));
  }
  // The lines of all members that begin so.
  std::vector<std::string> Lines(const std::string& words) const {
    std::vector<std::string> found;
    for (int i = 0; i < members(); i++) {
      std::istringstream log(TextOf(i));
      for (std::string line; std::getline(log, line);) {
        if (line.find(words) != std::string::npos) {
          found.push_back(line);
        }
      }
    }
    return found;
  }
  // Those that are begun and have no end last.
  std::vector<Unprotected> Intervals() const {
    std::vector<Unprotected> all;
    for (const std::string& line : Lines(kKnows)) {
      all.push_back({NumberIn(line, "partition"), NumberIn(line, "unprotected_since_ms"),
                     NumberIn(line, "unprotected_until_ms")});
    }
    for (const std::string& line : Lines(kLost)) {
      const int64_t partition = NumberIn(line, "partition");
      const int64_t since = NumberIn(line, "since_ms");
      if (std::none_of(all.begin(), all.end(), [&](const Unprotected& one) {
            return one.partition == partition && one.until >= since;
          })) {
        all.push_back({partition, since, kLasts});
      }
    }
    return all;
  }
  bool AllHaveEnded() const {
    const std::vector<Unprotected> all = Intervals();
    return std::none_of(all.begin(), all.end(),
                        [](const Unprotected& one) { return one.until == kLasts; });
  }
  void ExpectEachDoubleIsCovered(int ids);

  OpaqueStore* redis_ = nullptr;  // store_
};

// Of the effects of an id one is the right one. The partition that has lost the id is its own, or
// that of its copy. A claim that was granted meanwhile has its effect within the time of a handler.
void KafkaRedisOpaque::ExpectEachDoubleIsCovered(int ids) {
  const std::vector<Unprotected> intervals = Intervals();
  const auto covers = [&](const RedisEffects::Call& call) {
    const int64_t first = call.id % kStormKeys % kPartitions;
    const int64_t other = CrossesPartitions(call.id) ? (first + 1) % kPartitions : first;
    return std::any_of(intervals.begin(), intervals.end(), [&](const Unprotected& one) {
      return (one.partition == first || one.partition == other) && one.since <= call.at_ms &&
             call.at_ms <= one.until + kOpaqueTimes.handler_timeout.count();
    });
  };
  std::vector<int> effects(static_cast<size_t>(ids));
  std::vector<int> unreported(effects.size());
  std::vector<int> uncovered(effects.size());
  for (const RedisEffects::Call& call : redis_->Calls()) {
    ASSERT_TRUE(call.id >= 0 && call.id < ids) << call.id;
    const auto id = static_cast<size_t>(call.id);
    effects[id]++;
    unreported[id] += call.reported ? 0 : 1;
    uncovered[id] += call.reported || covers(call) ? 0 : 1;
  }
  const auto doubled = [](const std::vector<int>& times) {
    return std::count_if(times.begin(), times.end(), [](int n) { return n > 1; });
  };
  EXPECT_EQ(std::count(effects.begin(), effects.end(), 0), 0) << "lost";
  EXPECT_EQ(doubled(uncovered), 0) << "made twice, and nobody was told";
  EXPECT_GT(doubled(unreported), 0) << "no interval was needed";
  RecordProperty("doubled", std::to_string(doubled(effects)));
  RecordProperty("doubled_untold", std::to_string(doubled(unreported)));
  int64_t longest = 0;
  for (const Unprotected& one : intervals) {
    longest = one.until == kLasts ? longest : std::max(longest, one.until - one.since);
  }
  RecordProperty("intervals", std::to_string(intervals.size()));
  RecordProperty("longest_interval_ms", std::to_string(longest));
}

TEST_F(KafkaRedisOpaque, StormNothingIsLostAndWhatIsDoubledIsToldOrLiesInAReportedTime) {
  ONCEMQ_REQUIRE_REDIS();
  const int ids = Messages();
  BeginInRedis();
  Produce(0, ids / 2, Crossing::kLater);
  for (int i = 0; i < 3; i++) {
    Start();
  }
  // Deaths of members and of the network, where Redis keeps its word, are told as uncertain.
  ASSERT_TRUE(Reached(ids / 20)) << TextOf(0);
  member(0).Kill9();
  Start();
  ASSERT_TRUE(Reached(ids / 10));
  SwallowReplies();
  BlackHole();
  ASSERT_TRUE(Reached(ids / 4)) << TextOf(1);
  EXPECT_EQ(Lines(kLost).size(), 0u) << "nothing was lost";
  // The dead owner's last changes go, and it cannot miss them.
  member(1).Kill9();
  redis_->Kill9();
  redis_->RestartWithoutTail();
  Start();
  ASSERT_TRUE(Reached(ids / 2)) << TextOf(2);
  // The copies arrive once the others have recovered, while nobody gives back the ids of a silent
  // member.
  const size_t recovered = Lines(kKnows).size();
  member(2).Pause();
  redis_->LoseAll();
  const BootTime session_ended =
      BootNow() + QuickOptions(bootstrap_, group_, topic_).core.session_timeout + seconds(1);
  constexpr int kWakes = 2 * kStormKeys;
  Produce(ids / 2, ids / 2 + kWakes);
  ASSERT_TRUE(Eventually(seconds(60), [&] { return Lines(kKnows).size() >= recovered + 3; }));
  ProduceCrossing(0, ids / 2);
  Produce(ids / 2 + kWakes, ids);
  WaitUntil(session_ended, BootNow(), {});
  member(2).Continue();
  ASSERT_TRUE(Reached(5 * ids / 8)) << TextOf(3);
  redis_->FailOver();
  ASSERT_TRUE(Reached(ids)) << TextOf(members() - 1);
  // Later a member may take a partition over and leave at once.
  EXPECT_TRUE(Eventually(seconds(60), [&] { return AllHaveEnded(); }));
  End(ids);
  ExpectEachDoubleIsCovered(ids);
}

}  // namespace
}  // namespace oncemq::testing
