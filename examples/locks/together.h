// SPDX-License-Identifier: Apache-2.0
// Two who may meet at the worst moment: each waits here for the other, but not for long, so that
// what goes wrong without a lock goes wrong every time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace examples {

class Together {
 public:
  void Meet() {
    std::unique_lock lock(mutex_);
    here_++;
    met_.notify_all();
    met_.wait_for(lock, std::chrono::milliseconds(100), [this] { return here_ >= 2; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable met_;
  int here_ = 0;
};

}  // namespace examples
