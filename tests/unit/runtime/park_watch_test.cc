// SPDX-License-Identifier: Apache-2.0
// The reader of a park topic: what an owner knows before it begins, and what it hands out.
#include "park_watch.h"

#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/base/hash.h"
#include "park_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr PartitionId kId = 0;

class ParkWatchTest : public ParkFixture {
 protected:
  ParkWatchTest()
      : rings_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        topic_of_owner_(*ParkTopic::Open(Options())),
        watch_(std::make_unique<ParkWatch>(Options(), *topic_of_owner_, reader_, table_, rings_)) {
    table_.Number(kPlace.topic, kPlace.partition);
  }
  ~ParkWatchTest() override {
    while (!taken_.empty()) {
      TakeBack(taken_.begin()->first);
    }
    watch_.reset();
    close(rings_);
  }

  void Park(int64_t offset, ParkKind kind = ParkKind::kParked) {
    ParkHeaders headers = EntryHeaders({.kind = kind}, SourceMessage(), "group");
    headers.emplace_back("__dlq.errors.offset", std::to_string(offset));
    Send(headers);
    producer_->Flush();
  }
  void Command(ParkKind kind, int64_t offset) {
    const ParkTopic::Command command{kPlace, "k", {.kind = kind, .offset = offset, .run = "run"}};
    ASSERT_TRUE(topic_of_owner_->RecordCommands({&command, 1}));
  }
  ParkedMessages Begin(OwnerEpoch owner) {
    ParkedMessages parked;
    EXPECT_TRUE(Eventually(seconds(20), [&] {
      const auto begun = watch_->Begin(kId, owner, 0, 0);
      parked = begun ? *begun : ParkedMessages{};
      return begun.has_value();
    }));
    Rang();
    return parked;
  }
  bool Rang() const {
    uint64_t count = 0;
    return read(rings_, &count, sizeof count) == sizeof count;
  }
  std::vector<int64_t> Take(bool finished = true, uint32_t most = 100) {
    std::vector<RedrivenArrival> arrivals;
    watch_->Read(
        kId, most, [&](int64_t) { return finished; }, arrivals);
    std::vector<int64_t> offsets;
    for (const RedrivenArrival& one : arrivals) {
      offsets.push_back(one.offset);
      taken_[one.offset] = one.message;
    }
    return offsets;
  }
  void TakeBack(int64_t offset) {
    void* const message = taken_.at(offset);
    watch_->TakeBack(*reader_.Redriven(message));
    reader_.Release(message);
    taken_.erase(offset);
  }
  std::vector<int64_t> Await(size_t messages) {
    std::vector<int64_t> offsets;
    EXPECT_TRUE(Eventually(seconds(20), [&] {
      const auto taken = Take();
      offsets.insert(offsets.end(), taken.begin(), taken.end());
      return offsets.size() >= messages;
    }));
    return offsets;
  }

  const int rings_;
  MessageReader reader_{Options(), {}};
  PartitionTable table_{{kPlace.topic}};
  const std::unique_ptr<ParkTopic> topic_of_owner_;
  std::unique_ptr<ParkWatch> watch_;
  std::map<int64_t, void*> taken_;  // by offset
};

TEST_F(ParkWatchTest, AnOwnerBeginsWithAllThatWasParkedBefore) {
  Park(4);
  Command(ParkKind::kAttached, 3);
  Command(ParkKind::kAttached, 6);
  Park(7, ParkKind::kFollows);
  EXPECT_FALSE(watch_->Begin(kId, 7, 5, 5)) << "nothing is read yet";
  EXPECT_EQ(watch_->Count(kId), std::nullopt);
  const ParkedMessages parked = Begin(7);
  EXPECT_THAT(parked.keys, ElementsAre(Pair(ProcessHash("k"), 2)));
  EXPECT_EQ(watch_->Count(kId), 2);
  EXPECT_THAT(watch_->Begin(kId, 7, 5, 5)->offsets, ElementsAre(6, 7)) << "all that is not done";
}

TEST_F(ParkWatchTest, ACommandHandsOutAKeyInItsOrderOnceTheOwnDeliveriesAreOver) {
  Park(4);
  Park(5, ParkKind::kFollows);
  Begin(7);
  Command(ParkKind::kRedrive, 4);
  ASSERT_TRUE(Eventually(seconds(20), [&] { return Rang(); }));
  EXPECT_THAT(Take(false), IsEmpty()) << "a message would run next to itself";
  EXPECT_THAT(Await(2), ElementsAre(4, 5));
  TakeBack(5);
  TakeBack(4);
  EXPECT_THAT(Await(2), ElementsAre(4, 5)) << "they are parked still";
}

TEST_F(ParkWatchTest, WhatWasCancelledMeanwhileIsNotHandedOut) {
  Park(4);
  Begin(7);
  Command(ParkKind::kRedrive, 4);
  ASSERT_TRUE(Eventually(seconds(20), [&] { return Rang(); }));
  Command(ParkKind::kCancel, -1);
  EXPECT_FALSE(Eventually(seconds(1), [&] { return !Take().empty(); }));
  Command(ParkKind::kRedrive, 4);
  EXPECT_THAT(Await(1), ElementsAre(4)) << "it was not lost";
}

TEST_F(ParkWatchTest, AMessageThatIsHeldSinceAnEarlierCommandDoesNotGoBeforeItsHead) {
  Park(4);
  Park(5, ParkKind::kFollows);
  Begin(7);
  Command(ParkKind::kRedrive, 4);
  ASSERT_TRUE(Eventually(seconds(20), [&] { return Take(true, 1).size() == 1; }));
  Command(ParkKind::kAgain, 4);
  Command(ParkKind::kRedrive, 4);
  EXPECT_FALSE(Eventually(milliseconds(500), [&] { return !Take().empty(); })) << "4 is in hand";
  TakeBack(4);
  EXPECT_THAT(Await(2), ElementsAre(4, 5));
}

TEST_F(ParkWatchTest, TheEndOfAFormerDeliveryIsNotThatOfTheNextOne) {
  Park(4);
  Begin(7);
  Command(ParkKind::kRedrive, 4);
  EXPECT_THAT(Await(1), ElementsAre(4));
  void* const former = taken_.extract(4).mapped();
  watch_->End(kId);
  Begin(8);
  EXPECT_THAT(Await(1), ElementsAre(4));
  watch_->TakeBack(*reader_.Redriven(former));
  reader_.Release(former);
  EXPECT_FALSE(Eventually(milliseconds(500), [&] { return !Take().empty(); }));
  TakeBack(4);
  EXPECT_THAT(Await(1), ElementsAre(4));
}

// Else a message that was refused again would be handed out once more.
TEST_F(ParkWatchTest, NothingIsHandedOutBeforeTheOwnRecordsAreReadBack) {
  Park(4);
  Begin(7);
  Command(ParkKind::kRedrive, 4);
  ASSERT_TRUE(Eventually(seconds(20), [&] { return Rang(); }));
  constexpr int16_t kFetch = 1;
  cluster_.AnswerNext(kFetch, std::vector<int>(4, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR));
  EXPECT_FALSE(Eventually(milliseconds(700), [] { return false; })) << "the last fetch is over";
  Command(ParkKind::kAgain, 4);
  EXPECT_FALSE(Eventually(seconds(3), [&] { return !Take().empty(); })) << "it was refused again";
}

}  // namespace
}  // namespace oncemq::testing
