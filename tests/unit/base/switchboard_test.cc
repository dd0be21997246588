// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switchboard.h"

#include <atomic>

#include "switchboard_fixture.h"

namespace oncemq::testing {
namespace {

TEST_F(SwitchboardTest, TheFirstProcessWritesTheFirstRecord) {
  const Process p = Open();
  const Process q = Open();
  for (const Process* process : {&p, &q}) {
    const auto record = process->board->InForce();
    ASSERT_TRUE(record.has_value()) << ToString(record.error());
    EXPECT_EQ(record->from, "a");
    EXPECT_EQ(record->epoch, 1u);
  }
}

TEST_F(SwitchboardTest, ASwitchIsSeenByAllAndEndsThoughItsBeginnerIsGone) {
  Process p = Open();
  Process q = Open();
  const std::stop_token changed = q.board->changed();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "an upgrade").has_value());
  EXPECT_FALSE(p.board->Begin("c", SwitchMode::kBoth, "another").has_value());
  p.board.reset();
  q.view->Turn();
  EXPECT_TRUE(changed.stop_requested());
  EXPECT_EQ(q.board->InForce()->mode, SwitchMode::kBoth);
  EXPECT_EQ(q.board->Progress().left, kWait);
  Pass(kWait - milliseconds(2'000), {&q});
  EXPECT_EQ(q.board->InForce()->mode, SwitchMode::kBoth);
  Pass(milliseconds(4'000), {&q});
  EXPECT_EQ(q.board->InForce()->mode, SwitchMode::kSingle);
  EXPECT_EQ(q.board->InForce()->from, "b");
  EXPECT_EQ(q.board->InForce()->epoch, 3u);
  MutexLock lock(mutex_);
  EXPECT_EQ(sealed_["a"], 3u) << "whoever sleeps through it is refused by the store";
  EXPECT_EQ(sealed_["b"], 3u);
}

TEST_F(SwitchboardTest, UntilItEndsItCanBeCalledOff) {
  Process p = Open();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  ASSERT_TRUE(p.board->CallOff("changed our minds").has_value());
  EXPECT_EQ(p.board->InForce()->from, "a");
  EXPECT_EQ(p.board->InForce()->epoch, 3u);
  Pass(2 * kWait, {&p});
  EXPECT_EQ(p.board->InForce()->from, "a");
}

TEST_F(SwitchboardTest, OneThatMeansAnEarlierSwitchCallsNoOtherOff) {
  Process p = Open();
  const SwitchRecord meant = *p.board->Begin("b", SwitchMode::kBoth, "");
  ASSERT_TRUE(p.board->CallOff(meant, "").has_value());
  ASSERT_TRUE(p.board->Begin("c", SwitchMode::kDrain, "").has_value());
  const auto again = p.board->CallOff(meant, "");
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kFenced);
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain);
}

TEST_F(SwitchboardTest, OneThatMeansAnEarlierRecordBeginsNothing) {
  Process p = Open();
  const SwitchRecord meant = *p.board->InForce();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  Pass(2 * kWait, {&p});
  ASSERT_EQ(p.board->InForce()->from, "b");
  EXPECT_EQ(p.board->Begin(meant, "c", SwitchMode::kBoth, "").error().code, Code::kFenced);
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
}

TEST_F(SwitchboardTest, ADrainOfAStoreThatCannotBeSealedIsNotCalledOff) {
  SwitchboardOptions options = Options();
  options.seals = [](std::string_view store) { return store != "a"; };
  Process p = Open(options);
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  EXPECT_EQ(p.board->CallOff("").error().code, Code::kInvalid);
  Pass(kWait + milliseconds(2'000), {&p});
  ASSERT_EQ(p.board->InForce()->from, "b");
  ASSERT_TRUE(p.board->Begin("a", SwitchMode::kDrain, "").has_value());
  EXPECT_TRUE(p.board->CallOff("").has_value()) << "the one that is left can be";
}

TEST_F(SwitchboardTest, StoresAreSealedByAllWhoSeeTheNewsAndTheOneThatIsLeftLast) {
  SwitchboardOptions cut_off = Options();
  cut_off.seal = [](std::string_view, uint32_t) -> Status {
    return Error{Code::kUnavailable, Effect::kNone, "cut off from the stores"};
  };
  std::vector<std::string> order;
  SwitchboardOptions others = Options();
  others.seal = [&](std::string_view store, uint32_t epoch) -> Status {
    order.push_back(std::string(store) + " " + std::to_string(epoch));
    return {};
  };
  Process p = Open(cut_off);
  Process q = Open(others);
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  q.view->Turn();
  EXPECT_EQ(order, (std::vector<std::string>{"b 2", "a 2"}));
}

TEST_F(SwitchboardTest, WhoIsCutOffActsNoMoreAfterTheConfigurationLease) {
  Process p = Open();
  p.view->Cut(true);
  Pass(milliseconds(8'000), {&p});
  EXPECT_TRUE(p.board->InForce().has_value());
  Pass(milliseconds(2'000), {&p});
  const auto blind = p.board->InForce();
  ASSERT_FALSE(blind.has_value());
  EXPECT_EQ(blind.error().code, Code::kUnavailable);
  p.view->Cut(false);
  p.view->Turn();
  EXPECT_TRUE(p.board->InForce().has_value());
}

// Holds were granted by the record that was seen, perhaps in another store.
TEST_F(SwitchboardTest, ARecordThatIsLostIsNeitherBegunAnewNorBelieved) {
  Process p = Open();
  SwitchStore::Text first;
  {
    MutexLock lock(shared_->mutex);
    first = shared_->text;
  }
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  Pass(2 * kWait, {&p});
  ASSERT_EQ(p.board->InForce()->from, "b");
  SwitchStore::Text last;
  {
    MutexLock lock(shared_->mutex);
    last = std::exchange(shared_->text, {});
  }
  Pass(kWait, {&p});
  EXPECT_FALSE(p.board->InForce().has_value());
  {
    MutexLock lock(shared_->mutex);
    EXPECT_EQ(shared_->text.text, "");
    shared_->text = {first.text, last.version};
  }
  Pass(kWait, {&p});
  EXPECT_FALSE(p.board->InForce().has_value());
  {
    MutexLock lock(shared_->mutex);
    shared_->text = last;
  }
  Pass(milliseconds(4'000), {&p});
  EXPECT_EQ(p.board->InForce()->from, "b");
}

TEST_F(SwitchboardTest, WhoIsToStayAvailableGoesOnBlindly) {
  SwitchboardOptions options = Options();
  options.when_blind = WhenBlind::kAvailable;
  Process p = Open(options);
  p.view->Cut(true);
  Pass(kWait, {&p});
  EXPECT_TRUE(p.board->InForce().has_value());
  EXPECT_FALSE(p.board->Progress().good);
}

TEST_F(SwitchboardTest, AQuorumLeavesAStoreThatFailsThemForTheNextOne) {
  std::atomic<bool> cut{false};
  SwitchboardOptions options = Options();
  options.probe = [&cut](std::string_view store) -> Status {
    return cut && store == "a" ? Status(Error{Code::kUnavailable, Effect::kNone, "cut off"})
                               : Status();
  };
  Process p = Open(options);
  options.who = "another one";
  Process q = Open(options);
  Process r = Open();
  Pass(milliseconds(60'000), {&p, &q, &r});
  Fails(p, "a");
  Pass(milliseconds(2'000), {&p, &q, &r});
  EXPECT_EQ(r.board->InForce()->mode, SwitchMode::kSingle) << "one of three is no quorum";
  EXPECT_EQ(r.board->Progress().living, 3u);
  cut = true;
  Fails(p, "a");
  Fails(q, "a");
  Pass(milliseconds(4'000), {&p, &q, &r});
  EXPECT_EQ(r.board->InForce()->mode, SwitchMode::kDrain);
  EXPECT_EQ(r.board->InForce()->to, "b");
  Pass(kWait, {&p, &q, &r});
  EXPECT_EQ(r.board->InForce()->from, "b");
}

TEST_F(SwitchboardTest, WhoLivesNoMoreHasNoVote) {
  Process p = Open();
  {
    Process q = Open();
    Pass(milliseconds(4'000), {&p, &q});
    q.view->Cut(true);  // and so it cannot say goodbye
  }
  Pass(milliseconds(60'000), {&p});
  Fails(p, "a");
  Pass(milliseconds(2'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain);
}

TEST_F(SwitchboardTest, AStoreThatJustCameIntoForceIsGivenTime) {
  Process p = Open();
  {
    MutexLock lock(mutex_);
    answers_.erase("a");
  }
  Fails(p, "a");
  Pass(milliseconds(50'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
  Pass(milliseconds(12'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain);
}

TEST_F(SwitchboardTest, AStoreThatKeepsFailingIsAskedNowAndThenOnly) {
  Process p = Open();
  EXPECT_TRUE(p.board->Lets("a"));
  Fails(p, "a");
  EXPECT_FALSE(p.board->Lets("a"));
  EXPECT_TRUE(p.board->Lets("b"));
  clock_.Advance(milliseconds(1'000));
  EXPECT_TRUE(p.board->Lets("a"));
  p.board->Report("a", true);
  EXPECT_TRUE(p.board->Lets("a"));
}

TEST_F(SwitchboardTest, AStoreThatThisProcessDoesNotKnowIsNotActedBy) {
  Process p = Open();
  SwitchboardOptions more = Options();
  more.stores = {"a", "z"};
  Process q = Open(more);
  ASSERT_TRUE(q.board->Begin("z", SwitchMode::kDrain, "").has_value());
  EXPECT_EQ(p.board->Begin("z", SwitchMode::kDrain, "").error().code, Code::kInvalid);
  p.view->Turn();
  EXPECT_EQ(p.board->InForce().error().code, Code::kUnavailable) << "it may come back";
}

TEST_F(SwitchboardTest, NewsFromAStoreAreLookedAfterAtOnce) {
  Process p = Open();
  Process q = Open();
  p.view->Turn();
  const std::stop_token changed = p.board->changed();
  ASSERT_TRUE(q.board->Begin("b", SwitchMode::kBoth, "").has_value());
  p.board->ReadSoon();
  p.view->Turn();
  EXPECT_TRUE(changed.stop_requested());
}

TEST_F(SwitchboardTest, WhatIsWrongWithTheOptionsIsSaid) {
  for (const auto& stores : {std::vector<std::string>{}, {"A"}, {"a", ""}}) {
    SwitchboardOptions options = Options();
    options.stores = stores;
    const auto board =
        Switchboard::Open(std::make_shared<SwitchStoreView>(shared_), options, clock_);
    ASSERT_FALSE(board.has_value());
    EXPECT_EQ(board.error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace oncemq::testing
