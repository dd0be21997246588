// SPDX-License-Identifier: Apache-2.0
// LossReports: tells in the log what a window in Redis finds out about losses of its server, and
// counts it.
//
// Thread safety: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

class LossReports {
 public:
  // `remember`: for so long after a loss it is told to those who open the scope.
  LossReports(std::string scope, milliseconds remember, bool opaque)
      : scope_(std::move(scope)), remember_(remember), opaque_(opaque) {}

  // As scope.lua answers, by the server's clock.
  struct Opening {
    bool made = false;
    int64_t now = 0;
    int64_t seen = 0;     // 0: never
    int64_t changed = 0;  // 0: never
    int64_t since = 0;
  };
  void Opened(const Opening& opening);
  // The store has less than it had answered to this process. Of an id without a partition the log
  // alone tells: nothing brings it back.
  void Proven();
  // This process has asked nothing for so long that the store may have dropped its count.
  void Forgotten();
  // The answer of announce.lua after its count. Each other run of the server is told once.
  void Announced(std::string_view news);
  // Leases, and finished ids without a partition, end by the server's clock. `asked`: before it
  // told this time.
  void NoteClock(int64_t server_micros, BootTime asked);
  StoreLosses counts() const;

 private:
  const std::string scope_;
  const milliseconds remember_;
  const bool opaque_;
  mutable Mutex mutex_;
  StoreLosses counts_ GUARDED_BY(mutex_);
  std::optional<microseconds> ahead_ GUARDED_BY(mutex_);  // the server's clock, of BootNow()
  int64_t begun_ GUARDED_BY(mutex_) = 0;  // the changes of the server that were told
  int64_t ended_ GUARDED_BY(mutex_) = 0;
};

}  // namespace oncemq
