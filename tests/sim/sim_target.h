// SPDX-License-Identifier: Apache-2.0
// SimTarget: where effects land. It takes what its level lets in and forgets nothing; the history
// keeps every effect, so that a second one is seen. At level guarded it stores the id with the
// effect; with `fence` it also refuses an ownership below the highest one installed for the key.
//
// Thread safety: none.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "config.h"
#include "history.h"

namespace oncemq::sim {

class SimTarget {
 public:
  SimTarget(const Config& config, EventLoop& loop, History& history)
      : config_(config), loop_(loop), history_(history) {}

  enum class Reply : uint8_t { kAccepted, kAlreadyDone, kOldFence };

  // Before anything is read that the effect depends on.
  bool InstallFence(const DeliveryFacts& by, uint64_t owner_epoch);
  Reply Effect(uint32_t delivery, uint64_t owner_epoch);

 private:
  const Config& config_;
  EventLoop& loop_;
  History& history_;
  std::set<uint32_t> known_;
  std::map<std::pair<int32_t, int32_t>, uint64_t> fences_;  // by (partition, key)
};

}  // namespace oncemq::sim
