// SPDX-License-Identifier: Apache-2.0
// StoreErrors: what window and journal could not do. A call that fails is repeated later, so it
// shows nowhere else: without a line and a number, a full disk looks like an idle service.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

class StoreErrors {
 public:
  // Both pass the status on; a failure is logged (lines that repeat are limited) and counted.
  // `requests`: how many of them the call carried.
  Status Window(std::string_view call, size_t requests, Status status);
  Status Journal(size_t entries, Status status);

  int64_t window() const { return window_.load(std::memory_order_relaxed); }
  int64_t journal() const { return journal_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> window_{0};
  std::atomic<int64_t> journal_{0};
};

}  // namespace oncemq
