// SPDX-License-Identifier: Apache-2.0
// MarkerRules: what a request does to a marker that is not done. The guards of transitions 1 to 7,
// without storage: a window finds the marker and applies the verdict, in one step.
//
// Ownership of the caller is checked before (OwnershipHolds); `owned` is the record of the
// request's partition, or nullptr.
//
// Thread safety: immutable after construction.
#pragma once

#include "marker_table.h"
#include "oncemq/dedup/window.h"
#include "owners.h"

namespace oncemq {

class MarkerRules {
 public:
  MarkerRules(Level level, const WindowTimes& times)
      : opaque_(level == Level::kOpaque), times_(times) {}

  // none -> open. `fresh` is a new marker; also the last step of a takeover.
  void Grant(Marker& fresh, const ClaimRequest& request, BootTime now, ClaimAnswer& answer) const;

  // open -> open, or the reason why not. `holder`: the ownership record of the marker's partition.
  void Claim(Marker& marker, const ClaimRequest& request, const OwnerRecord* holder, BootTime now,
             ClaimAnswer& answer) const;

  // A claim or an ownership of the future says that the clock of the store was set back: the claim
  // then counts as claimed now, and lasts as long as it would have. Once, so it ends: the caller
  // keeps the marker where this is true. `holder` as above.
  bool CutToClock(Marker& marker, const OwnerRecord* holder, BootTime now) const;

  // Whether a claim of another caller without ownership would be uncertain, were it granted now; of
  // a claim that is held still, whether an earlier attempt is. `holder` as above.
  bool IsUncertain(const Marker& marker, const OwnerRecord* holder, BootTime now) const;

  // open -> done, judged by the token alone (rule 15).
  bool MayComplete(const Marker& marker, const CompleteRequest& request) const;

  enum class Released { kRefused, kErase, kKept };
  Released Release(Marker& marker, const ReleaseRequest& request) const;

  bool Park(Marker& marker, const ParkRequest& request, const OwnerRecord* owned) const;
  bool Renew(Marker& marker, const RenewRequest& request, const OwnerRecord* owned,
             BootTime now) const;
  bool MayRestore(const Marker& marker, const RestoreRequest& request, BootTime now) const;

 private:
  // parked -> open, by IsRedrive().
  void Reopen(Marker& parked, const ClaimRequest& request, BootTime now, ClaimAnswer& answer) const;
  // `lease`: of the claim; 0: the window's.
  BootTime LeaseEnd(const Marker& marker, milliseconds lease, BootTime now) const;
  // `lease`: of the renewal; 0: the window's.
  BootTime RenewedEnd(const Marker& marker, milliseconds lease, BootTime now) const;
  // No renewal after it.
  BootTime Longest(const Marker& marker) const;
  // What a takeover of this open marker has to tell.
  bool TakeoverIsUncertain(const Marker& marker) const;
  BootTime HolderEnds(const Marker& marker, const ClaimRequest& request,
                      const OwnerRecord* holder) const;

  bool opaque_;
  WindowTimes times_;
};

// The same id with another payload. A fingerprint that was not taken conflicts with nothing.
bool Conflicts(uint32_t known, uint32_t claimed);

// A claim for the parked record of the id. Its number stays in the marker while it runs.
bool IsRedrive(const Marker& marker, const ClaimRequest& request);

}  // namespace oncemq
