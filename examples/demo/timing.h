// SPDX-License-Identifier: Apache-2.0
// The demo's times in one place. The embedded broker lets a first member wait 3 s, and a group that
// changes one second less than the session.
#pragma once

#include "oncemq/base/clock.h"

namespace oncemq::demo {

inline constexpr milliseconds kSession{4'000};  // with 2 s nobody gets an assignment there
inline constexpr milliseconds kSessionMargin{1'000};
inline constexpr milliseconds kCommitInterval{1'000};
inline constexpr milliseconds kFirstWait{3'000};
inline constexpr milliseconds kGroupWait = kSession - milliseconds{1'000};
// A member that was killed: the session must end, then the group waits for the others.
inline constexpr milliseconds kTakeOverWait = kSession + kGroupWait;
inline constexpr int64_t kMessagesPerSecond = 2'500;   // the stream's pace
inline constexpr int64_t kSlowMessagesPerSecond = 20;  // with --broker-only: to be read by people
// A worker is killed when it has done so much since its last commit, and the next is far.
inline constexpr int64_t kAtRisk = 200;
inline constexpr int64_t kNextCommitNear = 500;
inline constexpr milliseconds kTimeLimit{120'000};  // of the whole run
inline constexpr milliseconds kDrainLimit{15'000};  // of a worker that was asked to stop

}  // namespace oncemq::demo
