// SPDX-License-Identifier: Apache-2.0
#include "switch_storm.h"

#include <filesystem>

#include "oncemq/locks/switch_stores.h"

namespace oncemq::testing {

std::vector<std::pair<std::string, std::string>> SwitchStorm::Addresses() const {
  return {{"x", at_x_.url(at_x_.port)}, {"y", at_y_.url(at_y_.port)}};
}

std::string SwitchStorm::RecordByANewNetwork() {
  if (at_record_.port == 0) {
    return "";
  }
  to_record_.push_back(std::make_unique<TcpProxy>(at_record_.port));
  return at_record_.url(to_record_.back()->port());
}

void SwitchStorm::OpenOperator(const PlayerOptions& like) {
  std::filesystem::create_directory(dir_.path() / "switch");
  SwitchboardOptions board;
  board.config_lease = like.config_lease;
  board.longest = like.longest;
  board.automatic = false;
  std::vector<NamedLocks> stores;
  for (const auto& [name, address] : Addresses()) {
    auto store = NamedLocksAt(name, address, "");
    ASSERT_TRUE(store.has_value()) << ToString(store.error());
    stores.push_back(*std::move(store));
  }
  PlayerOptions at = like;
  at.record = Record();
  const auto record = OpenSwitchStore(RecordOf(at));
  ASSERT_TRUE(record.has_value()) << ToString(record.error());
  auto locks = SwitchedLocks::Open(stores, *record, board);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  operator_ = *std::move(locks);
}

void SwitchStorm::JoinAll(const PlayerOptions& like) {
  MakeNetworks({at_x_.port});
  for (const auto& to_x : networks_) {
    to_y_.push_back(std::make_unique<TcpProxy>(at_y_.port));
    PlayerOptions player = like;
    player.seed = NewPlayer().seed;
    player.stores = {{"x", at_x_.url(to_x->port())}, {"y", at_y_.url(to_y_.back()->port())}};
    player.record = RecordByANewNetwork();
    Join(player);
  }
}

void SwitchStorm::TroubleOne() {
  if (Below(2) == 0) {
    PauseAPlayer();
  } else {
    const size_t which = Below(kPlayers);
    const auto set = [&](TcpProxy::Mode to) {
      networks_[which]->Set(to);
      to_y_[which]->Set(to);
      if (!to_record_.empty()) {
        to_record_[which]->Set(to);
      }
    };
    set(Below(2) == 0 ? TcpProxy::Mode::kSilent : TcpProxy::Mode::kSwallowReplies);
    SleepFor(Moment() / 2);
    set(TcpProxy::Mode::kPass);
  }
  SleepFor(milliseconds(Below(200)));
}

void SwitchStorm::TroubleFor(milliseconds time) {
  const size_t before = Beliefs().size();
  Trouble(
      time, [this] { TroubleOne(); },
      [&] { return EverybodyHadATurn() && Beliefs().size() > before; });
}

void SwitchStorm::SwitchTo(const std::string& name, SwitchMode by) {
  bool begun = false;
  const auto done = [&] {
    const LockSwitch at = operator_->Progress();
    if (at.phase != SwitchMode::kSingle || at.in_force == name) {
      return at.phase == SwitchMode::kSingle;
    }
    if (const auto now = operator_->SwitchTo(name, "the storm")) {
      EXPECT_EQ(now->phase, by);
      begun = true;
    }
    return false;
  };
  done();
  Trouble(
      milliseconds(0), [this] { TroubleOne(); }, done);
  EXPECT_TRUE(begun);
}

void SwitchStorm::UntilInForce(const std::string& name) {
  Trouble(
      milliseconds(0), [this] { TroubleOne(); },
      [&] {
        const LockSwitch at = operator_->Progress();
        return at.phase == SwitchMode::kSingle && at.in_force == name;
      });
}

std::set<uint32_t> SwitchStorm::EpochsOfGrants() const {
  std::set<uint32_t> epochs;
  for (const Belief& belief : Beliefs()) {
    epochs.insert(belief.fence.epoch);
  }
  return epochs;
}

void SwitchStorm::ExpectNothingBehind(int64_t process, int64_t at, int64_t until) const {
  size_t refused = 0;
  for (const LockCall& call : Calls()) {
    if (call.process == process && call.requested_at > at && call.answered_at <= until) {
      refused++;
      EXPECT_NE(call.answer, LockCall::Answer::kGranted) << ToString(call);
      EXPECT_NE(call.answer, LockCall::Answer::kExtended) << ToString(call);
    }
  }
  EXPECT_GT(refused, 0u) << "it did not ask any more";
}

}  // namespace oncemq::testing
