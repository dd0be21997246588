// SPDX-License-Identifier: Apache-2.0
// What is parked, by the records of a park topic in their order.
#include "park_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kKey = 7;
constexpr uint64_t kOther = 8;

class ParkBookTest : public ::testing::Test {
 protected:
  // Its place.
  int64_t Write(ParkRecord record, std::optional<uint64_t> key = kKey) {
    record.place = book_.next();
    book_.Apply(record, key);
    return record.place;
  }
  int64_t Park(int64_t offset, std::optional<uint64_t> key = kKey) {
    return Write({.kind = ParkKind::kParked, .offset = offset}, key);
  }
  int64_t Write(ParkKind kind, int64_t offset, OwnerEpoch owner = 0) {
    return Write({.kind = kind, .offset = offset, .owner = owner});
  }
  int64_t Redrive(int64_t offset, const std::string& run = "run") {
    return Write({.kind = ParkKind::kRedrive, .offset = offset, .run = run});
  }

  int64_t Edit(int64_t offset, int64_t replaces, std::optional<uint64_t> key = kKey) {
    return Write({.kind = ParkKind::kEdit, .offset = offset, .replaces = replaces}, key);
  }
  int64_t BodyOf(int64_t offset) const { return book_.entries().at(offset).body; }

  std::vector<int64_t> Open() const {
    std::vector<int64_t> offsets;
    for (const auto& [offset, entry] : book_.entries()) {
      offsets.push_back(offset);
    }
    return offsets;
  }
  std::vector<int64_t> ChainOf(int64_t offset) const {
    std::vector<int64_t> offsets;
    for (const auto& [place, its] : book_.chains().at(book_.entries().at(offset).chain).places) {
      offsets.push_back(its);
    }
    return offsets;
  }
  // All that is due, as a partition reads it.
  std::vector<int64_t> HandOut(bool drop = false) {
    std::vector<int64_t> offsets;
    constexpr size_t kEndless = 100;
    while (const auto place = offsets.size() < kEndless ? book_.FirstDue() : std::nullopt) {
      const auto due = book_.DueAt(*place);
      EXPECT_EQ(due->drop, drop) << due->offset;
      book_.HandOut(due->offset);
      offsets.push_back(due->offset);
    }
    return offsets;
  }
  std::vector<int64_t> Dropped() { return HandOut(true); }

  ParkBook book_;
};

TEST_F(ParkBookTest, ACopyIsTheSameEntryAndTheFirstOneCounts) {
  const int64_t first =
      Write({.kind = ParkKind::kParked, .offset = 5, .first = true, .attempts = 3, .why = "no"});
  Park(6);
  Write({.kind = ParkKind::kFollows, .offset = 5, .attempts = 4, .why = "other"}, kOther);
  EXPECT_THAT(Open(), ElementsAre(5, 6));
  const ParkBook::Entry& entry = book_.entries().at(5);
  EXPECT_EQ(entry.place, first);
  EXPECT_EQ(entry.attempts, 3u);
  EXPECT_EQ(entry.why, "no");
  EXPECT_TRUE(entry.first);
  EXPECT_FALSE(entry.follows);
  EXPECT_THAT(ChainOf(5), ElementsAre(5, 6));
  EXPECT_EQ(book_.next(), 3);
}

TEST_F(ParkBookTest, AnOwnerLearnsTheOffsetsThatAreNotDoneAndHaveNoEntry) {
  Write(ParkKind::kAttached, 9);
  EXPECT_THAT(book_.Parked(INT64_MAX).offsets, IsEmpty());
  book_.KeepOver(4, 4);
  for (const int64_t offset : {2, 3, 4, 5, 6}) {
    Park(offset);
  }
  Write(ParkKind::kDropped, 3);
  Write(ParkKind::kDropped, 5);
  Write(ParkKind::kEnded, 6);
  Write(ParkKind::kOwner, -1, 3);
  Write(ParkKind::kAttached, 2, 3);
  Write(ParkKind::kAttached, 7, 3);
  Write(ParkKind::kAttached, 8, 2);
  EXPECT_THAT(Open(), ElementsAre(2, 4));
  EXPECT_THAT(book_.Parked(INT64_MAX).offsets, ElementsAre(5, 7));
}

TEST_F(ParkBookTest, TheRecordsOfAFormerOwnerCountForNothingOnceTheNextOneHasBegun) {
  Write(ParkKind::kParked, 1, 4);
  Write(ParkKind::kOwner, -1, 6);
  EXPECT_EQ(book_.owner(), 6u);
  Write(ParkKind::kParked, 2, 5);
  Write(ParkKind::kEnded, 1, 5);
  Write(ParkKind::kDropped, 1, 5);
  Write(ParkKind::kAgain, 1, 5);
  Write(ParkKind::kOwner, -1, 5);
  EXPECT_THAT(Open(), ElementsAre(1)) << "written before, it stays";
  EXPECT_EQ(book_.entries().at(1).redrives, 0u);
  EXPECT_EQ(book_.owner(), 6u);
  EXPECT_EQ(book_.next(), 7) << "they have their places";
  Write(ParkKind::kFollows, 3, 6);
  Write(ParkKind::kEnded, 1, 7);
  EXPECT_THAT(Open(), ElementsAre(3));
}

TEST_F(ParkBookTest, RecordsWithoutAnOwnerAlwaysCount) {
  Write(ParkKind::kOwner, -1, 6);
  Park(1);
  Redrive(1);
  EXPECT_EQ(book_.owner(), 6u);
  EXPECT_THAT(HandOut(), ElementsAre(1));
}

TEST_F(ParkBookTest, TheMessagesOfAKeyAreAChainInTheOrderOfTheirParking) {
  Park(9);
  Park(3, kOther);
  Park(4);
  EXPECT_THAT(ChainOf(4), ElementsAre(9, 4));
  EXPECT_THAT(ChainOf(3), ElementsAre(3));
  Redrive(9);
  EXPECT_THAT(HandOut(), ElementsAre(9, 4));
}

TEST_F(ParkBookTest, AMessageWithoutAKeyIsAChainOfItsOwn) {
  Park(static_cast<int64_t>(kKey), std::nullopt);
  Park(2, std::nullopt);
  Park(3, kKey);
  EXPECT_EQ(book_.chains().size(), 3u);
  Redrive(2);
  EXPECT_THAT(HandOut(), ElementsAre(2));
}

TEST_F(ParkBookTest, ARedriveIsForTheFirstOfAChain) {
  Park(1);
  Park(2);
  Redrive(2);
  EXPECT_THAT(HandOut(), IsEmpty());
  Redrive(1);
  EXPECT_THAT(HandOut(), ElementsAre(1, 2));
}

TEST_F(ParkBookTest, WhatIsParkedDuringARedriveIsRedrivenToo) {
  Park(1);
  Redrive(1);
  EXPECT_THAT(HandOut(), ElementsAre(1));
  Write(ParkKind::kFollows, 2);
  EXPECT_THAT(HandOut(), ElementsAre(2));
}

TEST_F(ParkBookTest, AnotherRedriveOfAChainThatIsRedrivenCountsForNothing) {
  Park(1);
  const int64_t command = Redrive(1, "first");
  HandOut();
  book_.TakeBack(1);
  HandOut();
  Redrive(1, "second");
  const ParkBook::Chain& chain = book_.chains().begin()->second;
  EXPECT_EQ(chain.command, command);
  EXPECT_EQ(chain.run, "first");
  EXPECT_THAT(HandOut(), IsEmpty()) << "it is in hand";
}

TEST_F(ParkBookTest, NothingIsHandedOutTwice) {
  Park(1);
  Park(2);
  Redrive(1);
  book_.HandOut(1);
  EXPECT_FALSE(book_.DueAt(0));
  EXPECT_THAT(HandOut(), ElementsAre(2));
  EXPECT_THAT(HandOut(), IsEmpty());
}

TEST_F(ParkBookTest, OneThatIsRefusedAgainEndsTheRedriveAndCounts) {
  Write({.kind = ParkKind::kParked, .offset = 1, .attempts = 3, .why = "no"});
  Park(2);
  Redrive(1);
  EXPECT_THAT(HandOut(), ElementsAre(1, 2));
  Write({.kind = ParkKind::kAgain, .offset = 1, .attempts = 2, .why = "still no"});
  book_.TakeBack(1);
  book_.TakeBack(2);
  EXPECT_THAT(HandOut(), IsEmpty());
  EXPECT_THAT(Open(), ElementsAre(1, 2));
  const ParkBook::Entry& entry = book_.entries().at(1);
  EXPECT_EQ(entry.redrives, 1u);
  EXPECT_EQ(entry.attempts, 5u);
  EXPECT_EQ(entry.why, "still no");
  EXPECT_EQ(book_.entries().at(2).redrives, 0u);
  Redrive(1);
  EXPECT_THAT(HandOut(), ElementsAre(1, 2)) << "from its first one again";
}

TEST_F(ParkBookTest, TheLastOneThatEndsTakesTheChainAlong) {
  for (const ParkKind kind : {ParkKind::kEnded, ParkKind::kDropped}) {
    Park(1);
    Park(2);
    Redrive(1);
    HandOut();
    Write(kind, 1);
    EXPECT_THAT(ChainOf(2), ElementsAre(2));
    Write(kind, 2);
    EXPECT_TRUE(book_.entries().empty());
    EXPECT_TRUE(book_.chains().empty());
    book_.TakeBack(1);
    book_.TakeBack(2);
    EXPECT_THAT(HandOut(), IsEmpty());
  }
}

TEST_F(ParkBookTest, ADropIsHandedOutAlone) {
  Park(1);
  Park(2);
  Write(ParkKind::kDrop, 2);
  EXPECT_THAT(Dropped(), ElementsAre(2));
  EXPECT_TRUE(book_.Wants(2));
  EXPECT_FALSE(book_.Wants(1));
  Write(ParkKind::kDropped, 2);
  book_.TakeBack(2);
  EXPECT_THAT(Dropped(), IsEmpty());
  EXPECT_THAT(Open(), ElementsAre(1));
}

TEST_F(ParkBookTest, ADropWaitsForTheRedriveAndForWhatIsInHand) {
  Park(1);
  Park(2);
  Redrive(1);
  HandOut();
  Write(ParkKind::kDrop, 2);
  EXPECT_THAT(Dropped(), IsEmpty());
  Write(ParkKind::kAgain, 1);
  EXPECT_THAT(Dropped(), IsEmpty()) << "they are in hand";
  book_.TakeBack(1);
  EXPECT_THAT(Dropped(), IsEmpty());
  book_.TakeBack(2);
  EXPECT_THAT(Dropped(), ElementsAre(2));
}

TEST_F(ParkBookTest, AMiddleMessageIsDroppedAndTheChainRedrivenFromItsFirst) {
  Park(1);
  Park(2);
  Park(3);
  Write(ParkKind::kDrop, 2);
  EXPECT_THAT(Dropped(), ElementsAre(2));
  Redrive(1);
  EXPECT_THAT(HandOut(), IsEmpty()) << "a later one is in hand";
  Write(ParkKind::kDropped, 2);
  book_.TakeBack(2);
  EXPECT_THAT(HandOut(), ElementsAre(1, 3));
}

TEST_F(ParkBookTest, ACancelEndsTheRedrivesOfItsRunAlone) {
  Park(1);
  Park(2);
  Park(3, kOther);
  Redrive(1, "ours");
  Redrive(3, "theirs");
  book_.HandOut(1);
  Write({.kind = ParkKind::kCancel, .run = "ours"});
  EXPECT_FALSE(book_.Wants(1));
  EXPECT_THAT(HandOut(), ElementsAre(3));
  EXPECT_TRUE(book_.Wants(3));
  book_.TakeBack(1);
  EXPECT_THAT(HandOut(), IsEmpty());
  Redrive(1);
  EXPECT_THAT(HandOut(), ElementsAre(1, 2));
}

TEST_F(ParkBookTest, WhatIsTakenBackIsHandedOutAgainInItsOrder) {
  Park(1);
  Park(2);
  Park(3);
  Redrive(1);
  HandOut();
  book_.TakeBack(1);
  book_.TakeBack(3);
  EXPECT_THAT(HandOut(), IsEmpty()) << "a later one is in hand still";
  book_.TakeBack(2);
  EXPECT_THAT(HandOut(), ElementsAre(1, 2, 3));
}

TEST_F(ParkBookTest, TheLastOneThatIsTakenBackComesAgainAlone) {
  Park(1);
  Park(2);
  Redrive(1);
  HandOut();
  book_.TakeBack(2);
  book_.TakeBack(7);  // never handed out
  EXPECT_THAT(HandOut(), ElementsAre(2));
}

TEST_F(ParkBookTest, ARedriveReadsTheEditedBodyInTheOrderOfTheKey) {
  const int64_t head = Park(1);
  const int64_t follower = Park(2);
  Park(3);
  const int64_t of_follower = Edit(2, follower);
  const int64_t of_head = Edit(1, head);
  EXPECT_EQ(BodyOf(1), of_head);
  EXPECT_EQ(book_.entries().at(1).place, head) << "the chain is in its order";
  Redrive(1);
  EXPECT_EQ(book_.FirstDue(), of_head);
  book_.HandOut(1);
  EXPECT_EQ(book_.FirstDue(), of_follower);
  EXPECT_THAT(HandOut(), ElementsAre(2, 3));
}

TEST_F(ParkBookTest, OfTwoEditsOfOneBodyTheFirstCounts) {
  const int64_t place = Park(1);
  const int64_t first = Edit(1, place);
  Edit(1, place);
  EXPECT_EQ(BodyOf(1), first);
  Edit(1, -1);
  EXPECT_EQ(BodyOf(1), first);
  const int64_t next = Edit(1, first);
  EXPECT_EQ(BodyOf(1), next);
}

TEST_F(ParkBookTest, AMessageThatMayBeInHandIsNotEdited) {
  const int64_t place = Park(1);
  const int64_t follower = Park(2);
  Redrive(1);
  Edit(1, place);
  Edit(2, follower);
  EXPECT_EQ(BodyOf(1), place);
  EXPECT_EQ(BodyOf(2), follower);
  Write(ParkKind::kAgain, 1);
  EXPECT_EQ(BodyOf(2), follower) << "void for ever";
  const int64_t edited = Edit(1, place);
  EXPECT_EQ(BodyOf(1), edited);
}

TEST_F(ParkBookTest, AMessageOfACancelledRedriveIsNotEditedBeforeItsOutcomeOrTheNextOwner) {
  const int64_t place = Park(1);
  for (const ParkKind over : {ParkKind::kAgain, ParkKind::kOwner}) {
    const int64_t body = BodyOf(1);
    Redrive(1);
    Write({.kind = ParkKind::kCancel, .run = "run"});
    Edit(1, body);
    EXPECT_EQ(BodyOf(1), body) << "its handler may run";
    Write({.kind = over, .offset = 1});
    const int64_t edited = Edit(1, body);
    EXPECT_EQ(BodyOf(1), edited);
  }
  EXPECT_EQ(book_.entries().at(1).place, place);
}

TEST_F(ParkBookTest, WhatHasEndedOrIsToBeDroppedIsNotEdited) {
  const int64_t place = Park(1);
  const int64_t other = Park(2);
  Write(ParkKind::kDrop, 1);
  Edit(1, place);
  EXPECT_EQ(BodyOf(1), place);
  const int64_t edited = Edit(2, other);
  EXPECT_EQ(BodyOf(2), edited) << "only the other one is dropped";
  EXPECT_THAT(Dropped(), ElementsAre(1));
  Write(ParkKind::kDropped, 1);
  Edit(1, place);
  EXPECT_THAT(Open(), ElementsAre(2));
  EXPECT_FALSE(book_.MayEdit(1));
}

TEST_F(ParkBookTest, AnEditMovesNoMessageToAnotherKey) {
  const int64_t keyed = Park(1);
  const int64_t alone = Park(2, std::nullopt);
  for (const std::optional<uint64_t> key : {std::optional(kOther), std::optional<uint64_t>()}) {
    Edit(1, keyed, key);
    EXPECT_EQ(BodyOf(1), keyed);
  }
  Edit(2, alone);
  EXPECT_EQ(BodyOf(2), alone);
  const int64_t edited = Edit(2, alone, std::nullopt);
  EXPECT_EQ(BodyOf(2), edited);
}

TEST_F(ParkBookTest, AnEditedMessageIsDroppedAndTakenBackAsAnyOther) {
  const int64_t edited = Edit(1, Park(1));
  Park(2);
  Redrive(1);
  EXPECT_THAT(HandOut(), ElementsAre(1, 2));
  book_.TakeBack(2);
  book_.TakeBack(1);
  EXPECT_EQ(book_.FirstDue(), edited);
  EXPECT_THAT(HandOut(), ElementsAre(1, 2));
  Write(ParkKind::kAgain, 1);
  book_.TakeBack(1);
  book_.TakeBack(2);
  Write(ParkKind::kDrop, 1);
  EXPECT_THAT(Dropped(), ElementsAre(1));
}

TEST_F(ParkBookTest, WhatIsNotParkedIsNeitherRunNorEnded) {
  Park(1);
  Park(-1);
  for (const ParkKind kind :
       {ParkKind::kPassed, ParkKind::kAgain, ParkKind::kEnded, ParkKind::kDropped,
        ParkKind::kRedrive, ParkKind::kDrop, ParkKind::kEdit}) {
    Write(kind, 2);
  }
  EXPECT_THAT(Open(), ElementsAre(1));
  EXPECT_FALSE(book_.FirstDue());
  EXPECT_FALSE(book_.Wants(2));
}

// The same with any records and any deliveries.
class RandomBook {
 public:
  void Step(uint8_t what, uint8_t which) {
    const int64_t offset = which % 12;
    const std::optional<uint64_t> key =
        offset % 4 == 3 ? std::nullopt : std::optional<uint64_t>(offset % 4);
    switch (what % 13) {
      case 0:
      case 1:
      case 2:
        return HandOut();
      case 3:
      case 4:
        return TakeBack(which);
      default: {
        constexpr ParkKind kKinds[] = {ParkKind::kParked, ParkKind::kFollows, ParkKind::kAgain,
                                       ParkKind::kEnded,  ParkKind::kRedrive, ParkKind::kDrop,
                                       ParkKind::kCancel, ParkKind::kEdit};
        const ParkKind kind = kKinds[what % 13 - 5];
        if (IsEntry(kind) && IsInHand(offset)) {
          return;  // what was run is parked anew by no owner
        }
        const OwnerEpoch owner = which % 5 == 0 ? which / 5 % 4 : 0;
        book_.Apply({.kind = kind,
                     .place = book_.next() + which % 2,
                     .offset = offset,
                     .owner = owner,
                     .replaces = BodyOf(offset)},
                    key);
      }
    }
  }

  void Check() const {
    std::set<int64_t> in_chains;
    for (const auto& [name, chain] : book_.chains()) {
      RC_ASSERT(!chain.places.empty());
      for (const auto& [place, offset] : chain.places) {
        RC_ASSERT(in_chains.insert(offset).second);
        const ParkBook::Entry& entry = book_.entries().at(offset);
        RC_ASSERT(entry.place == place);
        RC_ASSERT((entry.chain == name));
      }
      for (const int64_t offset : chain.drops) {
        RC_ASSERT(book_.entries().contains(offset));
      }
    }
    RC_ASSERT(in_chains.size() == book_.entries().size());
  }

 private:
  struct InHand {
    int64_t offset;
    int64_t place;
    ParkBook::ChainName chain;
  };

  int64_t BodyOf(int64_t offset) const {
    const auto entry = book_.entries().find(offset);
    return entry == book_.entries().end() ? -1 : entry->second.body;
  }
  bool IsInHand(int64_t offset) const {
    return std::ranges::any_of(in_hand_, [&](const InHand& one) { return one.offset == offset; });
  }
  void HandOut() {
    const auto first = book_.FirstDue();
    if (!first) {
      return;
    }
    const auto due = book_.DueAt(*first);
    RC_ASSERT(due.has_value());
    const ParkBook::Entry& entry = book_.entries().at(due->offset);
    RC_ASSERT(entry.body == *first);
    RC_ASSERT(!IsInHand(due->offset));
    for (const InHand& one : in_hand_) {
      RC_ASSERT(!(one.chain == entry.chain) || (one.place < entry.place && !due->drop));
    }
    in_hand_.push_back({due->offset, entry.place, entry.chain});
    book_.HandOut(due->offset);
    RC_ASSERT(book_.Wants(due->offset));
  }
  void TakeBack(size_t which) {
    if (!in_hand_.empty()) {
      const auto one = in_hand_.begin() + static_cast<ptrdiff_t>(which % in_hand_.size());
      book_.TakeBack(one->offset);
      in_hand_.erase(one);
    }
  }

  ParkBook book_;
  std::vector<InHand> in_hand_;
};

RC_GTEST_PROP(ParkBookProperty, EachEntryIsInOneChainAndIsHandedOutInItsOrder, ()) {
  const auto steps = *rc::gen::container<std::vector<std::pair<uint8_t, uint8_t>>>(
      rc::gen::arbitrary<std::pair<uint8_t, uint8_t>>());
  RandomBook book;
  for (const auto& [what, which] : steps) {
    book.Step(what, which);
    book.Check();
  }
}

// Else it would run before the head, which the next redrive begins with.
TEST(ParkBookOfAnOwner, AMessageThatWasHandedOutForOneRedriveIsNotWantedByTheNext) {
  ParkBook book;
  book.Apply({.kind = ParkKind::kParked, .place = 0, .offset = 10}, kKey);
  book.Apply({.kind = ParkKind::kFollows, .place = 1, .offset = 11}, kKey);
  book.Apply({.kind = ParkKind::kRedrive, .place = 2, .offset = 10, .run = "one"}, {});
  book.HandOut(10);
  book.HandOut(11);
  EXPECT_TRUE(book.Wants(11));
  book.Apply({.kind = ParkKind::kAgain, .place = 3, .offset = 10}, {});
  book.TakeBack(10);
  book.Apply({.kind = ParkKind::kRedrive, .place = 4, .offset = 10, .run = "two"}, {});
  EXPECT_FALSE(book.Wants(11));
  book.TakeBack(11);
  EXPECT_EQ(book.FirstDue(), 0);
}

// The next owner reads it once more, and its window does not know it by that body.
TEST(ParkBookOfAnOwner, AMessageThatIsOverIsKeptFromTheFrontierOn) {
  ParkBook book;
  book.KeepOver(9, 11);
  for (int64_t i = 0; i < 5; i++) {
    book.Apply({.kind = ParkKind::kParked, .place = i, .offset = 10 + i}, kKey);
  }
  for (const int64_t edited : {0, 1}) {
    book.Apply(
        {.kind = ParkKind::kEdit, .place = 5 + edited, .offset = 10 + edited, .replaces = edited},
        kKey);
    book.Apply({.kind = ParkKind::kEnded, .place = 7 + edited, .offset = 10 + edited}, {});
  }
  book.Apply({.kind = ParkKind::kEnded, .place = 9, .offset = 12}, {});
  book.Apply({.kind = ParkKind::kDropped, .place = 10, .offset = 13}, {});
  EXPECT_THAT(book.Parked(INT64_MAX).offsets, ElementsAre(11, 13));
}

// Its window may not know of the call.
TEST(ParkBookOfAnOwner, AMessageOfARedriveThatOutlivesItsOwnerMayHaveBeenCalled) {
  ParkBook book;
  book.Apply({.kind = ParkKind::kOwner, .place = 0, .owner = 5}, {});
  book.Apply({.kind = ParkKind::kFollows, .place = 1, .offset = 10, .owner = 5}, kKey);
  book.Apply({.kind = ParkKind::kRedrive, .place = 2, .offset = 10, .run = "one"}, {});
  EXPECT_FALSE(book.entries().at(10).Called());
  ParkBook cancelled = book;
  book.Apply({.kind = ParkKind::kOwner, .place = 3, .owner = 6}, {});
  EXPECT_TRUE(book.entries().at(10).Called());
  cancelled.Apply({.kind = ParkKind::kCancel, .place = 3, .run = "one"}, {});
  cancelled.Apply({.kind = ParkKind::kOwner, .place = 4, .owner = 6}, {});
  EXPECT_TRUE(cancelled.entries().at(10).Called()) << "it was in hand, perhaps";
}

}  // namespace
}  // namespace oncemq
