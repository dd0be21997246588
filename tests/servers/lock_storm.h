// SPDX-License-Identifier: Apache-2.0
// What the storms are made of: players in processes of their own, each with a network of its own,
// the troubles that they can be in, and the judges of what they wrote down.
//
//   ONCEMQ_LOCK_STORM_SECONDS=60   how long each storm is played at least
//   ONCEMQ_LOCK_STORM_SEED=7       other ones
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "effect_sink.h"
#include "linear_locks.h"
#include "lock_history.h"
#include "player_options.h"
#include "storm_engines.h"
#include "support/process.h"
#include "support/tcp_proxy.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

inline constexpr size_t kPlayers = 4;

// Thread safety: none.
class LockStorm : public ::testing::Test {
 protected:
  LockStorm();

  PlayerOptions NewPlayer() {
    return {.directory = dir_.path(), .seed = static_cast<int>(Below(1'000'000))};
  }
  // A network to each of these ports for each player that is to come.
  void MakeNetworks(const std::vector<uint16_t>& ports);
  // Where those of a player begin.
  std::vector<uint16_t> PortsOf(size_t player) const;
  Process& Join(const PlayerOptions& player);

  // Troubles the players, for so long at least, and until there is what was waited for. Fails the
  // test if that takes too long.
  void Trouble(milliseconds at_least, const std::function<void()>& trouble,
               const std::function<bool()>& enough);
  // Lets the players end, and waits for them.
  void End();
  // Behind the end: no name stays with anybody. `player`: as the others were, on the way to the
  // server itself.
  void ExpectAllFree(PlayerOptions player);
  // As short as it is by default, or as the environment says.
  static milliseconds HowLong(milliseconds otherwise);

  // Troubles of one player, or of one network; they last for a moment.
  void PauseAPlayer(std::optional<milliseconds> time = {});  // none: a moment
  void SilenceANetwork() { Disturb(TcpProxy::Mode::kSilent); }
  void SwallowReplies() { Disturb(TcpProxy::Mode::kSwallowReplies); }
  void CutNetworks();
  // One of these, or one of the server. `kills`: also that it is killed.
  void AnyTrouble(StormServer& server, bool kills = true);
  milliseconds Moment();
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  std::vector<Belief> Beliefs() const { return ReadBeliefs(dir_.path() / "beliefs"); }
  std::vector<LockCall> Calls() const { return ReadCalls(dir_.path() / "calls"); }
  std::vector<EffectLine> Ledger() const { return ReadLedger(dir_.path() / "ledger"); }
  bool EverybodyHadATurn() const;

  // Nobody believes what another one does; there is one order of all calls; fences grow.
  void ExpectExclusion() const;
  // The name may be held twice: the fences tell, and no effect is wrong that checks them.
  void ExpectFences() const;

  const uint64_t seed_;
  milliseconds lease_{200};  // by which it goes how long a trouble lasts
  milliseconds session_{0};  // what one in eight outlasts, if there are sessions
  LinearRules rules_;
  std::mt19937 random_;
  const TempDir dir_;
  Networks networks_;  // those of a player are neighbours
  std::vector<std::unique_ptr<Process>> players_;

 private:
  // A network is that of one player; or, where a store has several servers, that of one server.
  void Disturb(TcpProxy::Mode mode);
  std::string Description() const {
    return "of " + std::to_string(Calls().size()) +
           " calls; ONCEMQ_LOCK_STORM_SEED=" + std::to_string(seed_);
  }
};

}  // namespace oncemq::testing
