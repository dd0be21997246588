// SPDX-License-Identifier: Apache-2.0
#include "lock_storm.h"

#include <algorithm>
#include <fstream>

#include "sim/how_much.h"

namespace oncemq::testing {
namespace {

// A machine with much else to do renews few leases in time.
constexpr milliseconds kAtMost{150'000};

}  // namespace

LockStorm::LockStorm()
    : seed_(sim::FromEnvironment("ONCEMQ_LOCK_STORM_SEED", 11)),
      random_(static_cast<uint32_t>(seed_)) {}

void LockStorm::MakeNetworks(const std::vector<uint16_t>& ports) {
  networks_.clear();
  for (size_t i = 0; i < kPlayers; i++) {
    for (const uint16_t port : ports) {
      networks_.push_back(std::make_unique<TcpProxy>(port));
    }
  }
}

std::vector<uint16_t> LockStorm::PortsOf(size_t player) const {
  const size_t servers = networks_.size() / kPlayers;
  std::vector<uint16_t> ports;
  for (size_t i = 0; i < servers; i++) {
    ports.push_back(networks_[player * servers + i]->port());
  }
  return ports;
}

Process& LockStorm::Join(const PlayerOptions& player) {
  std::vector<std::string> command = WordsOf(player);
  command.insert(command.begin(), ONCEMQ_LOCK_PLAYER);
  players_.push_back(std::make_unique<Process>(
      ProcessOptions{.command = command, .log_file = dir_.path() / "log"}));
  return *players_.back();
}

milliseconds LockStorm::HowLong(milliseconds otherwise) {
  const uint64_t seconds = sim::FromEnvironment("ONCEMQ_LOCK_STORM_SECONDS", 0);
  return seconds == 0 ? otherwise : milliseconds(seconds * 1'000);
}

void LockStorm::Trouble(milliseconds at_least, const std::function<void()>& trouble,
                        const std::function<bool()>& enough) {
  const BootTime began = BootNow();
  bool seen = false;
  while (!seen && BootNow() < began + at_least + kAtMost) {
    trouble();
    seen = BootNow() >= began + at_least && enough();
  }
  EXPECT_TRUE(seen) << "what was waited for did not come; " << Description();
}

void LockStorm::End() {
  std::ofstream(dir_.path() / "end").flush();
  for (const auto& player : players_) {
    EXPECT_EQ(player->Wait(std::chrono::seconds(60)), 0) << Description();
  }
}

void LockStorm::ExpectAllFree(PlayerOptions player) {
  // Long, so that a slow machine is no trouble.
  player.call = milliseconds(10'000);
  player.comes_last = true;
  EXPECT_EQ(Join(player).Wait(std::chrono::seconds(120)), 0) << Description();
  players_.pop_back();
}

void LockStorm::PauseAPlayer(std::optional<milliseconds> time) {
  Process& victim = *players_[Below(kPlayers)];
  victim.Pause();
  SleepFor(time ? *time : Moment());
  victim.Continue();
}

milliseconds LockStorm::Moment() {
  if (session_ > milliseconds(0) && Below(8) == 0) {
    return session_ * 5 / 4;
  }
  return milliseconds(20 + Below(2 * static_cast<uint32_t>(lease_.count())));
}

void LockStorm::Disturb(TcpProxy::Mode mode) {
  const auto servers = static_cast<uint32_t>(networks_.size() / kPlayers);
  const bool of_player = servers == 1 || Below(2) == 0;
  const uint32_t which = Below(of_player ? kPlayers : servers);
  const auto set = [&](TcpProxy::Mode to) {
    for (size_t i = 0; i < networks_.size(); i++) {
      if ((of_player ? i / servers : i % servers) == which) {
        networks_[i]->Set(to);
      }
    }
  };
  set(mode);
  SleepFor(Moment());
  set(TcpProxy::Mode::kPass);
}

void LockStorm::CutNetworks() {
  for (const auto& network : networks_) {
    network->Cut();
  }
}

void LockStorm::AnyTrouble(StormServer& server, bool kills) {
  switch (Below(kills ? 7 : 6)) {
    case 0:
      PauseAPlayer();
      break;
    case 1:
      server.Pause();
      SleepFor(Moment());
      server.Continue();
      break;
    case 2:
      CutNetworks();
      break;
    case 3:
    case 4:
      SilenceANetwork();
      break;
    case 5:
      SwallowReplies();
      break;
    default:
      server.Kill9();
      SleepFor(Moment() / 4);
      server.Restart();
  }
  SleepFor(milliseconds(Below(200)));
}

bool LockStorm::EverybodyHadATurn() const {
  std::set<int64_t> who;
  for (const Belief& belief : Beliefs()) {
    who.insert(belief.process);
  }
  return who.size() == players_.size();
}

void LockStorm::ExpectExclusion() const {
  const std::vector<Belief> beliefs = Beliefs();
  EXPECT_EQ(Overlaps(beliefs), std::vector<std::string>()) << Description();
  EXPECT_EQ(FencesOutOfOrder(beliefs), std::vector<std::string>()) << Description();
  for (const std::string& wrong : NotLinear(Calls(), rules_)) {
    ADD_FAILURE() << wrong << Description();
  }
  ExpectFences();
}

void LockStorm::ExpectFences() const {
  LinearRules forgets = rules_;
  forgets.keeps_holds = false;
  for (const std::string& wrong : NotLinear(Calls(), forgets)) {
    ADD_FAILURE() << wrong << Description();
  }
  const std::vector<EffectLine> ledger = Ledger();
  const std::vector<Belief> beliefs = Beliefs();
  const bool fenced = std::any_of(beliefs.begin(), beliefs.end(),
                                  [](const Belief& belief) { return !belief.fence.empty(); });
  EXPECT_EQ(!ledger.empty(), fenced) << "nobody did anything; " << Description();
  RecordProperty("calls", static_cast<int>(Calls().size()));
  RecordProperty("holds", static_cast<int>(beliefs.size()));
  RecordProperty("effects", static_cast<int>(ledger.size()));
  RecordProperty("refused", static_cast<int>(CountRefused(ledger)));
  EXPECT_EQ(LostUpdates(ledger), std::vector<std::string>()) << Description();
  EXPECT_EQ(FencesPassedOver(ledger), std::vector<std::string>()) << Description();
}

}  // namespace oncemq::testing
