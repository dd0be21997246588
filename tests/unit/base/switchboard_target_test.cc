// SPDX-License-Identifier: Apache-2.0
// Which store an automatic switch leads to, and that nobody waits for a store who keeps a time.
#include <deque>

#include "switchboard_fixture.h"

namespace oncemq::testing {
namespace {

class SwitchboardTargetTest : public SwitchboardTest {
 protected:
  // What asks a store is kept until the test lets it go.
  SwitchboardOptions HeldBack() {
    SwitchboardOptions options = Options();
    options.aside = [this](std::function<void()> call) {
      MutexLock lock(mutex_);
      aside_.push_back(std::move(call));
    };
    return options;
  }
  size_t RunAside() {
    std::deque<std::function<void()>> calls;
    {
      MutexLock lock(mutex_);
      calls.swap(aside_);
    }
    for (const auto& call : calls) {
      call();
    }
    return calls.size();
  }
  // Holds something by such a lease all the time.
  SwitchboardOptions Holding(milliseconds lease) {
    SwitchboardOptions options = Options();
    options.automatic = false;
    options.shortest_held = [lease] { return std::optional(lease); };
    return options;
  }
  void Answering(std::set<std::string, std::less<>> stores) {
    MutexLock lock(mutex_);
    answers_ = std::move(stores);
    probed_.clear();
  }
  std::vector<std::string> Probed() {
    MutexLock lock(mutex_);
    return probed_;
  }

  std::deque<std::function<void()>> aside_ GUARDED_BY(mutex_);
};

TEST_F(SwitchboardTargetTest, WhoReachesNoStoreStaysWithTheOneInForce) {
  Process p = Open();
  Pass(milliseconds(60'000), {&p});
  Answering({});
  Fails(p, "a");
  Pass(milliseconds(300'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
  EXPECT_EQ(p.board->InForce()->epoch, 1u);
  p.board->Report("a", true);
  EXPECT_TRUE(p.board->Lets("a")) << "it is back, and nobody had left it";
}

TEST_F(SwitchboardTargetTest, AStoreThatDoesNotAnswerIsPassed) {
  Process p = Open();
  Pass(milliseconds(60'000), {&p});
  Answering({"c"});
  Fails(p, "a");
  Pass(milliseconds(2'000), {&p});
  EXPECT_EQ(Probed(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain);
  EXPECT_EQ(p.board->InForce()->to, "c");
}

TEST_F(SwitchboardTargetTest, AStoreThatKeepsFailingIsNotEvenAsked) {
  SwitchboardOptions options = Options();
  options.breaker.probe = std::chrono::hours(1);
  Process p = Open(options);
  Pass(milliseconds(60'000), {&p});
  Answering({"b", "c"});
  Fails(p, "b");
  Fails(p, "a");
  Pass(milliseconds(2'000), {&p});
  EXPECT_EQ(Probed(), std::vector<std::string>{"c"});
  EXPECT_EQ(p.board->InForce()->to, "c");
}

TEST_F(SwitchboardTargetTest, ItIsAVoterWithAnAnswerThatBegins) {
  Process p = Open();
  SwitchboardOptions cut_off = Options();
  cut_off.probe = [](std::string_view) -> Status {
    return Error{Code::kUnavailable, Effect::kNone, "cut off from all"};
  };
  Process q = Open(cut_off);
  Pass(milliseconds(60'000), {&p, &q});
  Fails(p, "a");
  Fails(q, "a");
  Pass(milliseconds(20'000), {&q});
  EXPECT_EQ(q.board->InForce()->mode, SwitchMode::kSingle);
  Pass(milliseconds(4'000), {&p, &q});
  EXPECT_EQ(q.board->InForce()->mode, SwitchMode::kDrain);
}

TEST_F(SwitchboardTargetTest, TheRecordIsReadWhileAStoreIsAsked) {
  Process p = Open(HeldBack());
  Pass(milliseconds(60'000), {&p});
  Answering({"b", "c"});
  RunAside();
  Fails(p, "a");
  Pass(milliseconds(20'000), {&p});
  EXPECT_TRUE(p.board->Progress().good);
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
  EXPECT_EQ(RunAside(), 2u) << "of the store in force and of the others one question at a time";
  p.view->Turn();
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain);
}

TEST_F(SwitchboardTargetTest, AnAnswerThatTookTooLongCountsForNothing) {
  SwitchboardOptions options = HeldBack();
  options.probe = [this](std::string_view) -> Status {
    clock_.Advance(milliseconds(10'000));
    return {};
  };
  Process p = Open(options);
  Pass(milliseconds(60'000), {&p});
  RunAside();
  Fails(p, "a");
  Pass(milliseconds(2'000), {&p});
  ASSERT_EQ(RunAside(), 1u);
  p.view->Turn();
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
}

TEST_F(SwitchboardTargetTest, TheRecordIsReadBeforeAStoreIsSealed) {
  Process p = Open(HeldBack());
  Process q = Open(HeldBack());
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kBoth);
  q.view->Turn();
  EXPECT_EQ(q.board->InForce()->mode, SwitchMode::kBoth);
  {
    MutexLock lock(mutex_);
    EXPECT_TRUE(sealed_.empty());
  }
  RunAside();
  Pass(kWait, {&q});
  RunAside();
  q.view->Turn();
  EXPECT_EQ(q.board->InForce()->from, "b") << "and it ended";
  RunAside();
  MutexLock lock(mutex_);
  EXPECT_EQ(sealed_["a"], 3u);
  EXPECT_EQ(sealed_["b"], 3u);
}

TEST_F(SwitchboardTargetTest, ATargetThatDoesNotAnswerDoesNotComeIntoForce) {
  Process p = Open();
  for (const SwitchMode mode : {SwitchMode::kBoth, SwitchMode::kDrain}) {
    ASSERT_TRUE(p.board->Begin("b", mode, "").has_value());
    Answering({"a"});
    Pass(kWait, {&p});
    EXPECT_EQ(p.board->InForce()->mode, mode);
    Pass(milliseconds(12'000), {&p});
    EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
    EXPECT_EQ(p.board->InForce()->from, "a");
  }
}

TEST_F(SwitchboardTargetTest, WhoHoldsSomethingCallsASwitchToASilentTargetOff) {
  Process p = Open(Holding(milliseconds(12'000)));
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  Pass(milliseconds(2'000), {&p});
  Answering({"a"});
  Pass(milliseconds(2'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kBoth) << "one reply may be lost";
  Pass(milliseconds(4'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
  EXPECT_EQ(p.board->InForce()->from, "a");
  EXPECT_EQ(p.board->InForce()->why, "the store b fails: no answer");
}

TEST_F(SwitchboardTargetTest, ATargetThatAnswersBetweenItsFailuresIsNotSilent) {
  Process p = Open(Holding(milliseconds(12'000)));
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  for (int i = 0; i < 4; i++) {
    Answering({"a"});
    Pass(milliseconds(2'000), {&p});
    Answering({"a", "b"});
    Pass(milliseconds(2'000), {&p});
  }
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kBoth);
}

// Others may hold something, and reach the target.
TEST_F(SwitchboardTargetTest, WhoHoldsNothingAsksNoTarget) {
  Process p = Open();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  Answering({"a"});
  Pass(milliseconds(20'000), {&p});
  EXPECT_EQ(Probed(), std::vector<std::string>());
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kBoth);
}

// There is nothing to go back to: the store that is left has failed.
TEST_F(SwitchboardTargetTest, ADrainIsNotCalledOffWhileItWaits) {
  Process p = Open(Holding(milliseconds(12'000)));
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  Answering({});
  Pass(milliseconds(20'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain);
}

TEST_F(SwitchboardTargetTest, ATargetThatIsInUseIsAskedNoQuestionsBesides) {
  Process p = Open(Holding(milliseconds(12'000)));
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  Pass(milliseconds(2'000), {&p});
  Answering({"a", "b"});
  for (int i = 0; i < 5; i++) {
    p.board->Report("b", true);
    Pass(milliseconds(2'000), {&p});
  }
  EXPECT_EQ(Probed(), std::vector<std::string>());
  Pass(milliseconds(2'000), {&p});
  EXPECT_EQ(Probed(), std::vector<std::string>{"b"});
}

// The first thing that a process tells the target. It may have to connect first.
TEST_F(SwitchboardTargetTest, ATargetThatCannotBeSealedIsSilent) {
  SwitchboardOptions options = Holding(milliseconds(12'000));
  options.seal = [](std::string_view store, uint32_t) -> Status {
    return store == "b" ? Status(Error{Code::kTimeout, Effect::kUnknown, "no answer"}) : Status();
  };
  Process p = Open(options);
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kBoth);
    p.board->Report("b", false);  // so it is asked no question
    Pass(milliseconds(2'000), {&p});
  }
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kSingle);
}

TEST_F(SwitchboardTargetTest, ATargetThatAnswersAgainComesIntoForce) {
  Process p = Open();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  Answering({});
  Pass(kWait + milliseconds(4'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain);
  Answering({"b"});
  Pass(milliseconds(4'000), {&p});
  EXPECT_EQ(p.board->InForce()->from, "b");
}

TEST_F(SwitchboardTargetTest, SomebodyElseEndsWhatOneWhoIsCutOffCannot) {
  SwitchboardOptions cut_off = Options();
  cut_off.probe = [](std::string_view) -> Status {
    return Error{Code::kUnavailable, Effect::kNone, "cut off from all"};
  };
  Process p = Open(cut_off);
  Process q = Open();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  Pass(milliseconds(2'000), {&p});
  Pass(kWait, {&p, &q});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kBoth);
  Pass(milliseconds(4'000), {&p, &q});
  EXPECT_EQ(p.board->InForce()->from, "b");
}

// Nobody can go back to it, and from a store in force one can go on.
TEST_F(SwitchboardTargetTest, WhatCannotBeCalledOffEndsThoughItsTargetIsDead) {
  SwitchboardOptions options = Options();
  options.seals = [](std::string_view store) { return store != "a"; };
  Process p = Open(options);
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  Answering({});
  Pass(kWait + milliseconds(12'000), {&p});
  EXPECT_EQ(p.board->InForce()->from, "b");
}

TEST_F(SwitchboardTargetTest, WhoMakesNoCallsVotesAboutAStoreThatIsDeadAllTheSame) {
  Process p = Open();
  Process q = Open();
  Process r = Open();
  Pass(milliseconds(60'000), {&p, &q, &r});
  Answering({"b", "c"});
  Fails(p, "a");
  Pass(milliseconds(10'000), {&p, &q, &r});
  EXPECT_EQ(r.board->InForce()->mode, SwitchMode::kDrain);
}

TEST_F(SwitchboardTargetTest, AStoreThatIsInUseIsAskedNoQuestionsBesides) {
  Process p = Open();
  p.view->Turn();
  Answering({"a"});
  for (int i = 0; i < 10; i++) {
    p.board->Report("a", true);
    Pass(milliseconds(2'000), {&p});
  }
  EXPECT_EQ(Probed(), std::vector<std::string>());
  Pass(milliseconds(4'000), {&p});
  EXPECT_EQ(Probed(), (std::vector<std::string>{"a", "a"}));
}

TEST_F(SwitchboardTargetTest, StoresAreSealedOnAThreadOfItsOwn) {
  SwitchboardOptions options = Options();
  options.aside = nullptr;
  ConditionVariable sealed;
  bool let = false;
  int seals = 0;
  options.seal = [&](std::string_view, uint32_t) -> Status {
    MutexLock lock(mutex_);
    sealed.wait(mutex_, [&] { return let; });
    seals++;
    sealed.notify_all();
    return {};
  };
  Process p = Open(options);
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  Pass(milliseconds(20'000), {&p});
  EXPECT_TRUE(p.board->Progress().good);
  MutexLock lock(mutex_);
  let = true;
  sealed.notify_all();
  sealed.wait(mutex_, [&] { return seals >= 2; });
}

TEST_F(SwitchboardTargetTest, AnAutomaticSwitchTakesAWayToAsk) {
  SwitchboardOptions options = Options();
  options.probe = nullptr;
  const auto board = Switchboard::Open(std::make_shared<SwitchStoreView>(shared_), options, clock_);
  ASSERT_FALSE(board.has_value());
  EXPECT_EQ(board.error().code, Code::kInvalid);
}

// Who is blind goes on extending in a store that is not sealed.
TEST_F(SwitchboardTargetTest, AStoreIsSealedUntilItHasAnswered) {
  std::vector<std::string> order;
  bool answers = false;
  SwitchboardOptions options = Options();
  options.seal = [&](std::string_view store, uint32_t epoch) -> Status {
    order.push_back(std::string(store) + " " + std::to_string(epoch));
    return answers || store != "a"
               ? Status()
               : Status(Error{Code::kUnavailable, Effect::kNone, "cut off from it"});
  };
  Process p = Open(options);
  p.view->Turn();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  EXPECT_EQ(std::exchange(order, {}), (std::vector<std::string>{"b 2", "a 2"}));
  p.view->Turn();
  EXPECT_EQ(std::exchange(order, {}), std::vector<std::string>{"a 2"});
  Pass(kWait + milliseconds(2'000), {&p});
  ASSERT_EQ(p.board->InForce()->epoch, 3u);
  order.clear();
  answers = true;
  p.view->Turn();
  EXPECT_EQ(std::exchange(order, {}), std::vector<std::string>{"a 3"});
  p.view->Turn();
  EXPECT_EQ(order, std::vector<std::string>()) << "it has answered";
}

TEST_F(SwitchboardTargetTest, AnAnswerThatIsTooLateToCountIsNone) {
  SwitchboardOptions options = HeldBack();
  options.probe = [this](std::string_view store) -> Status {
    if (store == "b") {
      clock_.Advance(milliseconds(11'000));
    }
    return {};
  };
  Process p = Open(options);
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kBoth, "").has_value());
  Pass(kWait + milliseconds(2'000), {&p});
  for (int i = 0; i < 4; i++) {
    RunAside();
    Pass(milliseconds(4'000), {&p});
  }
  EXPECT_EQ(p.board->Progress().record.mode, SwitchMode::kSingle);
  EXPECT_EQ(p.board->Progress().record.from, "a") << "it was called off";
}

}  // namespace
}  // namespace oncemq::testing
