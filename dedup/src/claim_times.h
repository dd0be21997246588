// SPDX-License-Identifier: Apache-2.0
// TimeClaims: the time of a claim in an opened window, measured on new ids.
//
// Thread safety: as the window.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/random.h"
#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

inline constexpr milliseconds kLongestClaimTimes{10'000};

// One after another, each released before the next; fewer where they last longer than
// kLongestClaimTimes. How long each claim took.
inline Result<std::vector<microseconds>> TimeClaims(Window& window, int claims) {
  const uint64_t process = SecureRandom64();
  std::vector<microseconds> times;
  const BootTime until = BootNow() + kLongestClaimTimes;
  for (int i = 1; i <= claims && BootNow() < until; i++) {
    const std::string id = "doctor-" + std::to_string(i);
    const Token token{process, static_cast<uint64_t>(i)};
    const ClaimRequest claim{.id = id, .token = token};
    ClaimAnswer answer;
    const BootTime began = BootNow();
    if (Status claimed = window.Claim({&claim, 1}, {&answer, 1}); !claimed) {
      return claimed.error();
    }
    times.push_back(BootNow() - began);
    const ReleaseRequest release{.id = id, .token = token};
    MarkerChange change{};
    if (Status released = window.Release({&release, 1}, {&change, 1}); !released) {
      return released.error();
    }
  }
  return times;
}

// The same in a scope that is made for it, and removed at the end.
template <class Opened>
Result<std::vector<microseconds>> TimeClaimsIn(const Result<std::unique_ptr<Opened>>& window,
                                               int claims) {
  if (!window) {
    return window.error();
  }
  auto times = TimeClaims(**window, claims);
  if (const Status removed = (*window)->RemoveScope(); times && !removed) {
    return removed.error();
  }
  return times;
}

}  // namespace oncemq
