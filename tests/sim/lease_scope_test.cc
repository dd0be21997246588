// SPDX-License-Identifier: Apache-2.0
// Leases in small scopes, exhaustively: two or three contenders for one name, and every fate for
// each of six calls, in every combination.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "how_much.h"
#include "lease_world.h"

namespace oncemq::sim {
namespace {

constexpr microseconds Millis(int64_t count) {
  return milliseconds(count);
}

constexpr auto kReader = LockMode::kShared;

// Clocks that run slow believe longer than the store does.
const LeaseStory kStories[] = {
    {"AWriterAndOneWhoWaits",
     {{.holds = Millis(700), .ppm = -900}, {.begins = Millis(5), .holds = Millis(20)}}},
    {"AWriterAndOneWhoGivesUp",
     {{.holds = Millis(250), .ppm = -900},
      {.begins = Millis(5), .holds = Millis(20), .gives_up = Millis(240), .ppm = 900},
      {.begins = Millis(9), .holds = Millis(20)}}},
    {"ReadersAndAWriter",
     {{.mode = kReader, .holds = Millis(350), .ppm = -900},
      {.begins = Millis(5), .holds = Millis(30), .ppm = -900},
      {.mode = kReader, .begins = Millis(9), .holds = Millis(100)}}},
    {"AWriterAndReaders",
     {{.holds = Millis(60), .ppm = -900},
      {.mode = kReader, .begins = Millis(5), .holds = Millis(350), .ppm = -900},
      {.begins = Millis(9), .holds = Millis(30), .gives_up = Millis(500)}}},
    {"NobodyIsWoken",
     {{.holds = Millis(30), .ppm = -900},
      {.begins = Millis(5), .holds = Millis(400), .ppm = -900},
      {.begins = Millis(9), .holds = Millis(30)}},
     false},
    {.name = "TheStoreIsSealed",
     .contenders = {{.holds = Millis(40), .ppm = -900},
                    {.begins = Millis(5), .holds = Millis(20), .ppm = 900},
                    {.begins = Millis(9), .holds = Millis(20)}},
     .sealed = Millis(20)},
};

// How many calls of each contender are swept. Six in all: 6^6 combinations for each story.
const std::vector<std::vector<size_t>> kSweeps = {{5, 1}, {2, 4}, {2, 2, 2}};
constexpr size_t kCombinations = 46'656;

Fates Combination(const std::vector<size_t>& sweep, size_t number) {
  Fates fates;
  for (const size_t calls : sweep) {
    std::vector<Fate>& one = fates.emplace_back();
    for (size_t i = 0; i < calls; i++, number /= kFates) {
      one.push_back(static_cast<Fate>(number % kFates));
    }
  }
  return fates;
}

class LeaseScope : public testing::TestWithParam<size_t> {};

TEST_P(LeaseScope, NoFateOfAnyCallBreaksAPromise) {
  const LeaseStory& story = kStories[GetParam()];
  std::set<LeaseMoment> moments;
  for (const std::vector<size_t>& sweep : kSweeps) {
    for (size_t number = 0; number < kCombinations; number += static_cast<size_t>(OneOf())) {
      LeaseWorld world(story, Combination(sweep, number), moments);
      const std::string broken = world.Run();
      ASSERT_EQ(broken, "") << story.name << ", sweep of " << sweep.front() << ", " << number;
    }
  }
  EXPECT_TRUE(moments.contains(LeaseMoment::kGranted));
}

INSTANTIATE_TEST_SUITE_P(Of, LeaseScope, testing::Range(size_t{0}, std::size(kStories)),
                         [](const auto& story) { return kStories[story.param].name; });

// A sweep that never reaches what it is about proves nothing.
TEST(LeaseScopeMoments, EverySituationIsReached) {
  std::set<LeaseMoment> moments;
  for (const LeaseStory& story : kStories) {
    for (size_t number = 0; number < kCombinations; number += 7) {
      LeaseWorld world(story, Combination({3, 3}, number), moments);
      static_cast<void>(world.Run());
    }
  }
  for (size_t moment = 0; moment <= static_cast<size_t>(LeaseMoment::kLast); moment++) {
    EXPECT_TRUE(moments.contains(static_cast<LeaseMoment>(moment))) << "moment " << moment;
  }
}

TEST(LeaseScopeOrder, WithoutFaultsEveryContenderIsServedInItsTurn) {
  for (const LeaseStory& story : kStories) {
    std::set<LeaseMoment> moments;
    LeaseWorld world(story, {}, moments);
    EXPECT_EQ(world.Run(), "") << story.name;
    EXPECT_FALSE(moments.contains(LeaseMoment::kLostByDeadline)) << story.name;
  }
}

}  // namespace
}  // namespace oncemq::sim
