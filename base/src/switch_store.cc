// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_store.h"

#include <algorithm>

#include "oncemq/base/wait_until.h"

namespace oncemq {

Status SwitchStore::AwaitByPolling(uint64_t version, BootTime until, const std::stop_token& stop,
                                   milliseconds poll_interval) {
  // Whoever stops it may wait for it, and not for one more look.
  while (!stop.stop_requested()) {
    const auto there = Read();
    const BootTime now = SystemClock::Instance().Boot();
    if (!there || there->version != version || now >= until) {
      return there ? Status() : Status(there.error());
    }
    WaitUntil(std::min<BootTime>(until, now + poll_interval), now, stop);
  }
  return {};
}

}  // namespace oncemq
