// SPDX-License-Identifier: Apache-2.0
// Processes that want the same names while they, their connections and their server are paused,
// cut and killed: what they believed at the same time, in which order their fences came, whether
// there is one order of all their calls, and what their effects came to. Over each engine of the
// table. And that nothing stays with anybody behind the end.
#include "lock_storm.h"

#include <fstream>

#include "oncemq/base/clock.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kShort{3'000};

class LockStorms : public LockStorm, public ::testing::WithParamInterface<StormEngine> {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_BACKEND(GetParam().missing()); }

  void Start(bool keeps = true, int readers = 25, int counted = 0) {
    server_ = GetParam().start(keeps);
    lease_ = GetParam().lease;
    session_ = GetParam().session;
    rules_.fences_of_requests = GetParam().fences_of_requests;
    MakeNetworks(server_->ports());
    for (size_t i = 0; i < kPlayers; i++) {
      PlayerOptions player = NewPlayer();
      player.session = session_;
      player.lease = lease_;
      player.queue_lease = lease_;
      player.hold = 2 * lease_;
      player.wait = 2 * lease_;
      player.readers = readers;
      player.counted = counted;
      player.names = counted > 0 ? 1 : player.names;
      server_->Put(player, PortsOf(i));
      Join(player);
      last_ = player;
    }
  }
  // Where there are fences, effects are judged.
  virtual bool Enough() const {
    return Beliefs().size() > 10 && EverybodyHadATurn() &&
           (!GetParam().can.fence || !Ledger().empty());
  }
  void PlayWith(const std::function<void()>& trouble, milliseconds at_least = kShort) {
    Trouble(HowLong(std::max(at_least, 15 * lease_)), trouble, [this] { return Enough(); });
    End();
    server_->Put(last_, server_->ports());
    ExpectAllFree(last_);
    for (const Belief& belief : Beliefs()) {
      ASSERT_NE(belief.fence.empty(), GetParam().can.fence) << "not what the engine's record says";
    }
  }
  void RestartTheServer() {
    server_->Kill9();
    SleepFor(milliseconds(Below(100)));
    server_->Restart();
    SleepFor(milliseconds(300 + Below(300)));
  }

  std::unique_ptr<StormServer> server_;
  PlayerOptions last_;
};

// One kind of trouble at a time.
class LockTroubles : public LockStorms {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockTroubles);  // in a build without such engines

// What wakes those who wait is cut, and nothing else.
class LockWakes : public LockStorms {
 protected:
  // They came back each time, and were cut again.
  bool Enough() const override { return LockStorms::Enough() && cut_ > 20 * kPlayers; }

  size_t cut_ = 0;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockWakes);

// More want a name than may hold it, and some of them alone.
class CountedLockStorms : public LockStorms {
 protected:
  // Only who holds a name alone does effects.
  bool Enough() const override {
    return LockStorms::Enough() && MostAtATime(Beliefs()) > 1 && !Ledger().empty();
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CountedLockStorms);

class ForgetfulLockStorms : public LockStorms {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ForgetfulLockStorms);

std::vector<StormEngine> Those(bool StormEngine::*are) {
  std::vector<StormEngine> engines = StormEngines();
  std::erase_if(engines, [are](const StormEngine& engine) { return !(engine.*are); });
  return engines;
}

std::vector<StormEngine> ThoseThatCount() {
  std::vector<StormEngine> engines = StormEngines();
  std::erase_if(engines, [](const StormEngine& engine) { return !engine.can.counted; });
  return engines;
}

std::string NameOf(const ::testing::TestParamInfo<StormEngine>& engine) {
  return engine.param.name;
}

TEST_P(LockStorms, NobodyHoldsWhatAnotherHoldsWhateverIsPausedCutAndKilled) {
  Start();
  PlayWith([this] { AnyTrouble(*server_, GetParam().keeps); }, milliseconds(7'500));
  ExpectExclusion();
}

TEST_P(LockTroubles, WhoIsPausedBelievesNothingWhenItGoesOn) {
  Start();
  PlayWith([this] {
    PauseAPlayer();
    SleepFor(milliseconds(Below(50)));
  });
  ExpectExclusion();
}

TEST_P(LockTroubles, WhatASilentNetworkKeepsComesTooLateForEverybody) {
  Start();
  PlayWith([this] {
    SilenceANetwork();
    SleepFor(milliseconds(Below(100)));
  });
  ExpectExclusion();
}

TEST_P(LockTroubles, WhoseRepliesAreLostHoldsOrDoesNot) {
  Start();
  PlayWith([this] {
    SwallowReplies();
    SleepFor(milliseconds(Below(100)));
  });
  ExpectExclusion();
}

TEST_P(LockTroubles, AServerThatComesBackWithItsDataKeepsWhatIsHeld) {
  Start();
  PlayWith([this] { RestartTheServer(); });
  ExpectExclusion();
}

TEST_P(LockWakes, WithoutWakesNamesAreHandedOnAllTheSame) {
  Start(true, 0);
  PlayWith([&] {
    cut_ += server_->CutWakes(networks_);
    SleepFor(milliseconds(Below(20)));
  });
  RecordProperty("cut", static_cast<int>(cut_));
  ExpectExclusion();
}

// Two may hold a name then, and say so: what checks fences goes right.
TEST_P(ForgetfulLockStorms, AServerThatForgotKeepsItsFencesInOrder) {
  Start(false);
  PlayWith([this] { RestartTheServer(); });
  ExpectFences();
}

TEST_P(CountedLockStorms, NeverMoreHoldThanTheLimitSays) {
  Start(true, 5, 65);
  PlayWith([this] { AnyTrouble(*server_); });
  ExpectExclusion();
  EXPECT_EQ(TooMany(Beliefs()), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Over, LockStorms, ::testing::ValuesIn(StormEngines()), NameOf);
INSTANTIATE_TEST_SUITE_P(Over, LockTroubles, ::testing::ValuesIn(Those(&StormEngine::apart)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Over, LockWakes, ::testing::ValuesIn(Those(&StormEngine::cuts_wakes)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Over, CountedLockStorms, ::testing::ValuesIn(ThoseThatCount()), NameOf);
INSTANTIATE_TEST_SUITE_P(Over, ForgetfulLockStorms,
                         ::testing::ValuesIn(Those(&StormEngine::forgets)), NameOf);

TEST(LockHistory, BeliefsAtTheSameTimeAreSeenAlsoInsideALongOne) {
  const Belief whole{1, "a", {0, 1}, 10, 100};
  const Belief inside{2, "a", {0, 2}, 20, 30};
  const Belief behind{3, "a", {0, 3}, 101, 110};
  const Belief late{4, "a", {0, 4}, 90, 95};
  const Belief elsewhere{5, "b", {0, 1}, 20, 30};
  EXPECT_EQ(Overlaps({whole, inside, behind}).size(), 1u);
  EXPECT_EQ(Overlaps({inside, late, whole}).size(), 1u);
  EXPECT_TRUE(Overlaps({inside, late, behind, elsewhere}).empty());
}

TEST(LockHistory, ThoseWhoShareMayBelieveAtTheSameTime) {
  const Belief one{1, "a", {0, 2}, 10, 100, true};
  const Belief two{2, "a", {0, 1}, 20, 30, true};
  EXPECT_TRUE(Overlaps({one, two}).empty());
  EXPECT_TRUE(FencesOutOfOrder({one, two}).empty());
  EXPECT_EQ(Overlaps({one, two, {3, "a", {0, 3}, 90, 95}}).size(), 1u);
  EXPECT_EQ(Overlaps({{3, "a", {0, 3}, 5, 25}, {1, "a", {0, 2}, 20, 100, true}}).size(), 1u);
}

TEST(LockHistory, ALaterBeliefNeedsAGreaterFence) {
  EXPECT_TRUE(FencesOutOfOrder({{1, "a", {0, 1}, 1, 2},
                                {2, "a", {0, 2}, 3, 4},
                                {1, "b", {0, 1}, 9, 9},
                                {1, "a", {1, 0}, 5, 6}})
                  .empty());
  EXPECT_EQ(FencesOutOfOrder({{1, "a", {0, 2}, 1, 2}, {2, "a", {0, 2}, 3, 4}}).size(), 1u);
}

TEST(LockHistory, TheLastWordOfABeliefCountsAndHalfALineDoesNot) {
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "beliefs";
  std::ofstream(file) << LineOf({7, "a", {0, 3}, 10, 11}) << LineOf({7, "a", {0, 3}, 10, 25})
                      << "7 a 0 4 3";
  const std::vector<Belief> beliefs = ReadBeliefs(file);
  ASSERT_EQ(beliefs.size(), 1u);
  EXPECT_EQ(beliefs[0].to, 25);
}

}  // namespace
}  // namespace oncemq::testing
