// SPDX-License-Identifier: Apache-2.0
#include "eventually.h"

#include <algorithm>
#include <cstdlib>

#include "oncemq/base/clock.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;

// A mutant is often seen by something that never comes: there are many, and each waits in vain. The
// same test has all of its patience where nothing is broken, and must pass.
milliseconds PatienceOf(milliseconds timeout) {
  constexpr milliseconds kEnough{10'000};
  const char* const mutant = std::getenv("ONCEMQ_MUTANT");
  if (mutant != nullptr && *mutant != '\0') {
    return std::min(timeout, std::max(kEnough, timeout / 3));
  }
  return timeout;
}

}  // namespace

bool Eventually(milliseconds timeout, const std::function<bool()>& condition) {
  constexpr milliseconds kPace{10};
  const Clock& clock = SystemClock::Instance();
  const BootTime deadline = clock.Boot() + PatienceOf(timeout);
  while (clock.Boot() < deadline) {
    if (condition()) {
      return true;
    }
    SleepFor(kPace);
  }
  return condition();
}

}  // namespace oncemq::testing
