// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

namespace oncemq::testing {

// How often this thread comes through a hook from now on, whatever other threads do there.
//
// Thread safety: while nobody comes through it; the answer from any thread.
inline std::shared_ptr<const std::atomic<int>> CallsOfThisThread(std::function<void()>& hook) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  hook = [calls, mine = std::this_thread::get_id()] {
    *calls += std::this_thread::get_id() == mine ? 1 : 0;
  };
  return calls;
}

}  // namespace oncemq::testing
