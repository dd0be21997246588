// SPDX-License-Identifier: Apache-2.0
#include "eventually.h"

#include "oncemq/base/clock.h"

namespace oncemq::testing {

bool Eventually(std::chrono::milliseconds timeout, const std::function<bool()>& condition) {
  constexpr std::chrono::milliseconds kPace{10};
  const Clock& clock = SystemClock::Instance();
  const BootTime deadline = clock.Boot() + timeout;
  while (clock.Boot() < deadline) {
    if (condition()) {
      return true;
    }
    SleepFor(kPace);
  }
  return condition();
}

}  // namespace oncemq::testing
