// SPDX-License-Identifier: Apache-2.0
#include "store_errors.h"

#include "oncemq/base/log.h"

namespace oncemq {

Status StoreErrors::Window(std::string_view call, size_t requests, Status status) {
  if (!status) [[unlikely]] {
    window_.fetch_add(1, std::memory_order_relaxed);
    Log(LogLevel::kWarn, "runtime", "a call of the window failed; what it was for waits",
        {{"call", call}, {"requests", requests}, {"error", ToString(status.error())}});
  }
  return status;
}

Status StoreErrors::Journal(size_t entries, Status status) {
  if (!status) [[unlikely]] {
    journal_.fetch_add(1, std::memory_order_relaxed);
    Log(LogLevel::kError, "runtime", "refused messages could not be put on record; they wait",
        {{"entries", entries}, {"error", ToString(status.error())}});
  }
  return status;
}

}  // namespace oncemq
