// SPDX-License-Identifier: Apache-2.0
// Election: of all who campaign for a name one leads, the others stand by. A leader is the holder
// of a lease, so all that is said of leases is true of it: it learns in time that it leads no more,
// code that does not look goes on, and effects that must not come from an earlier leader carry the
// fence.
//
//   std::jthread campaign([&](std::stop_token stop) {
//     const Status ended = Campaign(*domain, "scheduler", [](const Lease& lease, auto lost) {
//       while (!lost.stop_requested()) RunDueJobs(lease.fence());
//     }, stop);
//     if (!ended) Tell(ended.error());
//   });
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

// Called each time this process has come to lead. `stop` is requested when the lease is lost, when
// somebody asks for it back, and when the campaign is to end. To return is to resign.
using Lead = std::function<void(const Lease& lease, std::stop_token stop)>;

struct CampaignOptions {
  milliseconds term{0};  // the longest time in office; 0: no limit
  // Behind each term, and each failure of the store. The others come first, though they may ask in
  // intervals (of a second, nearly); and one that resigns at once does not take and release the
  // name all the time.
  milliseconds pause{1'000};
  std::string_view what;  // for people who look
};

// Campaigns until `stop` is requested: stands by, leads, and behind each term pauses and stands by
// again. On the caller's thread. A store that fails is waited for. Failures: kInvalid and
// kFenced, as nothing of it helps to repeat.
Status Campaign(LockDomain& domain, std::string_view name, const Lead& lead, std::stop_token stop,
                const CampaignOptions& options = {});

// Who leads now; nobody may. A look, never the base of a decision.
Result<std::optional<LockView::Party>> LeaderOf(LockEngine& engine, std::string_view name);

}  // namespace oncemq
