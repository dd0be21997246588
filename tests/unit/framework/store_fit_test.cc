// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/store_fit.h"

#include <gtest/gtest.h>

#include <limits>

namespace oncemq {
namespace {

constexpr uint64_t kOurs = 7;

// The group's commit at `start`, made on top of the store `incarnation`; the log is [0, 1000).
Assignment Committed(int64_t start, uint64_t incarnation = kOurs) {
  Assignment assignment;
  assignment.history = History::kOurs;
  assignment.log = {0, 1'000};
  assignment.facts.start = assignment.facts.read_from = start;
  assignment.facts.metadata.incarnation = incarnation;
  assignment.facts.metadata.top = start;
  assignment.facts.metadata.totals.applied = start;
  return assignment;
}

StoreKnowledge StoreAt(int64_t from, int64_t to) {
  CommitMetadata metadata;
  metadata.incarnation = kOurs;
  metadata.top = to;
  metadata.totals.applied = to;
  StoreKnowledge known;
  known.from = from;
  known.to = known.offset = to;
  known.metadata = EncodeCommit(metadata, to);
  known.incarnation = 9;
  known.earlier = {kOurs};
  return known;
}

StoreKnowledge EmptyStore() {
  StoreKnowledge known;
  known.incarnation = 9;
  return known;
}

constexpr StoreRules kGuarded{.level = Level::kGuarded, .catch_up = 100};
constexpr StoreRules kAtomic{.level = Level::kAtomic, .catch_up = 100};

TEST(FitStore, AGroupAndAStoreThatBeginTogetherFit) {
  Assignment fresh;
  fresh.log = {0, 1'000};
  fresh.facts.start = fresh.facts.read_from = 40;
  for (const StoreRules& rules : {kGuarded, kAtomic}) {
    Assignment assignment = fresh;
    ASSERT_TRUE(FitStore(EmptyStore(), rules, assignment));
    EXPECT_EQ(assignment.facts.read_from, 40);
    EXPECT_EQ(assignment.facts.known_from, 40);
    EXPECT_EQ(assignment.facts.incarnation, 9u) << "commits carry it from now on";
  }
}

// Compaction shows nowhere, so that a store that is behind cannot count on the log (rule 6).
TEST(FitStore, ACompactedLogCompletesNoStore) {
  Assignment behind = Committed(500);
  behind.log.compacted = true;
  Assignment again = behind;
  StoreRules rules = kGuarded;
  rules.catch_up = 1'000;
  const Status fits = FitStore(StoreAt(0, 450), rules, behind);
  ASSERT_FALSE(fits);
  EXPECT_NE(fits.error().message.find("compacted"), std::string::npos) << fits.error().message;
  rules.run_incomplete = true;
  ASSERT_TRUE(FitStore(StoreAt(0, 450), rules, again));
  EXPECT_EQ(again.facts.known_from, 500) << "it may know less than it has read";
  Assignment complete = Committed(500);
  complete.log.compacted = true;
  EXPECT_TRUE(FitStore(StoreAt(0, 500), kGuarded, complete));
}

// Its claims of handlers that ran may be gone, so that the handler has to be told of each suspect
// (rule 11).
TEST(FitStore, OnlyAStoreThatHasLostNothingKnowsTheHandlersThatRan) {
  for (const bool lost_writes : {false, true}) {
    Assignment assignment = Committed(500);
    assignment.facts.metadata.inherited = 510;
    assignment.store_lost_writes = lost_writes;
    StoreRules rules = kGuarded;
    rules.level = Level::kOpaque;
    ASSERT_TRUE(FitStore(StoreAt(0, 500), rules, assignment));
    EXPECT_EQ(assignment.facts.reported_below, lost_writes ? INT64_MAX : 510);
    EXPECT_EQ(assignment.missing_ids, lost_writes);
  }
}

TEST(FitStore, AStoreWhoseClaimsEndWithTheirProcessKnowsNoHandlersThatRan) {
  Assignment assignment = Committed(500);
  assignment.facts.metadata.inherited = 510;
  StoreRules rules = kGuarded;
  rules.level = Level::kOpaque;
  rules.keeps_claims = false;
  ASSERT_TRUE(FitStore(StoreAt(0, 500), rules, assignment));
  EXPECT_EQ(assignment.facts.reported_below, INT64_MAX);
  EXPECT_EQ(assignment.facts.read_from, 500) << "what is finished it knows";
}

TEST(FitStore, AStoreThatKnowsAllBelowTheCommitNeedsNoReading) {
  Assignment assignment = Committed(500);
  assignment.facts.metadata.since = 20;
  ASSERT_TRUE(FitStore(StoreAt(20, 500), kGuarded, assignment));
  EXPECT_EQ(assignment.facts.read_from, 500);
  EXPECT_EQ(assignment.facts.known_from, 20);
  EXPECT_EQ(assignment.notice, "");
}

// Rule 11: the store of the very owner has its claims; another one, or one that has lost ids that
// the commit calls finished, does not.
TEST(FitStore, OnlyAStoreThatHasAllMarkersKnowsWhatItsOwnerHadBegun) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  Assignment same = Committed(500);
  same.facts.metadata.inherited = 510;
  ASSERT_TRUE(FitStore(StoreAt(0, 500), kGuarded, same));
  EXPECT_EQ(same.facts.reported_below, 510);
  Assignment behind = Committed(500);
  ASSERT_TRUE(FitStore(StoreAt(0, 450), kGuarded, behind));
  EXPECT_EQ(behind.facts.reported_below, kAll);
  EXPECT_TRUE(behind.missing_ids);
  StoreRules all = kGuarded;
  all.catch_up = 1'000;
  Assignment foreign = Committed(500, /*incarnation=*/12);
  ASSERT_TRUE(FitStore(StoreAt(0, 500), all, foreign));
  EXPECT_EQ(foreign.facts.reported_below, kAll);
}

// `incomplete: run` was allowed once; who has taken it back would not know otherwise (rule 6).
TEST(FitStore, WhatAnEarlierAssignmentWentOnWithoutIsSaidAtEachOne) {
  for (const int64_t to : {500, 450}) {
    Assignment assignment = Committed(500);
    ASSERT_TRUE(FitStore(StoreAt(20, to), kGuarded, assignment));
    EXPECT_EQ(assignment.facts.known_from, 20);
    EXPECT_NE(assignment.notice.find("[0, 20)"), std::string::npos) << assignment.notice;
  }
}

TEST(FitStore, AnAnnouncementWhoseCommitNeverLandedChangesNothing) {
  Assignment assignment = Committed(480);
  ASSERT_TRUE(FitStore(StoreAt(20, 500), kGuarded, assignment));
  EXPECT_EQ(assignment.facts.start, 480);
  EXPECT_EQ(assignment.facts.read_from, 480);
  Assignment atomic = Committed(480);
  ASSERT_TRUE(FitStore(StoreAt(20, 500), kAtomic, atomic));
  EXPECT_EQ(atomic.facts.start, 480) << "what comes again has its marker";
}

TEST(FitStore, WhatTheStoreHasLostIsReadAgainWhereEffectsLiveElsewhere) {
  Assignment assignment = Committed(500);
  ASSERT_TRUE(FitStore(StoreAt(20, 450), kGuarded, assignment));
  EXPECT_EQ(assignment.facts.start, 500);
  EXPECT_EQ(assignment.facts.read_from, 450);
  EXPECT_EQ(assignment.facts.known_from, 20) << "without a gap";
}

TEST(FitStore, WhatTheStoreHasLostIsHandledAgainWhereEffectsLiveInIt) {
  Assignment assignment = Committed(500);
  ASSERT_TRUE(FitStore(StoreAt(20, 450), kAtomic, assignment));
  EXPECT_EQ(assignment.facts.start, 450);
  EXPECT_EQ(assignment.facts.read_from, 450);
  EXPECT_EQ(assignment.facts.metadata.totals.applied, 450) << "the store's own count";
  EXPECT_EQ(assignment.facts.metadata.top, 500) << "the highest that was ever committed stays";
  EXPECT_NE(assignment.notice.find("offset 450"), std::string::npos) << assignment.notice;
  EXPECT_NE(assignment.notice.find("offset 500"), std::string::npos) << assignment.notice;
}

// A stuck head: offset and commit stay, the map grows. What was lost of it is in no offset.
TEST(FitStore, AtLevelAtomicTheStoresMapCountsAndNotTheCommits) {
  Assignment assignment = Committed(500);
  assignment.facts.metadata.map.Append(510, 520);
  ASSERT_TRUE(FitStore(StoreAt(20, 500), kAtomic, assignment));
  EXPECT_EQ(assignment.facts.start, 500);
  EXPECT_TRUE(assignment.facts.metadata.map.empty());
}

TEST(FitStore, AnotherStoresCommitIsNoContinuation) {
  Assignment guarded = Committed(90, 8);
  ASSERT_TRUE(FitStore(StoreAt(20, 500), kGuarded, guarded));
  EXPECT_EQ(guarded.facts.read_from, 0) << "its own word counts for nothing";
  EXPECT_EQ(guarded.facts.known_from, 0);
  EXPECT_NE(guarded.notice.find("another store"), std::string::npos);
  Assignment atomic = Committed(90, 8);
  const Status refused = FitStore(StoreAt(20, 500), kAtomic, atomic);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another store"), std::string::npos);
}

TEST(FitStore, AnEmptyStoreUnderACommitIsCompletedOrRefused) {
  Assignment guarded = Committed(90, 0);
  ASSERT_TRUE(FitStore(EmptyStore(), kGuarded, guarded));
  EXPECT_EQ(guarded.facts.read_from, 0);
  Assignment atomic = Committed(90, 0);
  EXPECT_FALSE(FitStore(EmptyStore(), kAtomic, atomic)) << "its effects are somewhere else";
  Assignment confirmed = Committed(0, 0);
  EXPECT_TRUE(FitStore(EmptyStore(), kAtomic, confirmed)) << "nothing was ever handled";
  Assignment reset = Committed(500, 8);  // an operator's reset, confirmed by another store
  reset.facts.metadata.totals = {};
  EXPECT_FALSE(FitStore(EmptyStore(), kAtomic, reset)) << "which may have effects from before it";
}

TEST(FitStore, AStoreThatLostAllOfItsOwnEffectsHandlesThemAgain) {
  StoreKnowledge known = EmptyStore();
  known.earlier = {kOurs};
  Assignment assignment = Committed(90);
  assignment.facts.metadata.since = 10;
  assignment.facts.metadata.map.Append(95, 97);
  ASSERT_TRUE(FitStore(known, kAtomic, assignment));
  EXPECT_EQ(assignment.facts.start, 10);
  EXPECT_EQ(assignment.facts.metadata.totals.sum(), 0);
  EXPECT_TRUE(assignment.facts.metadata.map.empty());
  EXPECT_EQ(assignment.facts.metadata.top, 90);
  Assignment gone = Committed(90);
  gone.facts.metadata.since = 10;
  gone.log.start = 11;
  EXPECT_FALSE(FitStore(known, kAtomic, gone)) << "message 10 is in no log any more";
}

// Where the announcement is from before an operator's reset, nothing that came after it is known.
TEST(FitStore, AnAnnouncementFromBeforeAResetIsNotBelieved) {
  for (const int64_t announced : {80, 200}) {
    Assignment assignment = Committed(90);
    assignment.facts.metadata.since = 50;
    assignment.facts.metadata.optional.on_record = {.from = 50, .refused = 1};
    ASSERT_TRUE(FitStore(StoreAt(0, announced), kAtomic, assignment));
    EXPECT_EQ(assignment.facts.start, 50) << announced;
    EXPECT_EQ(assignment.facts.metadata.totals.sum(), 0);
    EXPECT_EQ(assignment.facts.metadata.optional.on_record, std::nullopt) << "it counts anew";
  }
}

TEST(FitStore, WithRefusedMessagesAnEmptyStoreIsCompletedWhereTheParkTopicTellsThem) {
  Assignment committed = Committed(90);
  committed.facts.metadata.totals.parked = 1;
  committed.facts.metadata.optional.on_record = {.from = 0, .refused = 1};
  Assignment unread = committed;
  EXPECT_FALSE(FitStore(EmptyStore(), kGuarded, unread));
  StoreRules rules = kGuarded;
  rules.reads_park = true;
  ASSERT_TRUE(FitStore(EmptyStore(), rules, committed));
  EXPECT_EQ(committed.facts.read_from, 0);
  EXPECT_EQ(committed.facts.known_from, 0);
}

TEST(FitStore, WhatTheBudgetDoesNotReachStopsItOrIsSaid) {
  Assignment strict = Committed(500, 8);
  const Status refused = FitStore(StoreAt(20, 500), kGuarded, strict);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("below offset 400"), std::string::npos);
  StoreRules lax = kGuarded;
  lax.run_incomplete = true;
  Assignment assignment = Committed(500, 8);
  ASSERT_TRUE(FitStore(StoreAt(20, 500), lax, assignment));
  EXPECT_EQ(assignment.facts.known_from, 400);
  EXPECT_NE(assignment.notice.find("will run again"), std::string::npos);
}

// Where the policy passes over what is gone from the log, the commit at `start` lies below it.
Assignment Overtaken(int64_t start) {
  Assignment assignment = Committed(start);
  assignment.log.start = 700;
  return assignment;
}

TEST(FitStore, WhatNobodyHandledAndIsGoneIsSkippedAndTheStoreGoesOn) {
  for (const StoreRules& rules : {kGuarded, kAtomic}) {
    Assignment assignment = Overtaken(500);
    ASSERT_TRUE(FitStore(StoreAt(100, 500), rules, assignment));
    BeginInLog(assignment);
    EXPECT_EQ(assignment.facts.start, 700);
    EXPECT_EQ(assignment.facts.read_from, 700);
    EXPECT_EQ(assignment.facts.known_from, 100) << "it forgets nothing";
    EXPECT_EQ(assignment.facts.metadata.totals.skipped, 200);
    EXPECT_EQ(assignment.facts.metadata.totals.applied, 500);
  }
}

TEST(FitStore, WhatWasAnnouncedIsNotSkippedThoughItsCommitNeverLanded) {
  for (const StoreRules& rules : {kGuarded, kAtomic}) {
    Assignment assignment = Overtaken(500);
    ASSERT_TRUE(FitStore(StoreAt(100, 600), rules, assignment));
    BeginInLog(assignment);
    EXPECT_EQ(assignment.facts.start, 700);
    EXPECT_EQ(assignment.facts.metadata.totals.applied, 600);
    EXPECT_EQ(assignment.facts.metadata.totals.skipped, 100);
  }
  Assignment beyond = Overtaken(500);
  ASSERT_TRUE(FitStore(StoreAt(100, 800), kAtomic, beyond));
  BeginInLog(beyond);
  EXPECT_EQ(beyond.facts.start, 800) << "nothing was passed over";
  EXPECT_EQ(beyond.facts.metadata.totals.skipped, 0);
}

TEST(FitStore, WhatAStoreHasLostAndTheLogDroppedIsNoMatterForThePolicy) {
  Assignment assignment = Overtaken(500);
  EXPECT_FALSE(FitStore(StoreAt(100, 400), kAtomic, assignment)) << "effects are lost";
  assignment = Overtaken(500);
  EXPECT_FALSE(FitStore(StoreAt(100, 400), kGuarded, assignment)) << "copies would run again";
}

TEST(FitStore, AnOperatorsResetBelowTheLogKeepsWhatTheStoreKnows) {
  for (const StoreRules& rules : {kGuarded, kAtomic}) {
    Assignment assignment = Overtaken(300);
    assignment.history = History::kForeign;
    ASSERT_TRUE(FitStore(StoreAt(100, 500), rules, assignment));
    BeginInLog(assignment);
    EXPECT_EQ(assignment.facts.start, 700);
    EXPECT_EQ(assignment.facts.known_from, 100);
    EXPECT_EQ(assignment.facts.metadata.since, 700);
  }
}

TEST(FitStore, AStoreWithoutACommitIsNoFreshStart) {
  Assignment fresh;
  fresh.log = {0, 1'000};
  EXPECT_FALSE(FitStore(StoreAt(0, 10), kGuarded, fresh));
}

// A process that dies between its first announcement and the commit leaves a store behind that
// nothing came of: no incident for a person.
TEST(FitStore, AFirstCommitThatNeverLandedIsNoIncident) {
  StoreKnowledge begun = StoreAt(40, 40);
  CommitMetadata metadata;
  metadata.since = metadata.top = 40;
  begun.metadata = EncodeCommit(metadata, 40);
  for (const StoreRules& rules : {kGuarded, kAtomic}) {
    Assignment fresh;
    fresh.log = {0, 1'000};
    fresh.facts.start = fresh.facts.read_from = 900;  // the start policy says `latest`
    ASSERT_TRUE(FitStore(begun, rules, fresh));
    EXPECT_EQ(fresh.facts.start, 40) << "what was to be handled first is not passed over";
    EXPECT_EQ(fresh.facts.read_from, 40);
    EXPECT_EQ(fresh.facts.known_from, 40);
    EXPECT_EQ(fresh.facts.metadata.since, 40);
    fresh.log.start = 41;
    EXPECT_FALSE(FitStore(begun, rules, fresh)) << "that is gone from the log";
  }
}

// An older commit that lands late: what was announced since was finished, and may be forgotten by
// age since its commit was acknowledged.
TEST(FitStore, WhatWasAnnouncedIsNoFirstDelivery) {
  for (const StoreRules& rules : {kGuarded, kAtomic}) {
    Assignment assignment = Committed(480);
    ASSERT_TRUE(FitStore(StoreAt(20, 500), rules, assignment));
    EXPECT_EQ(assignment.facts.metadata.top, 500);
  }
  StoreRules lax = kGuarded;
  lax.run_incomplete = true;
  Assignment another = Committed(480, 8);
  ASSERT_TRUE(FitStore(StoreAt(20, 500), lax, another));
  EXPECT_EQ(another.facts.metadata.top, 480) << "another store's word counts for nothing";
}

// What the store has lost is handled again; a compacted topic may not have it any more.
TEST(FitStore, AtLevelAtomicWhatCompactionMayHaveTakenIsNotPassedInSilence) {
  Assignment behind = Committed(500);
  behind.log.compacted = true;
  EXPECT_FALSE(FitStore(StoreAt(0, 400), kAtomic, behind));
  Assignment lost = Committed(500);
  lost.log.compacted = true;
  StoreKnowledge empty = EmptyStore();
  empty.earlier = {kOurs};
  EXPECT_FALSE(FitStore(empty, kAtomic, lost));
  Assignment whole = Committed(500);
  whole.log.compacted = true;
  EXPECT_TRUE(FitStore(StoreAt(0, 500), kAtomic, whole));
}

TEST(FitStore, AStoreBeyondTheLogIsOfAnotherLog) {
  Assignment assignment = Committed(500);
  assignment.log.end = 600;
  EXPECT_FALSE(FitStore(StoreAt(20, 601), kGuarded, assignment));
  EXPECT_TRUE(FitStore(StoreAt(20, 600), kGuarded, assignment));
}

TEST(FitStore, AnOperatorsResetKeepsWhatTheStoreKnows) {
  Assignment back = Committed(200, 0);
  back.history = History::kForeign;
  ASSERT_TRUE(FitStore(StoreAt(20, 500), kAtomic, back));
  EXPECT_EQ(back.facts.start, 200);
  EXPECT_EQ(back.facts.known_from, 20);
  Assignment ahead = Committed(600, 0);
  ahead.history = History::kForeign;
  EXPECT_FALSE(FitStore(StoreAt(20, 500), kAtomic, ahead)) << "[500, 600) would never be handled";
  ASSERT_TRUE(FitStore(StoreAt(20, 500), kGuarded, ahead));
  EXPECT_EQ(ahead.facts.known_from, 600) << "nobody knows what became of the rest";
}

TEST(FitStore, AtLevelAtomicWhatIsLostMustStillBeInTheLog) {
  Assignment assignment = Committed(500);
  assignment.log.start = 460;
  EXPECT_FALSE(FitStore(StoreAt(20, 450), kAtomic, assignment));
}

}  // namespace
}  // namespace oncemq
