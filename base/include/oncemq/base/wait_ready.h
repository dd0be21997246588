// SPDX-License-Identifier: Apache-2.0
// WaitReady: a wait at a socket.
//
// Thread safety: any thread.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "oncemq/base/clock.h"

namespace oncemq {

// Waits until the descriptor is ready, or `until`. False: it isn't.
inline bool WaitReady(int fd, short events, BootTime until) {
  for (;;) {
    const auto left =
        std::chrono::ceil<milliseconds>(until - SystemClock::Instance().Boot()).count();
    pollfd waits{fd, events, 0};
    const int done = poll(&waits, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000)));
    if (done > 0) {
      return true;
    }
    if (left <= 0 || (done < 0 && errno != EINTR)) {
      return false;
    }
  }
}

}  // namespace oncemq
