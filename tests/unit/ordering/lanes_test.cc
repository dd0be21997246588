// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/lanes.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace oncemq {
namespace {

struct Node {
  uint32_t next = kNoIndex;
  uint32_t lane = kNoIndex;
};

class LanesTest : public ::testing::Test {
 protected:
  std::vector<Node> nodes_ = std::vector<Node>(64);
  LaneTable<Node> lanes_{nodes_, 64};

  std::vector<uint32_t> NodesOf(uint32_t lane) {
    std::vector<uint32_t> found;
    for (uint32_t node = lanes_[lane].head; node != kNoIndex; node = nodes_[node].next) {
      found.push_back(node);
    }
    return found;
  }
};

TEST_F(LanesTest, NodesOfOneKeyKeepTheirOrderOfArrival) {
  lanes_.Append(7, 3);
  lanes_.Append(7, 1);
  lanes_.Append(7, 2);
  EXPECT_EQ(lanes_.live(), 1u);
  EXPECT_EQ(NodesOf(lanes_.NextReady()), (std::vector<uint32_t>{3, 1, 2}));
}

TEST_F(LanesTest, ALaneIsHandedOutOnceUntilItIsMadeReadyAgain) {
  lanes_.Append(7, 0);
  const uint32_t lane = lanes_.NextReady();
  lanes_[lane].state = LaneState::kBusy;
  lanes_.Append(7, 1);
  EXPECT_EQ(lanes_.NextReady(), kNoIndex);
  lanes_.MakeReady(lane);
  EXPECT_EQ(lanes_.NextReady(), lane);
}

TEST_F(LanesTest, ReadyLanesComeInTheOrderInWhichTheyBecameReady) {
  lanes_.Append(1, 0);
  lanes_.Append(2, 1);
  lanes_.Append(3, 2);
  EXPECT_EQ(lanes_[lanes_.NextReady()].hash, 1u);
  EXPECT_EQ(lanes_[lanes_.NextReady()].hash, 2u);
  EXPECT_EQ(lanes_[lanes_.NextReady()].hash, 3u);
}

TEST_F(LanesTest, DueLanesGetHalfOfTheNodes) {
  for (uint32_t i = 0; i < 7; i++) {
    lanes_.Append(i, i);
  }
  const uint32_t first = lanes_.NextReady();
  const uint32_t second = lanes_.NextReady();
  const uint32_t third = lanes_.NextReady();
  lanes_.MakeDue(first);
  lanes_.MakeDue(second);
  lanes_.MakeDue(third);
  std::vector<uint64_t> order;
  for (const uint32_t nodes : {1, 2, 1, 1, 1, 1, 1}) {
    const uint32_t lane = lanes_.NextReady();
    lanes_.Took(lane, nodes);
    order.push_back(lanes_[lane].hash);
  }
  EXPECT_EQ(order, (std::vector<uint64_t>{0, 3, 1, 2, 4, 5, 6}));
  lanes_.MakeDue(first);
  EXPECT_EQ(lanes_.NextTurn(), 0u) << "due alone, it has a turn";
  EXPECT_EQ(lanes_.NextReady(), first);
}

TEST_F(LanesTest, GroupsTakeTurnsAndShareNoLane) {
  lanes_.Append(7, 0, 0);
  lanes_.Append(8, 1, 0);
  lanes_.Append(7, 2, 3);
  EXPECT_EQ(lanes_.live(), 3u);
  EXPECT_EQ(lanes_.NextTurn(), 0u);
  EXPECT_EQ(NodesOf(lanes_.NextReady(0)), (std::vector<uint32_t>{0}));
  lanes_.EndTurn();
  EXPECT_EQ(lanes_.NextTurn(), 3u) << "group 0 has had its turn, though not all of it is taken";
  EXPECT_EQ(NodesOf(lanes_.NextReady(3)), (std::vector<uint32_t>{2}));
  lanes_.EndTurn();
  EXPECT_EQ(lanes_.NextTurn(), 0u);
  const uint32_t lane = lanes_.NextReady(0);
  lanes_.EndTurn();
  EXPECT_EQ(lanes_.NextTurn(), kNoIndex);
  lanes_.MakeReady(lane);
  EXPECT_EQ(lanes_.NextTurn(), 0u);
}

TEST_F(LanesTest, ALaneThatHasToWaitForItsOwnRunIsNextAgain) {
  lanes_.Append(1, 0);
  lanes_.Append(2, 1);
  lanes_.Append(3, 2);
  const uint32_t first = lanes_.NextReady();
  lanes_.MakeReadyFirst(first);
  EXPECT_EQ(lanes_.NextReady(), first);
  EXPECT_EQ(lanes_[lanes_.NextReady()].hash, 2u);
  EXPECT_EQ(lanes_[lanes_.NextReady()].hash, 3u);
  EXPECT_EQ(lanes_.NextReady(), kNoIndex);
  lanes_.MakeReadyFirst(first);
  EXPECT_EQ(lanes_.NextTurn(), 0u);
  EXPECT_EQ(lanes_.NextReady(), first);
}

TEST_F(LanesTest, LanesSetAsideComeBackTogetherInOrder) {
  LaneList list;
  for (uint32_t i = 0; i < 3; i++) {
    lanes_.Append(i + 1, i);
    lanes_.PutAside(list, lanes_.NextReady());
  }
  EXPECT_EQ(lanes_.NextReady(), kNoIndex);
  lanes_.WakeAll(list);
  EXPECT_EQ(list.head, kNoIndex);
  EXPECT_EQ(lanes_[lanes_.NextReady()].hash, 1u);
  EXPECT_EQ(lanes_[lanes_.NextReady()].hash, 2u);
}

TEST_F(LanesTest, AFilterUnlinksWhatIsGoneAndTheTailIsRightAfterIt) {
  for (uint32_t i = 0; i < 5; i++) {
    lanes_.Append(9, i);
  }
  const uint32_t lane = lanes_.NextReady();
  EXPECT_FALSE(lanes_.Filter(lane, [](uint32_t node) { return node >= 2; }));
  EXPECT_EQ(NodesOf(lane), (std::vector<uint32_t>{0, 1}));
  lanes_.Append(9, 7);
  EXPECT_EQ(NodesOf(lane), (std::vector<uint32_t>{0, 1, 7}));
}

TEST_F(LanesTest, AnEmptyLaneIsForgotten) {
  lanes_.Append(9, 0);
  const uint32_t lane = lanes_.NextReady();
  EXPECT_TRUE(lanes_.Filter(lane, [](uint32_t) { return true; }));
  lanes_.Erase(lane);
  EXPECT_EQ(lanes_.live(), 0u);
}

TEST_F(LanesTest, OnlyEqualHashesShareALaneNotEqualPlacesInTheTable) {
  lanes_.Append(5, 0);
  lanes_.Append(5 + (uint64_t{1} << 40), 1);  // the same place, another hash
  EXPECT_EQ(lanes_.live(), 2u);
  lanes_.Append(5, 2);
  EXPECT_EQ(lanes_.live(), 2u);
}

TEST(LaneTable, FindsEveryLaneAgainWhenItsTableHasGrown) {
  constexpr uint32_t kLanes = 3'000;
  std::vector<Node> nodes(2 * kLanes);
  LaneTable<Node> lanes(nodes, 2 * kLanes);
  for (uint32_t node = 0; node < 2 * kLanes; node++) {
    lanes.Append(4096 * (1 + node % kLanes), node);
  }
  EXPECT_EQ(lanes.live(), kLanes);
  for (uint32_t i = 0; i < kLanes; i++) {
    const uint32_t lane = lanes.NextReady();
    ASSERT_NE(lane, kNoIndex);
    EXPECT_EQ(lanes[lane].head, i);
    EXPECT_EQ(lanes[lane].tail, i + kLanes);
    ASSERT_TRUE(lanes.Filter(lane, [](uint32_t) { return true; }));
    lanes.Erase(lane);
  }
  EXPECT_EQ(lanes.live(), 0u);
}

TEST_F(LanesTest, SurvivesRandomCreationAndErasureWithCollidingHomes) {
  std::map<uint64_t, std::deque<uint32_t>> model;
  std::vector<uint32_t> free;
  for (uint32_t i = 0; i < 64; i++) {
    free.push_back(i);
  }
  std::mt19937_64 random(3);
  for (int step = 0; step < 50'000; step++) {
    if (!free.empty() && random() % 2 == 0) {
      const uint64_t hash = (random() % 10) * 4096 + random() % 4;  // few homes, long chains
      lanes_.Append(hash, free.back());
      model[hash].push_back(free.back());
      free.pop_back();
      continue;
    }
    const uint32_t lane = lanes_.NextReady();
    if (lane == kNoIndex) {
      continue;
    }
    auto& queue = model[lanes_[lane].hash];
    ASSERT_EQ(NodesOf(lane), std::vector<uint32_t>(queue.begin(), queue.end()));
    const uint32_t head = queue.front();
    queue.pop_front();
    free.push_back(head);
    if (lanes_.Filter(lane, [&](uint32_t node) { return node == head; })) {
      model.erase(lanes_[lane].hash);
      lanes_.Erase(lane);
    } else {
      lanes_.MakeReady(lane);
    }
    ASSERT_EQ(lanes_.live(), model.size());
  }
}

}  // namespace
}  // namespace oncemq
