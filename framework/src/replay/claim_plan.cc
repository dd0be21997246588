// SPDX-License-Identifier: Apache-2.0
#include "claim_plan.h"

namespace oncemq {

ReplayWord WordOf(const ClaimAnswer& judged, bool opaque, bool stamped, bool ages) {
  switch (judged.answer) {
    case ClaimVerdict::kGranted: {
      if (opaque && judged.uncertain) {
        return ReplayWord::kUncertain;
      }
      // After a failed attempt the id is known, and not done.
      const bool unknown = judged.attempt <= 1;
      return unknown && !stamped && ages ? ReplayWord::kOutside : ReplayWord::kApplies;
    }
    case ClaimVerdict::kDuplicate:
      return ReplayWord::kSuppressed;
    case ClaimVerdict::kInFlight:
      return opaque && judged.uncertain ? ReplayWord::kUncertain : ReplayWord::kInFlight;
    case ClaimVerdict::kAttached:
      return ReplayWord::kParked;
    case ClaimVerdict::kConflict:
      return ReplayWord::kConflict;
    case ClaimVerdict::kOutsideWindow:
      return ReplayWord::kOutside;
    case ClaimVerdict::kFenced:
      return ReplayWord::kInFlight;
    case ClaimVerdict::kIncomplete:
      break;
  }
  return ReplayWord::kApplies;  // as far as a look can say: its claim decides
}

}  // namespace oncemq
