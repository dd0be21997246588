// SPDX-License-Identifier: Apache-2.0
#include "store_errors.h"

#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"

namespace oncemq {
namespace {

// A renewal may succeed without an answer of the store: where there is nothing to renew.
constexpr std::string_view kMaySkipStore = "renew";

int64_t InSeconds(microseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

Status StoreErrors::Window(std::string_view call, size_t requests, Status status) {
  if (!status) [[unlikely]] {
    window_.fetch_add(1, std::memory_order_relaxed);
    WindowFailed(call, requests, status.error());
  } else if (window_fails_.load(std::memory_order_relaxed) && call != kMaySkipStore) [[unlikely]] {
    WindowSucceeded();
  }
  return status;
}

void StoreErrors::WindowFailed(std::string_view call, size_t requests, const Error& error) {
  const Code kind = IsSilent(error) ? Code::kUnavailable : error.code;
  std::optional<RepeatedFailures::Summary> summary;
  {
    MutexLock lock(mutex_);
    window_fails_.store(true, std::memory_order_relaxed);
    summary = of_window_[static_cast<size_t>(kind)].Failed(BootNow());
  }
  if (summary && summary->count == 1) {
    Log(LogLevel::kWarn, "runtime", "a call of the window failed; what it was for waits",
        {{"call", call}, {"requests", requests}, {"error", ToString(error)}});
  } else if (summary) {
    Log(LogLevel::kWarn, "runtime", "calls of the window failed; what they were for waits",
        {{"failures", summary->count},
         {"seconds", InSeconds(summary->since)},
         {"last_call", call},
         {"last_error", ToString(error)}});
  }
}

void StoreErrors::WindowSucceeded() {
  std::optional<RepeatedFailures::Summary> end;
  {
    MutexLock lock(mutex_);
    window_fails_.store(false, std::memory_order_relaxed);
    for (RepeatedFailures& failures : of_window_) {
      const auto over = failures.Succeeded(BootNow());
      end = over && (!end || over->since > end->since) ? over : end;
    }
  }
  if (end) {
    Log(LogLevel::kInfo, "runtime", "calls of the window succeed again",
        {{"failures", end->count}, {"seconds", InSeconds(end->since)}});
  }
}

Status StoreErrors::Journal(size_t entries, Status status) {
  if (!status) [[unlikely]] {
    journal_.fetch_add(1, std::memory_order_relaxed);
    JournalFailed(entries, status.error());
  }
  return status;
}

void StoreErrors::JournalFailed(size_t entries, const Error& error) {
  std::optional<RepeatedFailures::Summary> summary;
  {
    MutexLock lock(mutex_);
    summary = of_journal_.Failed(BootNow());
  }
  if (summary) {
    Log(LogLevel::kError, "runtime", "refused messages could not be put on record; they wait",
        {{"entries", entries}, {"failures", summary->count}, {"error", ToString(error)}});
  }
}

}  // namespace oncemq
