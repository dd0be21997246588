// SPDX-License-Identifier: Apache-2.0
// StoreErrors: calls of the window and the journal, with their times and failures. A failed call is
// repeated later, so it shows nowhere else: without a line and a number, a full disk looks like an
// idle service.
//
//   const Status claimed = errors.Window(StoreCall::kClaim, requests.size(),
//                                        [&] { return window->Claim(requests, answers); });
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"
#include "oncemq/framework/run_measures.h"
#include "repeated_failures.h"

namespace oncemq {

class StoreErrors {
 public:
  // All pass the answer on. Failures are counted; those of one kind get a line at once, then one
  // in ten seconds, and the end of an outage gets one. `requests`: how many of them the call
  // carried.
  template <class Call>
  auto Window(StoreCall call, size_t requests, Call make) {
    const BootTime begin = BootNow();
    auto answer = make();
    Window(call, requests, BootNow() - begin, answer ? Status() : Status(answer.error()));
    return answer;
  }
  void Window(StoreCall call, size_t requests, microseconds took, const Status& status);
  Status Journal(size_t entries, Status status);
  void Fenced(FencePlace place, size_t refusals);

  // Fills in all that is measured here.
  void Report(RunMeasures& measures) const;
  int64_t window() const { return window_.load(std::memory_order_relaxed); }
  int64_t journal() const { return journal_.load(std::memory_order_relaxed); }
  // The last call of the window has failed.
  bool window_fails() const { return window_fails_.load(std::memory_order_relaxed); }

 private:
  void WindowFailed(StoreCall call, size_t requests, const Error& error);
  void WindowSucceeded();
  void JournalFailed(size_t entries, const Error& error);

  std::array<LatencyHistogram, kStoreCalls> times_;
  std::array<std::atomic<int64_t>, kFencePlaces> fenced_{};
  std::atomic<int64_t> window_{0};
  std::atomic<int64_t> journal_{0};
  std::atomic<bool> window_fails_{false};  // whether a success is news
  Mutex mutex_;
  // By the code of the error. A server that does not answer is kUnavailable.
  std::array<RepeatedFailures, static_cast<size_t>(Code::kInternal) + 1> of_window_
      GUARDED_BY(mutex_);
  RepeatedFailures of_journal_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
