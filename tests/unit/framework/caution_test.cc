// SPDX-License-Identifier: Apache-2.0
#include "caution.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr int64_t kStart = 100;
constexpr uint32_t kDeaths = 3;

class CautionTest : public ::testing::Test {
 protected:
  static CoreOptions Counting() {
    CoreOptions options;
    options.refusals.deaths = kDeaths;
    return options;
  }
  // The commit that a dead owner has left.
  static AssignFacts Dead(const DeathNotes& notes = {}, int64_t start = kStart) {
    AssignFacts facts;
    facts.start = start;
    facts.log_end = kStart + 1'000;
    facts.metadata.owner_epoch = 7;
    facts.metadata.reserved = kStart + 64;
    static_cast<DeathNotes&>(facts.metadata) = notes;
    return facts;
  }
  DeathNotes Commit(int64_t frontier = kStart) {
    const DeathNotes notes = caution_.State(frontier, false);
    caution_.Acknowledged(notes);
    return notes;
  }
  bool Suspects(int64_t offset) const { return caution_.Suspects(offset, false); }

  Caution caution_{Counting()};
};

TEST_F(CautionTest, TheFirstUncleanEndBoundsTheNextOwnerAndTheSecondOneMakesSuspects) {
  caution_.Start(Dead(), false);
  EXPECT_TRUE(caution_.bounded());
  EXPECT_FALSE(Suspects(kStart));
  const DeathNotes first = Commit();
  EXPECT_EQ(first.unclean_ends, 1u);
  caution_.Start(Dead(first), false);
  EXPECT_TRUE(Suspects(kStart));
  EXPECT_TRUE(Suspects(kStart + 63));
  EXPECT_FALSE(Suspects(kStart + 64)) << "beyond the bound of the dead owner";
  EXPECT_EQ(caution_.cautious_to(), kStart + 64);
  EXPECT_EQ(Commit().unclean_ends, 2u);
}

TEST_F(CautionTest, SuspectsEndWithTheLog) {
  AssignFacts facts = Dead({.unclean_ends = 1, .cautious_to = kStart + 1});
  facts.log_end = kStart + 2;
  caution_.Start(facts, false);
  EXPECT_TRUE(Suspects(kStart + 1));
  EXPECT_FALSE(Suspects(kStart + 2));
}

TEST_F(CautionTest, WithoutABoundOfTheDeadOwnerNothingIsSuspect) {
  AssignFacts facts = Dead({.unclean_ends = 1, .cautious_to = kStart + 1});
  facts.metadata.reserved.reset();  // an earlier version
  caution_.Start(facts, false);
  EXPECT_FALSE(Suspects(kStart));
  EXPECT_TRUE(caution_.bounded());
}

TEST_F(CautionTest, AFrontierThatHasMovedBeginsAnew) {
  caution_.Start(Dead(), false);
  EXPECT_EQ(Commit(kStart + 1).unclean_ends, 0u);
  EXPECT_FALSE(caution_.bounded());
  caution_.Start(Dead({.unclean_ends = 1, .cautious_to = kStart + 1}, kStart + 1), false);
  EXPECT_EQ(Commit(kStart + 1).unclean_ends, 1u);
}

TEST_F(CautionTest, TheBoundHoldsUntilTheMoveIsAcknowledged) {
  caution_.Start(Dead(), false);
  const DeathNotes notes = caution_.State(kStart + 1, false);
  EXPECT_FALSE(caution_.states_bound());
  EXPECT_TRUE(caution_.bounded());
  caution_.Acknowledged(notes);
  EXPECT_FALSE(caution_.bounded());
}

TEST_F(CautionTest, OnlyTheEndOfAnotherProcessThatCommittedIsADeath) {
  AssignFacts fresh = Dead();
  fresh.metadata.owner_epoch = 0;
  caution_.Start(fresh, false);
  EXPECT_FALSE(caution_.bounded());
  caution_.Start(Dead(), true);
  EXPECT_FALSE(caution_.bounded()) << "this process lives";
  AssignFacts clean = Dead({.unclean_ends = 5, .cautious_to = kStart + 9, .alone = kStart});
  clean.metadata.clean = true;
  caution_.Start(clean, false);
  EXPECT_FALSE(caution_.bounded());
  EXPECT_FALSE(Suspects(kStart));
}

TEST_F(CautionTest, ADeathCountsForTheMessageThatWasAloneAndForNoOther) {
  const DeathNotes alone{.unclean_ends = 2, .cautious_to = kStart + 64, .alone = kStart + 5};
  caution_.Start(Dead(alone), false);
  const DeathNotes notes = Commit();
  EXPECT_EQ(notes.killers, (std::vector<DeathNotes::Killer>{{kStart + 5, 1}}));
  EXPECT_FALSE(notes.alone) << "another owner's";
  EXPECT_EQ(notes.unclean_ends, 2u) << "the death is explained";
  EXPECT_EQ(notes.cautious_to, kStart + 64);
}

TEST_F(CautionTest, AKillerIsSuspectUntilItsDeathsAreEnough) {
  DeathNotes notes{.alone = kStart + 5};
  for (uint32_t death = 1; death <= kDeaths; death++) {
    caution_.Start(Dead(notes), false);
    EXPECT_EQ(Suspects(kStart + 5), death < kDeaths);
    EXPECT_FALSE(Suspects(kStart + 4));
    EXPECT_EQ(caution_.Killed(kStart + 5), death < kDeaths ? 0 : kDeaths);
    notes = Commit();
    notes.alone = kStart + 5;
  }
  caution_.Left(kStart + 5);
  EXPECT_TRUE(Commit().killers.empty());
}

TEST_F(CautionTest, ACallThatReturnedTakesItsMessageOutOfTheSuspects) {
  caution_.Start(Dead({.unclean_ends = 1, .cautious_to = kStart + 1, .killers = {{kStart, 2}}}),
                 false);
  caution_.Left(kStart);
  EXPECT_FALSE(Suspects(kStart));
  EXPECT_TRUE(Commit().killers.empty());
  EXPECT_TRUE(Suspects(kStart + 1));
}

TEST_F(CautionTest, RedrivenMessagesOfACautiousPartitionAreSuspects) {
  caution_.Start(Dead(), false);
  EXPECT_FALSE(caution_.Suspects(3, true));
  caution_.Start(Dead(Commit()), false);
  EXPECT_TRUE(caution_.Suspects(3, true));
  caution_.Left(3);
  EXPECT_FALSE(caution_.Suspects(3, true));
}

TEST_F(CautionTest, AMessageIsTriedOnceAnAcknowledgedCommitNamesIt) {
  caution_.Start(Dead(), false);
  caution_.Try(kStart);
  EXPECT_TRUE(caution_.WantsCommit());
  const DeathNotes notes = caution_.State(kStart, false);
  EXPECT_EQ(notes.alone, kStart);
  EXPECT_FALSE(caution_.Tries(kStart));
  caution_.Acknowledged(notes);
  EXPECT_TRUE(caution_.Tries(kStart));
  EXPECT_FALSE(caution_.WantsCommit());
  caution_.Try(kStart + 1);
  EXPECT_FALSE(caution_.Tries(kStart + 1));
}

TEST_F(CautionTest, ANameIsTakenBackByAnAcknowledgedCommit) {
  caution_.Start(Dead(), false);
  caution_.Try(kStart);
  EXPECT_EQ(caution_.State(kStart, false).alone, kStart);  // and no answer comes
  caution_.Try(std::nullopt);
  EXPECT_TRUE(caution_.names()) << "perhaps it was stored";
  EXPECT_TRUE(caution_.WantsCommit());
  Commit();
  EXPECT_FALSE(caution_.names());
  EXPECT_FALSE(caution_.WantsCommit());
}

TEST_F(CautionTest, TheLastCommitNamesNothing) {
  caution_.Start(Dead(), false);
  caution_.Try(kStart);
  const DeathNotes last = caution_.State(kStart, true);
  EXPECT_FALSE(last.alone);
  EXPECT_EQ(last.unclean_ends, 0u);
}

TEST_F(CautionTest, AFullListOfKillersKeepsThemButThoseBelowTheFrontier) {
  DeathNotes notes;
  for (int64_t i = 0; i < 12; i++) {
    notes.alone = kStart + i;
    caution_.Start(Dead(notes), false);
    notes = Commit();
  }
  ASSERT_EQ(notes.killers.size(), kMaxKillers);
  EXPECT_EQ(notes.killers.front(), (DeathNotes::Killer{kStart, 1}));
  EXPECT_EQ(notes.killers.back(), (DeathNotes::Killer{kStart + 7, 1}));
  notes.alone = kStart + 20;
  caution_.Start(Dead(notes, kStart + 1), false);
  notes = Commit(kStart + 1);
  EXPECT_EQ(notes.killers.front(), (DeathNotes::Killer{kStart + 1, 1}));
  EXPECT_EQ(notes.killers.back(), (DeathNotes::Killer{kStart + 20, 1}));
}

TEST_F(CautionTest, SwitchedOffItForgets) {
  Caution off{CoreOptions()};
  off.Start(Dead({.unclean_ends = 2, .cautious_to = kStart + 9, .killers = {{kStart, 3}}}), false);
  EXPECT_FALSE(off.on());
  EXPECT_FALSE(off.bounded());
  EXPECT_EQ(off.State(kStart, false), DeathNotes());
}

}  // namespace
}  // namespace oncemq
