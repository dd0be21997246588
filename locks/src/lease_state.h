// SPDX-License-Identifier: Apache-2.0
// LeaseState: what the holder of a lease may believe, and what is to be done for it. Without clock
// or I/O.
//
// L1  A hold is safe until the *sending* of the last request that the store acknowledged, plus the
//     lease, less what clocks may differ in, less a margin for those who must stop.
// L2  A renewal that was not acknowledged changes nothing; it is sent again.
// L3  At that moment the hold is lost, once and for ever: a late acknowledgement changes nothing.
// L4  It is lost at once when the store says so, when max_hold is over, at the moment that ends it
//     in any case, or when the domain closes.
// L5  What was released is renewed no more, and not told as lost.
// L6  What the engine doubts is renewed at once, and once more if a renewal was on its way: it may
//     have been answered before. Doubt changes nothing in what may be believed.
// L7  Where the right to hold comes from elsewhere, its end is moved while it is held, to a later
//     moment or an earlier one, at once. What has ended by then stays lost (L3).
// L8  A renewal waits for its answer for a sixth of the lease, so that an answer that gets lost
//     leaves time for another renewal. That one may take all that is left: a store that is slow, or
//     a connection that is to be made, needs more than a sixth.
#pragma once

#include <algorithm>
#include <optional>

#include "oncemq/base/clock.h"
#include "oncemq/locks/lease.h"

namespace oncemq {

struct LeaseTimes {
  milliseconds lease{30'000};
  milliseconds margin{3'000};
  milliseconds max_hold{0};      // 0: no such limit
  std::optional<BootTime> ends;  // not later than this

  // How long after its request a grant may be relied on.
  milliseconds Safe() const;
  // When a hold that was asked for then ends in any case.
  std::optional<BootTime> End(BootTime requested_at) const;
};

class LeaseState {
 public:
  LeaseState(const LeaseTimes& times, BootTime requested_at);

  // What is to be done, as of now.
  struct Due {
    bool renew = false;
    std::optional<LeaseLoss> lost;  // said once
  };
  Due At(BootTime now);
  // The next moment at which something may be due. None: it is over.
  std::optional<BootTime> next() const;

  void Renewed(BootTime requested_at, BootTime now);
  void RenewalFailed(BootTime now);
  // Not later than this, in place of what was said so before; times.ends stays.
  void EndAt(BootTime end, BootTime now);
  // How long a renewal that is sent now waits for its answer.
  milliseconds AnswerWithin(BootTime now) const;
  // The engine says that it may have ended.
  void Warned();
  // The store, or whoever owns the hold, ends it. What it is lost by is said by the next At().
  void End(LeaseLoss why);

  // The end of max_hold counts, too.
  BootTime safe_until() const;
  LeaseLoss lost() const { return lost_; }

 private:
  void RenewAt(BootTime at);
  BootTime too_long_at() const { return std::min(longest_, end_); }

  const LeaseTimes times_;
  const BootTime longest_;  // what the times say
  BootTime end_ = BootTime::max();
  BootTime safe_until_;
  BootTime renew_at_;
  bool renewing_ = false;  // a renewal is on its way
  bool warned_ = false;    // since it was sent
  bool failed_ = false;    // the last renewal
  LeaseLoss lost_ = LeaseLoss::kNot;
  bool reported_ = false;
};

}  // namespace oncemq
