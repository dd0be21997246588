// SPDX-License-Identifier: Apache-2.0
#include "freeze_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A log from 100 to 1,000, and a group that has come to 800.
ReplayPartition Payments(int32_t partition = 0) {
  return {.topic = "payments",
          .partition = partition,
          .log_start = 100,
          .log_end = 1'000,
          .committed = 800,
          .since = 50};
}

ReplayFacts FactsOf(std::vector<ReplayPartition> partitions) {
  return {.cluster = "c1",
          .owner = "group payments",
          .now_ms = 1'795'885'200'000,  // 2026-11-28 17:00:00 UTC
          .random = 0xa1b2c3,
          .partitions = std::move(partitions)};
}

ReplayFacts FactsOf(ReplayPartition partition) {
  return FactsOf(std::vector<ReplayPartition>{std::move(partition)});
}

ReplaySet Frozen(const ReplayRequest& request, ReplayFacts facts) {
  auto set = FreezeSet(request, std::move(facts));
  EXPECT_TRUE(set) << ToString(set.error());
  return set ? *std::move(set) : ReplaySet{};
}

std::string WhyNot(const ReplayRequest& request, ReplayFacts facts) {
  const auto set = FreezeSet(request, std::move(facts));
  EXPECT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kInvalid);
  return set.error().message;
}

ReplayRange Range(int64_t from, int64_t to) {
  return {
      .topic = "payments", .partition = 0, .from = from, .to = to, .frontier = 800, .since = 50};
}

struct Row {
  const char* name;
  ReplayRequest request;
  std::optional<int64_t> at_since;
  std::optional<int64_t> at_until;
  int64_t from;
  int64_t to;
};

TEST(FreezeSet, ARangeIsWhatLogRequestAndFrontierHaveInCommon) {
  const Row rows[] = {
      {"all below the frontier", {.since_ms = 0}, 100, {}, 100, 800},
      {"from a time on", {.since_ms = 1}, 300, {}, 300, 800},
      {"to a time", {.since_ms = 1, .until_ms = 2}, 300, 500, 300, 500},
      {"to a time above the frontier", {.since_ms = 1, .until_ms = 2}, 300, 900, 300, 800},
      {"offsets", {.from = 200, .to = 201}, {}, {}, 200, 201},
      {"offsets above the frontier", {.from = 700, .to = 2'000}, {}, {}, 700, 800},
      {"offsets that are gone", {.from = 0, .to = 150}, {}, {}, 100, 150},
      {"a time and an offset", {.since_ms = 1, .from = 400}, 300, {}, 400, 800},
  };
  for (const Row& row : rows) {
    ReplayPartition at = Payments();
    at.at_since = row.at_since;
    at.at_until = row.at_until;
    EXPECT_THAT(Frozen(row.request, FactsOf(at)).ranges, ElementsAre(Range(row.from, row.to)))
        << row.name;
  }
}

TEST(FreezeSet, NothingAboveTheFrontierIsInTheSetAndThatIsTold) {
  ReplayPartition at = Payments();
  at.at_since = 100;
  at.at_until = 841;
  const ReplaySet set = Frozen({.since_ms = 1, .until_ms = 2}, FactsOf(at));
  EXPECT_THAT(set.ranges, ElementsAre(Range(100, 800)));
  EXPECT_THAT(set.notices,
              ElementsAre(HasSubstr("begins at offset 100"),
                          "payments [0]: 41 offsets above the frontier are left to the live "
                          "group"));
}

TEST(FreezeSet, AShorterLogEndsTheRange) {
  ReplayPartition at = Payments();
  at.log_end = 700;
  const ReplaySet set = Frozen({.from = 600}, FactsOf(at));
  EXPECT_EQ(set.ranges.front().to, 700);
  EXPECT_THAT(set.notices, IsEmpty());
}

TEST(FreezeSet, OffsetsThatAreGoneFromTheLogAreCounted) {
  EXPECT_THAT(Frozen({.from = 90, .to = 200}, FactsOf(Payments())).notices,
              ElementsAre("payments [0]: 10 offsets are gone from the log, from 90 on"));
}

TEST(FreezeSet, APartitionWithoutACommitHasNoRange) {
  ReplayPartition other = Payments(1);
  other.committed.reset();
  const ReplaySet set = Frozen({.from = 200}, FactsOf({Payments(), other}));
  EXPECT_THAT(set.ranges, ElementsAre(Range(200, 800)));
  EXPECT_THAT(set.notices.back(), HasSubstr("payments [1]: the group has not begun it"));
}

TEST(FreezeSet, BelowACommitOfSomebodyElseAllIsBeforeTheHistory) {
  ReplayPartition at = Payments();
  at.since.reset();
  const ReplaySet set = Frozen({.from = 200, .to = 700}, FactsOf(at));
  EXPECT_EQ(set.ranges.front().since, 800);
  EXPECT_THAT(set.notices, ElementsAre(HasSubstr("its commit is not of this service")));
}

TEST(FreezeSet, OnlyPartitionsOfTheRequestAreInIt) {
  const ReplaySet set =
      Frozen({.partitions = {1}, .from = 200}, FactsOf({Payments(), Payments(1)}));
  ASSERT_EQ(set.ranges.size(), 1u);
  EXPECT_EQ(set.ranges.front().partition, 1);
  EXPECT_THAT(WhyNot({.partitions = {1, 9}, .from = 200}, FactsOf({Payments(), Payments(1)})),
              HasSubstr("no topic of the replay has a partition 9"));
}

TEST(FreezeSet, WithoutAMessageItIsRefusedWithTheNumbers) {
  EXPECT_THAT(WhyNot({.from = 850, .to = 900}, FactsOf(Payments())),
              HasSubstr("payments [0] asked 850 to 900, frontier 800"));
  std::vector<ReplayPartition> many;
  for (int32_t partition = 0; partition < 6; partition++) {
    many.push_back(Payments(partition));
    many.back().committed.reset();
  }
  const std::string why = WhyNot({.from = 200}, FactsOf(many));
  EXPECT_THAT(why, HasSubstr("no commit; payments [1]"));
  EXPECT_THAT(why, HasSubstr("and 2 more partitions"));
}

TEST(FreezeSet, ItsIdTellsWhenItWasFrozen) {
  const ReplaySet set = Frozen({.from = 200}, FactsOf(Payments()));
  EXPECT_EQ(set.id, "r-20261128-170000-a1b2c3");
  EXPECT_EQ(set.frozen_ms, 1'795'885'200'000);
  EXPECT_EQ(set.cluster, "c1");
  EXPECT_EQ(set.owner, "group payments");
}

std::vector<std::string> Topics(const ReplayRequest& request) {
  const auto topics = ReplayTopics(request, {"payments", "refunds"});
  return topics ? *topics : std::vector<std::string>{topics.error().message};
}

TEST(ReplayTopics, AreThoseOfTheServiceEachOnce) {
  EXPECT_THAT(Topics({.since_ms = 0}), ElementsAre("payments", "refunds"));
  EXPECT_THAT(Topics({.topics = {"refunds", "payments", "refunds"}, .since_ms = 0}),
              ElementsAre("payments", "refunds"));
  EXPECT_THAT(Topics({.topics = {"orders"}, .since_ms = 0}),
              ElementsAre("the service does not read the topic orders"));
}

TEST(ReplayTopics, ARequestSaysWhereItBegins) {
  EXPECT_THAT(Topics({.until_ms = 5}), ElementsAre(HasSubstr("begins at a time or at an offset")));
}

TEST(ReplayTopics, OffsetsAreOfOnePartition) {
  EXPECT_THAT(Topics({.topics = {"refunds"}, .partitions = {3}, .from = 7}),
              ElementsAre("refunds"));
  const auto refused = ElementsAre(HasSubstr("offsets are of one partition"));
  EXPECT_THAT(Topics({.topics = {"refunds"}, .from = 7}), refused);
  EXPECT_THAT(Topics({.partitions = {3}, .from = 7}), refused);
  EXPECT_THAT(Topics({.topics = {"refunds"}, .partitions = {3, 4}, .since_ms = 0, .to = 7}),
              refused);
}

}  // namespace
}  // namespace oncemq::testing
