// SPDX-License-Identifier: Apache-2.0
// Storms over two stores, x and y, of which one is in force: the players reach each of them over a
// network of its own, and the test is an operator whom no trouble comes to.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lock_storm.h"
#include "oncemq/locks/switched_locks.h"

namespace oncemq::testing {

class SwitchStorm : public LockStorm {
 protected:
  void OpenOperator(const NamedLocks& x, const NamedLocks& y, const PlayerOptions& like);
  // A player like this one for each network, which leads to these ports.
  void JoinAll(const PlayerOptions& like, const std::string& scheme, uint16_t x, uint16_t y);
  // The players must not lose their networks first.
  void TearDown() override { players_.clear(); }

  static std::string Url(const std::string& scheme, uint16_t port) {
    return scheme + "://127.0.0.1:" + std::to_string(port);
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
  // What a process whose word of the record ended then must not get any more; that it asked at all.
  void ExpectNothingBehind(int64_t process, int64_t at) const;

  std::vector<std::unique_ptr<TcpProxy>> to_y_;
  std::shared_ptr<SwitchedLocks> operator_;
};

}  // namespace oncemq::testing
