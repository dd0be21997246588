// SPDX-License-Identifier: Apache-2.0
#include "marker_rules.h"

#include <algorithm>

#include "oncemq/base/check.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

// A claim may come from the future by as much as an answer takes.
constexpr microseconds kSetBack = std::chrono::seconds(1);

bool SameToken(const Marker& marker, const Token& token) {
  return marker.state == MarkerState::kOpen && marker.token == token;
}

// The claimant owns exactly this partition now, and the marker was claimed under an earlier
// ownership of it. A claim without ownership (replay, gate) is no earlier owner's: its holder may
// be alive and is waited for (rule 8).
bool TakesOverByOwnership(const Marker& marker, const ClaimRequest& request) {
  if (marker.at != request.at) {
    return false;
  }
  return marker.owner_epoch != 0 && marker.owner_epoch < request.owner_epoch;
}

}  // namespace

bool Conflicts(uint32_t known, uint32_t claimed) {
  return known != 0 && claimed != 0 && known != claimed;
}

bool IsRedrive(const Marker& marker, const ClaimRequest& request) {
  const bool same_record = request.parked_entry != 0 && marker.entry == request.parked_entry;
  return same_record && marker.at == request.at;
}

void MarkerRules::Grant(Marker& marker, const ClaimRequest& request, BootTime now,
                        ClaimAnswer& answer) const {
  marker.state = MarkerState::kOpen;
  marker.held = true;
  marker.cut = false;
  marker.token = request.token;
  marker.owner_epoch = request.owner_epoch;
  marker.at = request.at;
  marker.attempt++;
  marker.granted_at = now;
  marker.lease_end = LeaseEnd(marker, request.lease, now);
  if (request.fingerprint != 0) {
    marker.fingerprint = request.fingerprint;
  }
  answer.answer = ClaimVerdict::kGranted;
  answer.attempt = marker.attempt;
  answer.uncertain = marker.uncertain;
}

void MarkerRules::Claim(Marker& marker, const ClaimRequest& request, const OwnerRecord* holder,
                        BootTime now, ClaimAnswer& answer) const {
  // An operator may have corrected the payload.
  const bool redrive = IsRedrive(marker, request);
  if (redrive && marker.state == MarkerState::kParked) {
    Reopen(marker, request, now, answer);
    return;
  }
  if (marker.state != MarkerState::kOpen) {
    if (Conflicts(marker.fingerprint, request.fingerprint)) {
      answer.answer = ClaimVerdict::kConflict;  // no copy of the message on record
      return;
    }
    answer.answer = ClaimVerdict::kAttached;
    answer.attached = marker.state;
    answer.entry = marker.entry;
    return;
  }
  const bool again = marker.held && marker.token == request.token && now < Longest(marker);
  if (again) {
    marker.owner_epoch = std::max(marker.owner_epoch, request.owner_epoch);
    marker.lease_end = std::max(marker.lease_end, LeaseEnd(marker, request.lease, now));
    answer.answer = ClaimVerdict::kGranted;
    answer.attempt = marker.attempt;
    answer.uncertain = marker.uncertain;
    return;
  }
  if (!redrive && Conflicts(marker.fingerprint, request.fingerprint)) {
    answer.answer = ClaimVerdict::kConflict;
    return;
  }
  const BootTime ends = HolderEnds(marker, request, holder);
  if (now < ends) {
    answer.answer = ClaimVerdict::kInFlight;
    answer.wait = ends - now;
    return;
  }
  const bool uncertain = TakeoverIsUncertain(marker);
  if (uncertain && request.not_if_uncertain) {
    answer.answer = ClaimVerdict::kInFlight;
    answer.uncertain = true;
    return;
  }
  marker.uncertain = uncertain;
  Grant(marker, request, now, answer);
}

void MarkerRules::Reopen(Marker& parked, const ClaimRequest& request, BootTime now,
                         ClaimAnswer& answer) const {
  if (parked.uncertain && request.not_if_uncertain) {
    answer.answer = ClaimVerdict::kInFlight;
    answer.uncertain = true;
    return;
  }
  Grant(parked, request, now, answer);
}

bool MarkerRules::CutToClock(Marker& marker, const OwnerRecord* holder, BootTime now) const {
  if (marker.state != MarkerState::kOpen || !marker.held) {
    return false;
  }
  // As HolderEnds() waits for it.
  const bool silenced = opaque_ && !marker.cut && marker.owner_epoch != 0 && holder != nullptr &&
                        holder->owner_epoch > marker.owner_epoch;
  const microseconds raised = silenced ? holder->raised_at - now : microseconds(0);
  const microseconds back = std::max<microseconds>(marker.granted_at - now, raised);
  if (back < kSetBack) {
    return false;
  }
  marker.granted_at -= back;
  ONCEMQ_CHECK(marker.granted_at <= now, "a claim that was cut counts from now at the latest");
  marker.lease_end -= back;
  if (raised >= kSetBack) {
    marker.lease_end = std::max<BootTime>(marker.lease_end, now + times_.handler_timeout);
    marker.cut = true;
  }
  LogSeldom(LogLevel::kWarn, "window",
            "the clock of the window's store was set back: claims of the future count from now",
            {{"back_s", std::chrono::duration_cast<std::chrono::seconds>(back).count()}});
  return true;
}

bool MarkerRules::IsUncertain(const Marker& marker, const OwnerRecord* holder, BootTime now) const {
  const bool open = marker.state == MarkerState::kOpen;
  const bool ended = open && now >= HolderEnds(marker, ClaimRequest{}, holder);
  return ended ? TakeoverIsUncertain(marker) : marker.uncertain;
}

bool MarkerRules::TakeoverIsUncertain(const Marker& marker) const {
  return marker.uncertain || (opaque_ && marker.held);
}

// From when on nobody but the claimant can act for this id; at the guarded level, from when on it
// does not matter. `holder` is the ownership record of the marker's own partition.
BootTime MarkerRules::HolderEnds(const Marker& marker, const ClaimRequest& request,
                                 const OwnerRecord* holder) const {
  if (!marker.held) {
    return BootTime::min();
  }
  const bool successor = TakesOverByOwnership(marker, request);
  if (successor && !opaque_) {
    return BootTime::min();
  }
  // Once its partition has a newer owner, the holder can't renew any more, though its handler may
  // run on in time: its silence proves nothing to anybody before the handler's time-out.
  // Only a holder that asks again itself is known not to act.
  const bool silenced = marker.owner_epoch != 0 && holder != nullptr &&
                        holder->owner_epoch > marker.owner_epoch && marker.token != request.token &&
                        !marker.cut;
  if (opaque_ && silenced) {
    return std::max<BootTime>(marker.lease_end, holder->raised_at + times_.handler_timeout);
  }
  return marker.lease_end;
}

bool MarkerRules::MayComplete(const Marker& marker, const CompleteRequest& request) const {
  return SameToken(marker, request.token);
}

MarkerRules::Released MarkerRules::Release(Marker& marker, const ReleaseRequest& request) const {
  if (marker.state == MarkerState::kParked && request.parked_entry != 0) {
    return marker.entry == request.parked_entry ? Released::kKept : Released::kRefused;
  }
  if (!SameToken(marker, request.token)) {
    return Released::kRefused;
  }
  // This attempt had no effect, yet an earlier one may have: that knowledge must not go with the
  // claim.
  const bool uncertain = request.uncertain || marker.uncertain;
  // A handler that was not called, or did nothing, has spent no attempt. Once: a release may be
  // repeated.
  const bool spent = request.uncertain || request.failed;
  if (marker.held && !spent && marker.attempt > 0) {
    marker.attempt--;
  }
  if (request.parked_entry != 0) {
    marker.state = MarkerState::kParked;
    marker.entry = request.parked_entry;
    marker.held = false;
    marker.uncertain = uncertain;
    return Released::kKept;
  }
  const bool counts = marker.attempt > 0 && marker.at.partition != kNoPartition;
  if (!uncertain && !counts) {
    return Released::kErase;
  }
  marker.held = false;
  marker.uncertain = uncertain;
  if (!uncertain) {  // of no effect there is nothing to know
    marker.fingerprint = 0;
    marker.cut = false;
  }
  return Released::kKept;
}

bool MarkerRules::Park(Marker& marker, const ParkRequest& request, const OwnerRecord* owned) const {
  if (marker.state == MarkerState::kParked) {
    return marker.entry == request.entry;
  }
  const bool mine = marker.held && SameToken(marker, request.token);
  if (!mine) {
    return false;
  }
  // The next owner has read the records of parked messages by then, and would not know of this one.
  if (!OwnershipHolds(marker.owner_epoch, owned)) {
    return false;
  }
  marker.state = MarkerState::kParked;
  marker.entry = request.entry;
  return true;
}

bool MarkerRules::Renew(Marker& marker, const RenewRequest& request, const OwnerRecord* owned,
                        BootTime now) const {
  const bool mine = marker.held && SameToken(marker, request.token);
  if (!mine) {
    return false;
  }
  // Another owner may take it over at any moment: the old one must not believe that it still holds
  // it.
  if (!OwnershipHolds(marker.owner_epoch, owned)) {
    return false;
  }
  if (now >= Longest(marker)) {
    return false;
  }
  marker.lease_end = std::max(marker.lease_end, RenewedEnd(marker, request.lease, now));
  return true;
}

// The id is finished by an earlier owner's word. A claim that nobody holds any more, or whose lease
// has ended, must not stand against that: its own delivery may be queued behind the one that waits
// for this answer, and would wait for ever.
bool MarkerRules::MayRestore(const Marker& marker, const RestoreRequest& request,
                             BootTime now) const {
  if (marker.state != MarkerState::kOpen) {
    return false;
  }
  const bool deserted = !marker.held || now >= marker.lease_end;
  if (deserted) {
    return true;
  }
  return marker.at == request.at && marker.owner_epoch < request.owner_epoch;
}

BootTime MarkerRules::LeaseEnd(const Marker& marker, milliseconds lease, BootTime now) const {
  const bool own = lease > milliseconds(0);
  const milliseconds its = own ? lease : times_.lease;
  return std::min<BootTime>(now + its, marker.granted_at + std::max(its, times_.max_lease));
}

BootTime MarkerRules::RenewedEnd(const Marker& marker, milliseconds lease, BootTime now) const {
  const bool own = lease > milliseconds(0);
  return own ? std::min<BootTime>(now + lease, marker.granted_at + kLongestClaim)
             : LeaseEnd(marker, milliseconds(0), now);
}

BootTime MarkerRules::Longest(const Marker& marker) const {
  return std::max<BootTime>(marker.granted_at + times_.max_lease, marker.lease_end);
}

}  // namespace oncemq
