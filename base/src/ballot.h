// SPDX-License-Identifier: Apache-2.0
// Ballot: says in the SwitchStore that this process lives and what it votes, and counts the votes
// of all. One thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/base/switch_store.h"
#include "oncemq/base/switch_votes.h"

namespace oncemq {

class Ballot {
 public:
  Ballot(std::shared_ptr<SwitchStore> store, std::string who)
      : store_(std::move(store)), who_(std::move(who)) {}
  // Takes back that it lives, where nothing else is said any more.
  void Leave(SwitchStore& store) { static_cast<void>(store.Bury(who_)); }

  // Whether a quorum wants to leave the store of this epoch.
  Result<bool> Hold(uint32_t epoch, bool leaves, milliseconds lease, BootTime now);
  // From any thread.
  size_t living() const { return living_; }

 private:
  const std::shared_ptr<SwitchStore> store_;
  const std::string who_;
  std::optional<SwitchVotes> votes_;
  uint64_t beat_ = 0;
  std::atomic<size_t> living_{0};
};

}  // namespace oncemq
