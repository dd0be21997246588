// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/frontier.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr size_t kRoomy = 3000;

Frontier At(int64_t next, uint32_t span = 64) {
  Frontier frontier(span);
  frontier.Start(next, {}, {}, {});
  return frontier;
}

OffsetMap MapOf(std::vector<OffsetMap::Range> ranges) {
  OffsetMap map;
  for (const auto& range : ranges) {
    map.Append(range.from, range.to);
  }
  return map;
}

TEST(Frontier, NothingArrivedMeansTheStart) {
  Frontier frontier = At(7);
  EXPECT_EQ(frontier.Advance(), 7);
  EXPECT_EQ(frontier.Snapshot(kRoomy).offset, 7);
}

TEST(Frontier, StopsAtTheLowestUnfinishedDelivery) {
  Frontier frontier = At(0);
  const auto a = frontier.Add(0).number;
  const auto b = frontier.Add(1).number;
  const auto c = frontier.Add(2).number;
  frontier.Finish(c, Verdict::kApplied);
  frontier.Finish(a, Verdict::kApplied);
  EXPECT_EQ(frontier.Advance(), 1);
  frontier.Finish(b, Verdict::kApplied);
  EXPECT_EQ(frontier.Advance(), 3);
}

TEST(Frontier, HolesOfCompactionCostNothing) {
  Frontier frontier = At(10);
  const auto a = frontier.Add(10).number;
  const auto b = frontier.Add(500).number;
  frontier.Finish(a, Verdict::kApplied);
  EXPECT_EQ(frontier.Advance(), 500);
  frontier.Finish(b, Verdict::kSuppressed);
  EXPECT_EQ(frontier.Advance(), 501);
  EXPECT_EQ(frontier.arrivals(), 0u);
}

TEST(Frontier, AHoleAtTheEndIsPassedOnceAllBeforeItIsFinished) {
  Frontier frontier = At(10);
  const auto a = frontier.Add(10).number;
  EXPECT_TRUE(frontier.PassHole(14));
  EXPECT_EQ(frontier.Advance(), 10);
  frontier.Finish(a, Verdict::kApplied);
  EXPECT_EQ(frontier.Advance(), 14);
  EXPECT_FALSE(frontier.PassHole(14)) << "no news";
  EXPECT_FALSE(frontier.PassHole(12));
  const auto b = frontier.Add(14);
  EXPECT_FALSE(b.again);
  EXPECT_EQ(frontier.Advance(), 14);
  EXPECT_EQ(frontier.totals(), (Totals{.applied = 1})) << "a hole is nobody's outcome";
}

TEST(Frontier, WhatWasCarriedAndIsGoneFromTheLogEndsWithItsHole) {
  Frontier frontier(64);
  frontier.Start(10, MapOf({{12, 14}}), {}, Totals{.applied = 12});
  EXPECT_TRUE(frontier.PassHole(13));
  EXPECT_EQ(frontier.Snapshot(kRoomy).map, MapOf({{13, 14}}));
  EXPECT_TRUE(frontier.PassHole(20));
  const FrontierSnapshot snapshot = frontier.Snapshot(kRoomy);
  EXPECT_EQ(snapshot.offset, 20);
  EXPECT_TRUE(snapshot.map.empty());
  EXPECT_EQ(snapshot.totals, (Totals{.applied = 12}));
}

TEST(Frontier, TheSameOffsetTwiceIsTwoDeliveriesAndTheFirstSpeaksForTheOffset) {
  Frontier frontier = At(0);
  const auto first = frontier.Add(0);
  const auto again = frontier.Add(0);
  EXPECT_FALSE(first.again);
  EXPECT_TRUE(again.again);
  EXPECT_EQ(frontier.Advance(), 0) << "the first of them is not finished";
  EXPECT_TRUE(frontier.Snapshot(kRoomy).map.empty());
  frontier.Finish(first.number, Verdict::kApplied);
  EXPECT_EQ(frontier.Advance(), 1);
  EXPECT_EQ(frontier.totals(), (Totals{.applied = 1})) << "an offset is counted once";
}

TEST(Frontier, ARewoundSourceDoesNotPullItBack) {
  Frontier frontier = At(0);
  for (int64_t offset = 0; offset < 5; offset++) {
    frontier.Finish(frontier.Add(offset).number, Verdict::kApplied);
  }
  EXPECT_EQ(frontier.Advance(), 5);
  EXPECT_TRUE(frontier.Add(2).again);
  EXPECT_EQ(frontier.Advance(), 5);
}

TEST(Frontier, ARewindWhileTheFirstArrivalsAreOpenHoldsNothingBack) {
  Frontier frontier = At(5);
  const auto five = frontier.Add(5).number;
  const auto six = frontier.Add(6).number;
  EXPECT_TRUE(frontier.Add(5).again);
  frontier.Finish(five, Verdict::kApplied);
  frontier.Finish(six, Verdict::kApplied);
  const FrontierSnapshot snapshot = frontier.Snapshot(kRoomy);
  EXPECT_EQ(snapshot.offset, 7) << "what the totals count must not be delivered once more";
  EXPECT_EQ(snapshot.totals, (Totals{.applied = 2}));
}

TEST(Frontier, TotalsBelongToExactlyWhatOffsetAndMapCallFinished) {
  Frontier frontier = At(0);
  frontier.Finish(frontier.Add(0).number, Verdict::kApplied);
  frontier.Add(1);
  frontier.Finish(frontier.Add(2).number, Verdict::kRejected);
  frontier.Finish(frontier.Add(3).number, Verdict::kSuppressed);
  const FrontierSnapshot snapshot = frontier.Snapshot(kRoomy);
  EXPECT_EQ(snapshot.offset, 1);
  EXPECT_EQ(snapshot.map, MapOf({{2, 4}}));
  EXPECT_EQ(snapshot.totals, (Totals{.applied = 1, .suppressed = 1, .rejected = 1}));
  EXPECT_EQ(snapshot.totals.sum(), snapshot.offset + snapshot.map.count());
}

TEST(Frontier, ASurplusIsAnOffsetCountedTwiceAndAHoleIsNone) {
  Frontier frontier(64);
  frontier.Start(10, MapOf({{12, 14}}), {}, Totals{.applied = 12});
  EXPECT_EQ(frontier.Surplus(0), 0) << "the carried ones count above the frontier";
  for (int64_t offset = 10; offset < 14; offset++) {
    frontier.Finish(frontier.Add(offset).number, Verdict::kApplied);
    frontier.Advance();
    EXPECT_EQ(frontier.Surplus(0), 0) << offset;
  }
  frontier.PassHole(20);
  frontier.Advance();
  EXPECT_EQ(frontier.Surplus(0), -6);
  frontier.Start(10, {}, {}, Totals{.applied = 8, .parked = 3});
  EXPECT_EQ(frontier.Surplus(0), 1);
  EXPECT_EQ(frontier.Surplus(2), 3) << "since a later beginning";
}

TEST(Frontier, ACutMapCallsLessFinishedNeverMoreAndItsTotalsFollow) {
  Frontier frontier = At(0, 4096);
  frontier.Add(0);
  for (int64_t offset = 1; offset < 2000; offset++) {
    const auto number = frontier.Add(offset).number;
    if (offset % 2 == 0) {
      frontier.Finish(number, Verdict::kApplied);
    }
  }
  const FrontierSnapshot whole = frontier.Snapshot(kRoomy);
  const FrontierSnapshot cut = frontier.Snapshot(100);
  EXPECT_FALSE(whole.cut);
  EXPECT_TRUE(cut.cut);
  EXPECT_LE(cut.map.Encode(cut.offset).size(), 100u);
  EXPECT_GT(cut.map.count(), 0);
  for (const auto& range : cut.map.ranges()) {
    EXPECT_TRUE(whole.map.Contains(range.from));
  }
  EXPECT_EQ(cut.totals.sum(), cut.map.count());
}

TEST(Frontier, ACarriedDeliveryStaysInTheMapUntilItIsPassedAndIsNotCountedTwice) {
  Frontier frontier(64);
  frontier.Start(10, MapOf({{12, 14}}), {}, Totals{.applied = 12});
  const auto a = frontier.Add(10);
  const auto b = frontier.Add(11);
  const auto c = frontier.Add(12);
  const auto d = frontier.Add(13);
  EXPECT_FALSE(a.finished);
  EXPECT_TRUE(c.finished);
  EXPECT_TRUE(d.finished);
  frontier.Finish(a.number, Verdict::kApplied);
  EXPECT_EQ(frontier.Snapshot(kRoomy).map, MapOf({{12, 14}}))
      << "marker not there yet, still finished";
  frontier.Finish(b.number, Verdict::kApplied);
  EXPECT_EQ(frontier.Advance(), 12) << "its marker comes first";
  frontier.Finish(c.number, Verdict::kCarried);
  frontier.Finish(d.number, Verdict::kCarried);
  const FrontierSnapshot snapshot = frontier.Snapshot(kRoomy);
  EXPECT_EQ(snapshot.offset, 14);
  EXPECT_TRUE(snapshot.map.empty());
  EXPECT_EQ(snapshot.totals, (Totals{.applied = 14}));
}

TEST(Frontier, ACarriedRangeStaysWholeWhileItIsDeliveredOutOfOrder) {
  Frontier frontier(64);
  frontier.Start(0, MapOf({{2, 6}}), {}, Totals{.applied = 4});
  frontier.Add(0);
  frontier.Add(1);
  for (int64_t offset = 2; offset < 6; offset++) {
    const auto number = frontier.Add(offset).number;
    if (offset == 4) {
      frontier.Finish(number, Verdict::kCarried);
    }
  }
  const FrontierSnapshot snapshot = frontier.Snapshot(kRoomy);
  EXPECT_EQ(snapshot.map, MapOf({{2, 6}}));
  EXPECT_EQ(snapshot.totals.sum(), snapshot.map.count());
}

TEST(Frontier, WhatIsFinishedButNotDoneIsNamedInTheSnapshot) {
  Frontier frontier(64);
  frontier.Start(0, {}, {}, {});
  const Verdict verdicts[] = {Verdict::kOpen, Verdict::kRejected, Verdict::kApplied,
                              Verdict::kParked, Verdict::kSuppressed};
  int64_t offset = 0;
  for (const Verdict verdict : verdicts) {
    const auto number = frontier.Add(offset++).number;
    if (verdict != Verdict::kOpen) {
      frontier.Finish(number, verdict);
    }
  }
  const FrontierSnapshot snapshot = frontier.Snapshot(kRoomy);
  EXPECT_EQ(snapshot.map, MapOf({{1, 5}}));
  EXPECT_EQ(snapshot.not_done, MapOf({{1, 2}, {3, 4}}));
}

TEST(Frontier, WhatWasCarriedAsNotDoneIsToldAndCarriedOn) {
  Frontier frontier(64);
  frontier.Start(10, MapOf({{12, 16}}), MapOf({{13, 14}, {15, 16}}), Totals{.applied = 14});
  for (int64_t offset = 10; offset < 16; offset++) {
    const auto place = frontier.Add(offset);
    EXPECT_EQ(place.not_done, offset == 13 || offset == 15) << offset;
    if (offset != 10) {
      frontier.Finish(place.number, offset == 11 ? Verdict::kRejected : Verdict::kCarried);
    }
  }
  const FrontierSnapshot snapshot = frontier.Snapshot(kRoomy);
  EXPECT_EQ(snapshot.map, MapOf({{11, 16}}));
  EXPECT_EQ(snapshot.not_done, MapOf({{11, 12}, {13, 14}, {15, 16}}));
}

TEST(Frontier, WhatIsNotDoneUsesTheRoomOfTheMapToo) {
  Frontier frontier(4096);
  frontier.Start(0, {}, {}, {});
  frontier.Add(0);
  for (int64_t offset = 1; offset < 1000; offset++) {
    const auto number = frontier.Add(offset).number;
    if (offset % 4 != 0) {
      frontier.Finish(number, offset % 4 == 2 ? Verdict::kRejected : Verdict::kApplied);
    }
  }
  constexpr size_t kRoom = 100;
  const FrontierSnapshot cut = frontier.Snapshot(kRoom);
  EXPECT_TRUE(cut.cut);
  EXPECT_FALSE(cut.not_done.empty());
  EXPECT_LE(cut.map.Encode(0).size() + cut.not_done.Encode(0).size(), kRoom);
  EXPECT_EQ(cut.totals.sum(), cut.map.count());
  EXPECT_EQ(cut.totals.rejected, cut.not_done.count());
}

TEST(Frontier, ManyRefusedInOneRunShortenTheMapAndDoNotEmptyIt) {
  Frontier frontier(8192);
  frontier.Start(0, {}, {}, {});
  frontier.Add(0);
  for (int64_t offset = 1; offset < 6000; offset++) {
    frontier.Finish(frontier.Add(offset).number,
                    offset % 2 == 0 ? Verdict::kRejected : Verdict::kApplied);
  }
  constexpr size_t kRoom = 2'900;
  const FrontierSnapshot cut = frontier.Snapshot(kRoom);
  EXPECT_TRUE(cut.cut);
  EXPECT_GT(cut.map.count(), 500);
  EXPECT_LE(cut.map.Encode(0).size() + cut.not_done.Encode(0).size(), kRoom);
  EXPECT_EQ(cut.totals.sum(), cut.map.count());
  EXPECT_EQ(cut.totals.rejected, cut.not_done.count());
}

TEST(Frontier, ARunOfRefusedOnesTakesTheRoomOfOneRange) {
  Frontier frontier(8192);
  frontier.Start(0, {}, {}, {});
  frontier.Add(0);
  for (int64_t offset = 1; offset < 6000; offset++) {
    frontier.Finish(frontier.Add(offset).number, Verdict::kRejected);
  }
  const FrontierSnapshot whole = frontier.Snapshot(32);
  EXPECT_FALSE(whole.cut);
  EXPECT_EQ(whole.not_done, MapOf({{1, 6000}}));
}

TEST(Frontier, CarriedRangesSurviveACut) {
  Frontier frontier(4096);
  frontier.Start(0, MapOf({{100, 110}}), {}, Totals{.applied = 10});
  for (int64_t offset = 0; offset < 100; offset++) {
    const auto number = frontier.Add(offset).number;
    if (offset % 2 == 1) {
      frontier.Finish(number, Verdict::kApplied);
    }
  }
  const FrontierSnapshot cut = frontier.Snapshot(8);
  EXPECT_TRUE(cut.cut);
  EXPECT_TRUE(cut.map.Contains(105));
  EXPECT_EQ(cut.totals.sum(), cut.map.count());
}

TEST(Frontier, RoomIsTheSpanLessWhatLiesAboveIt) {
  Frontier frontier = At(0, 4);
  std::vector<uint32_t> numbers;
  for (int64_t offset = 0; offset < 4; offset++) {
    numbers.push_back(frontier.Add(offset).number);
  }
  EXPECT_EQ(frontier.room(), 0u);
  frontier.Finish(numbers[3], Verdict::kApplied);
  frontier.Advance();
  EXPECT_EQ(frontier.room(), 0u) << "a hole at the bottom holds the span";
  frontier.Finish(numbers[0], Verdict::kApplied);
  frontier.Advance();
  EXPECT_EQ(frontier.room(), 1u);
  EXPECT_EQ(frontier.offset(), 1);
}

}  // namespace
}  // namespace oncemq
