// SPDX-License-Identifier: Apache-2.0
// Storms over two stores, x and y, of one kind or of two, of which one is in force: the players
// reach each of them over a network of its own, and the test is an operator whom no trouble comes
// to.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lock_storm.h"
#include "oncemq/locks/switched_locks.h"

namespace oncemq::testing {

class SwitchStorm : public LockStorm {
 protected:
  // Where a store is, and what it is called by whoever comes to it by way of a port.
  struct Endpoint {
    uint16_t port;
    std::function<std::string(uint16_t port)> url;
  };
  // Of x and y, for those whom no trouble is to come to.
  std::vector<std::pair<std::string, std::string>> Addresses() const;
  // Of the record, for those, too. Empty: it is in the directory.
  std::string Record() const { return at_record_.port == 0 ? "" : at_record_.url(at_record_.port); }
  // By way of another network than all before, which becomes the last of to_record_.
  std::string RecordByANewNetwork();
  void OpenOperator(const PlayerOptions& like);
  // A player like this one for each network. Before others get networks to the record.
  void JoinAll(const PlayerOptions& like);
  // The players must not lose their networks first, nor the operator its stores.
  void TearDown() override {
    players_.clear();
    operator_.reset();
  }

  void TroubleOne();
  // And until everybody had a turn, and somebody one since.
  void TroubleFor(milliseconds time);
  // Until it alone is in force. Begins again if somebody calls it off, whom the target fails.
  void SwitchTo(const std::string& name, SwitchMode by);
  // Until somebody has done that: those who vote.
  void UntilInForce(const std::string& name);

  std::set<uint32_t> EpochsOfGrants() const;
  static int64_t Now() { return SystemClock::Instance().Boot().time_since_epoch().count(); }
  // What a process whose word of the record ended then must not get any more, before it hears of it
  // again; that it asked at all.
  void ExpectNothingBehind(int64_t process, int64_t at, int64_t until = LockCall::kNever) const;

  Endpoint at_x_{};  // to be set first of all
  Endpoint at_y_{};
  Endpoint at_record_{};  // none: in the directory
  std::vector<std::unique_ptr<TcpProxy>> to_y_;
  std::vector<std::unique_ptr<TcpProxy>> to_record_;
  std::shared_ptr<SwitchedLocks> operator_;
};

}  // namespace oncemq::testing
