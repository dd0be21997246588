// SPDX-License-Identifier: Apache-2.0
// RapidCheck's scripts for the memory window: other distributions than the suite's own, and a
// failure is cut down to the least script that shows it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "memory_engines.h"
#include "script.h"

namespace rc {

template <>
struct Arbitrary<oncemq::conformance::Step> {
  static auto arbitrary() {
    using oncemq::conformance::Step;
    const auto up_to = [](uint8_t end) { return gen::inRange<uint8_t>(0, end); };
    return gen::build<Step>(
        gen::set(&Step::kind, gen::weightedElement<uint8_t>({{8, Step::kClaim},
                                                             {4, Step::kComplete},
                                                             {2, Step::kRelease},
                                                             {2, Step::kReleaseAsUncertain},
                                                             {1, Step::kPark},
                                                             {2, Step::kRenew},
                                                             {2, Step::kRestore},
                                                             {1, Step::kPeek},
                                                             {3, Step::kRaise},
                                                             {3, Step::kAdvance}})),
        gen::set(&Step::id, up_to(2)), gen::set(&Step::token, up_to(3)),
        gen::set(&Step::at, up_to(3)), gen::set(&Step::owner_epoch, up_to(4)),
        gen::set(&Step::fingerprint, gen::weightedElement<uint8_t>({{4, 0}, {4, 1}, {1, 2}})),
        gen::set(&Step::number, up_to(5)),
        gen::set(&Step::joins, gen::weightedElement<bool>({{3, false}, {1, true}})));
  }
};

}  // namespace rc

namespace oncemq::conformance {

// Found by RapidCheck's streams.
static std::ostream& operator<<(std::ostream& out, const Step& step) {
  PrintTo(step, &out);
  return out;
}

namespace {

void CheckScripts(Level level) {
  const WindowEngine engine = MemoryEngine("memory");
  const Subject subject{&engine, level};
  const auto script = *rc::gen::scale(1.5, rc::gen::arbitrary<Script>());
  const std::string difference = Play(subject, kTimes, script);
  if (!difference.empty()) {
    RC_FAIL(difference);
  }
}

RC_GTEST_PROP(MemoryScripts, GetTheAnswersOfTheModelAtGuarded, ()) {
  CheckScripts(Level::kGuarded);
}
RC_GTEST_PROP(MemoryScripts, GetTheAnswersOfTheModelAtOpaque, ()) {
  CheckScripts(Level::kOpaque);
}

}  // namespace
}  // namespace oncemq::conformance
