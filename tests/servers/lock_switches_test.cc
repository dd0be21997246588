// SPDX-License-Identifier: Apache-2.0
// Stores are switched under load, there and back, planned and because one is gone, between those of
// one kind and of two: nobody believes what another one does, no more hold a name together than
// may, a long hold outlives planned switches, and a process that cannot read the record stops by
// itself.
#include <algorithm>
#include <fstream>

#include "oncemq/base/switch_store.h"
#include "oncemq/base/switch_votes.h"
#include "support/loopback_port.h"
#include "support/require_backend.h"
#include "switch_storm.h"

namespace oncemq::testing {
namespace {

class LockSwitches : public SwitchStorm {
 protected:
  void SetUp() override { Start(StormEngineOf("redis"), StormEngineOf("redis")); }
  // Neither forgets anything.
  void Start(const StormEngine& x, const StormEngine& y) {
    for (const StormEngine* engine : {&x, &y}) {
      ONCEMQ_REQUIRE_BACKEND(engine->missing());
    }
    x_ = x.start(true);
    y_ = y.start(true);
    at_x_ = EndpointOf(*x_);
    at_y_ = EndpointOf(*y_);
    lease_ = std::max(x.lease, y.lease);
    session_ = std::max(x.session, y.session);
    // Of each kind: in the middle of a switch a reader that waits in the store that is to come has
    // its fence from the one in force already, where it was granted. Others may pass it then.
    rules_.fences_of_requests = true;
    rules_.half_grants = true;
  }
  static Endpoint EndpointOf(const StormServer& server) {
    return {server.ports().front(), [&server](uint16_t port) {
              PlayerOptions player;
              server.Put(player, {port});
              return player.at;
            }};
  }
  // Before those who play.
  void AllowLeasesOf(milliseconds longest) {
    longest_ = longest;
    PlayerOptions like = NewPlayer();
    like.longest = longest;
    OpenOperator(like);
  }
  PlayerOptions Those(milliseconds lease, milliseconds hold) {
    PlayerOptions player = NewPlayer();
    player.lease = lease;
    player.queue_lease = lease_;
    player.hold = hold;
    player.session = session_;
    player.longest = longest_;
    player.readers = 25;
    return player;
  }
  // One that no trouble comes to.
  PlayerOptions Quiet() {
    PlayerOptions player = NewPlayer();
    player.call = milliseconds(2'000);
    player.session = session_;
    player.longest = longest_;
    player.stores = Addresses();
    player.record = Record();
    return player;
  }
  // One name from the beginning to the end. Its number.
  int64_t JoinAKeeper() {
    PlayerOptions keeper = Quiet();
    keeper.keeps = "long";
    keeper.lease = keeper.longest;
    keeper.session = 2 * keeper.longest;  // a lease is three quarters of it at most
    keeper.record = RecordByANewNetwork();
    return Join(keeper).pid();
  }
  void ExpectOneLeaseOf(int64_t keeper) const {
    std::set<Fence> kept;
    for (const Belief& belief : Beliefs()) {
      if (belief.process == keeper) {
        kept.insert(belief.fence);
      }
    }
    EXPECT_EQ(kept.size(), 1u) << "one lease from the beginning to the end";
  }

  milliseconds longest_{3'000};
  std::unique_ptr<StormServer> x_;
  std::unique_ptr<StormServer> y_;
};

// The kinds of x and y.
using Kinds = std::pair<std::string, std::string>;

class LockSwitchesBetween : public LockSwitches, public ::testing::WithParamInterface<Kinds> {
 protected:
  void SetUp() override {
    Start(StormEngineOf(GetParam().first), StormEngineOf(GetParam().second));
  }
};

TEST_P(LockSwitchesBetween, ALongHoldOutlivesSwitchesThereAndBackAndWhoIsCutOffStops) {
  // The keeper's, which it has to renew also where a machine stands still.
  AllowLeasesOf(milliseconds(6'000));
  JoinAll(Those(lease_, 2 * lease_));
  const int64_t keeps = JoinAKeeper();
  PlayerOptions blind = Quiet();
  blind.goes_blind = true;
  const int64_t cut_off = Join(blind).pid();
  TroubleFor(HowLong(milliseconds(500)));
  SwitchTo("y", SwitchMode::kBoth);

  std::ofstream(dir_.path() / "blind").flush();
  const int64_t blind_at = Now();
  // No store is sealed yet: it is its own copy of the record that forbids.
  Trouble(
      blind.config_lease * 2, [this] { TroubleOne(); }, [] { return true; });
  SwitchTo("x", SwitchMode::kBoth);
  TroubleFor(milliseconds(500));
  End();  // the keeper answers whether its stop token fired

  ExpectExclusion();
  ExpectOneLeaseOf(keeps);
  EXPECT_GE(EpochsOfGrants().size(), 3u);
  ExpectNothingBehind(cut_off, blind_at + microseconds(blind.config_lease).count());
}

INSTANTIATE_TEST_SUITE_P(Locks, LockSwitchesBetween,
                         ::testing::Values(Kinds("redis", "redis"), Kinds("redis", "postgres"),
                                           Kinds("zookeeper", "etcd"), Kinds("mariadb", "redis")),
                         [](const auto& tested) {
                           return tested.param.first + "_and_" + tested.param.second;
                         });

// The record is in a store of its own, to which everybody has a network, too.
class LockSwitchesByNetwork : public LockSwitches {
 protected:
  void SetUp() override {
    const StormEngine& etcd = StormEngineOf("etcd");
    ONCEMQ_REQUIRE_BACKEND(etcd.missing());
    record_ = etcd.start(true);
    at_record_ = EndpointOf(*record_);
    LockSwitches::SetUp();
  }
  // Under the epoch that is in force now.
  bool HeldByNow(int64_t process) const {
    const uint32_t epoch = operator_->Progress().epoch;
    const std::vector<Belief> beliefs = Beliefs();
    return std::any_of(beliefs.begin(), beliefs.end(), [&](const Belief& belief) {
      return belief.process == process && belief.fence.epoch >= epoch;
    });
  }

  std::unique_ptr<StormServer> record_;
};

TEST_F(LockSwitchesByNetwork, WhoHearsNothingOfTheRecordStopsAndGoesOnWhereTheOthersAreByThen) {
  AllowLeasesOf(milliseconds(6'000));
  JoinAll(Those(milliseconds(200), milliseconds(400)));
  const int64_t keeps = JoinAKeeper();
  PlayerOptions deaf = Quiet();
  deaf.record = RecordByANewNetwork();
  TcpProxy& to_record = *to_record_.back();
  const int64_t cut_off = Join(deaf).pid();
  TroubleFor(HowLong(milliseconds(500)));

  // Each for a whole switch: its questions hang, or are answered, and it hears of that later.
  using Mode = TcpProxy::Mode;
  for (const auto& [to, mode] : {std::pair("y", Mode::kSilent), {"x", Mode::kHoldReplies}}) {
    to_record.Set(mode);
    const int64_t since = Now();
    // No store is sealed yet: it is its own copy of the record that forbids.
    Trouble(
        deaf.config_lease * 2, [this] { TroubleOne(); }, [] { return true; });
    SwitchTo(to, SwitchMode::kBoth);
    const int64_t until = Now();
    to_record.Set(Mode::kPass);
    Trouble(
        milliseconds(0), [this] { TroubleOne(); }, [&] { return HeldByNow(cut_off); });
    ExpectNothingBehind(cut_off, since + microseconds(deaf.config_lease).count(), until);
  }
  End();

  ExpectExclusion();
  ExpectOneLeaseOf(keeps);
  EXPECT_GE(EpochsOfGrants().size(), 3u);
  ExpectAllFree(Quiet());
}

TEST_F(LockSwitches, AStoreThatIsKilledIsDrainedAndComesBackLater) {
  AllowLeasesOf(milliseconds(3'000));
  // Long leases: when the store is killed, its holders go on believing.
  JoinAll(Those(milliseconds(3'000), milliseconds(3'000)));
  TroubleFor(HowLong(milliseconds(500)));
  x_->Kill9();
  SwitchTo("y", SwitchMode::kDrain);
  TroubleFor(milliseconds(500));
  // With what was held in it when it was killed.
  x_->Restart();
  SwitchTo("x", SwitchMode::kBoth);
  TroubleFor(milliseconds(500));
  End();
  ExpectExclusion();
  EXPECT_GE(EpochsOfGrants().size(), 3u);
}

// Its holders believe on, so two may hold a name at a time, and only fences tell them apart.
TEST_F(LockSwitches, WhatIsFencedGoesOnAtOnceWhenAStoreIsKilled) {
  AllowLeasesOf(milliseconds(3'000));
  PlayerOptions player = Those(milliseconds(3'000), milliseconds(3'000));
  player.readers = 0;
  player.fenced = true;
  JoinAll(player);
  TroubleFor(HowLong(milliseconds(500)));
  x_->Kill9();
  SwitchTo("y", SwitchMode::kDrain);
  TroubleFor(milliseconds(500));
  End();
  ExpectFences();
  EXPECT_EQ(EpochsOfGrants(), (std::set<uint32_t>{1, 2, 3})) << "2 is the drain's";
}

// Some outlast a whole switch, and are counted in the store that they moved to.
TEST_F(LockSwitches, NoMoreHoldThanTheLimitSaysWhileTheyMoveThereAndBack) {
  AllowLeasesOf(milliseconds(1'500));
  PlayerOptions player = Those(milliseconds(600), milliseconds(4'000));
  player.counted = 50;
  player.names = 1;
  JoinAll(player);
  const auto trouble = [this] { TroubleOne(); };
  Trouble(HowLong(milliseconds(500)), trouble, [this] { return MostAtATime(Beliefs()) > 1; });
  for (const char* to : {"y", "x"}) {
    SwitchTo(to, SwitchMode::kBoth);
    TroubleFor(milliseconds(500));
  }
  // Who holds it alone does effects.
  Trouble(milliseconds(0), trouble, [this] { return !Ledger().empty(); });
  End();
  ExpectExclusion();
  EXPECT_EQ(TooMany(Beliefs()), std::vector<std::string>());
  EXPECT_GE(EpochsOfGrants().size(), 3u);
}

// Nobody orders anything here: stores fail, and those who play vote.
class LockVotes : public LockSwitches {
 protected:
  static constexpr milliseconds kLongest{500};

  void SetUp() override {
    LockSwitches::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    PlayerOptions like = NewPlayer();
    like.longest = kLongest;
    OpenOperator(like);
    like.votes = true;
    like.readers = 25;
    // A machine with much else to do fails nobody.
    like.call = milliseconds(5'000);
    JoinAll(like);
  }
  // How many want to leave the store in force.
  size_t Votes() const {
    const auto said = (*OpenFileSwitchStore(dir_.path() / "switch"))->Hear();
    size_t votes = 0;
    for (const auto& [who, word] : said ? *said : std::map<std::string, std::string>()) {
      const auto beat = ParseSwitchBeat(word);
      votes += beat && beat->leaves != 0 ? 1 : 0;
    }
    return votes;
  }
  void PauseSomebody() {
    PauseAPlayer();
    SleepFor(milliseconds(Below(100)));
  }
};

TEST_F(LockVotes, AStoreThatFailsOneIsKeptAndOneThatFailsAllIsLeftWithoutWhoIsCutOff) {
  PlayerOptions blind = Quiet();
  blind.longest = kLongest;
  blind.votes = true;
  blind.goes_blind = true;
  const int64_t cut_off = Join(blind).pid();
  const auto trouble = [this] { PauseSomebody(); };
  Trouble(HowLong(milliseconds(500)), trouble, [this] { return EverybodyHadATurn(); });

  // Nobody listens where its network leads to now.
  const LoopbackPort nobody;
  networks_[0]->PointTo(nobody.number());
  Trouble(milliseconds(0), trouble, [this] { return Votes() == 1; });
  Trouble(blind.config_lease, trouble, [] { return true; });
  EXPECT_EQ(operator_->Progress().in_force, "x") << "one vote of five";
  EXPECT_EQ(EpochsOfGrants(), std::set<uint32_t>{1});
  networks_[0]->PointTo(at_x_.port);

  std::ofstream(dir_.path() / "blind").flush();
  const int64_t blind_at = Now();
  x_->Kill9();
  UntilInForce("y");
  TroubleFor(milliseconds(500));
  // With what was held in it when it was killed.
  x_->Restart();
  y_->Kill9();
  UntilInForce("x");
  TroubleFor(milliseconds(500));
  End();

  ExpectExclusion();
  EXPECT_GE(EpochsOfGrants().size(), 3u) << "there and back";
  ExpectNothingBehind(cut_off, blind_at + microseconds(blind.config_lease).count());
}

}  // namespace
}  // namespace oncemq::testing
