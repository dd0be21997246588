// SPDX-License-Identifier: Apache-2.0
// Two who may meet at the worst moment.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace examples {

// Long enough for any machine: what goes wrong without a lock goes wrong every time.
inline constexpr std::chrono::milliseconds kUntilItComes{30'000};
// The other one waits for the name, so it does not come; if it did, it would be seen.
inline constexpr std::chrono::milliseconds kInCaseItComes{100};

class Together {
 public:
  // Waits for the other one, but no longer than that.
  void Meet(std::chrono::milliseconds within) {
    std::unique_lock lock(mutex_);
    here_++;
    met_.notify_all();
    met_.wait_for(lock, within, [this] { return here_ >= 2; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable met_;
  int here_ = 0;
};

}  // namespace examples
