// SPDX-License-Identifier: Apache-2.0
// Random scripts: what no other test thought of.
#include <cstdlib>

#include "script.h"

namespace oncemq::conformance {
namespace {

constexpr size_t kSteps = 80;

uint64_t Seeds() {
  const char* asked = std::getenv("ONCEMQ_CONFORMANCE_SEEDS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 150;
}

// Also times in whose order the lease ends after the handler's time-out.
constexpr WindowTimes kLongLease{
    .lease = milliseconds(900),
    .max_lease = milliseconds(1'000),
    .handler_timeout = milliseconds(100),
};

void PlaySeeds(const Subject& subject, const WindowTimes& times) {
  const uint64_t seeds = Seeds();
  for (uint64_t seed = 0; seed < seeds; seed++) {
    std::mt19937_64 random(seed);
    const Script script = RandomScript(random, kSteps);
    if (!Play(subject, times, script).empty()) {
      const Script least = Shrink(subject, times, script);
      FAIL() << "seed " << seed << ", " << Play(subject, times, least)
             << "\nscript: " << testing::PrintToString(least);
    }
  }
}

}  // namespace

WINDOW_TEST(IfStoresClaims, RandomScriptsGetTheAnswersOfTheModel) {
  PlaySeeds(subject(), kTimes);
}

WINDOW_TEST(WithLeases, RandomScriptsWithALongLeaseGetTheAnswersOfTheModel) {
  PlaySeeds(subject(), kLongLease);
}

}  // namespace oncemq::conformance
