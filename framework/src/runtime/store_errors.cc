// SPDX-License-Identifier: Apache-2.0
#include "store_errors.h"

#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"

namespace oncemq {
namespace {

// A renewal may succeed without an answer of the store: where there is nothing to renew.
constexpr StoreCall kMaySkipStore = StoreCall::kRenew;

int64_t InSeconds(microseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

std::string_view ToString(StoreCall call) {
  switch (call) {
    case StoreCall::kClaim:
      return "claim";
    case StoreCall::kComplete:
      return "complete";
    case StoreCall::kRelease:
      return "release";
    case StoreCall::kRestore:
      return "restore";
    case StoreCall::kRecordUncertain:
      return "record_uncertain";
    case StoreCall::kPark:
      return "park";
    case StoreCall::kRenew:
      return "renew";
    case StoreCall::kAnnounce:
      return "announce";
    case StoreCall::kCommitted:
      return "committed";
    case StoreCall::kRaiseOwnerEpoch:
      return "raise_owner_epoch";
    case StoreCall::kNewEffects:
      return "new_effects";
  }
  return "?";
}

std::string_view ToString(FencePlace place) {
  switch (place) {
    case FencePlace::kClaim:
      return "claim";
    case FencePlace::kComplete:
      return "complete";
    case FencePlace::kPark:
      return "park";
    case FencePlace::kRestore:
      return "restore";
    case FencePlace::kRenew:
      return "renew";
    case FencePlace::kOwnerEpoch:
      return "owner_epoch";
    case FencePlace::kCommit:
      return "commit";
  }
  return "?";
}

void StoreErrors::Window(StoreCall call, size_t requests, microseconds took, const Status& status) {
  times_[static_cast<size_t>(call)].Observe(took);
  if (!status) [[unlikely]] {
    window_.fetch_add(1, std::memory_order_relaxed);
    WindowFailed(call, requests, status.error());
  } else if (window_fails_.load(std::memory_order_relaxed) && call != kMaySkipStore) [[unlikely]] {
    WindowSucceeded();
  }
}

void StoreErrors::Fenced(FencePlace place, size_t refusals) {
  if (refusals > 0) [[unlikely]] {
    fenced_[static_cast<size_t>(place)].fetch_add(static_cast<int64_t>(refusals),
                                                  std::memory_order_relaxed);
  }
}

void StoreErrors::Report(RunMeasures& measures) const {
  for (size_t call = 0; call < kStoreCalls; call++) {
    measures.store[call] = times_[call].Snapshot();
  }
  for (size_t place = 0; place < kFencePlaces; place++) {
    measures.fence_refusals[place] = fenced_[place].load(std::memory_order_relaxed);
  }
}

void StoreErrors::WindowFailed(StoreCall call, size_t requests, const Error& error) {
  const Code kind = IsSilent(error) ? Code::kUnavailable : error.code;
  std::optional<RepeatedFailures::Summary> summary;
  {
    MutexLock lock(mutex_);
    window_fails_.store(true, std::memory_order_relaxed);
    summary = of_window_[static_cast<size_t>(kind)].Failed(BootNow());
  }
  if (summary && summary->count == 1) {
    Log(LogLevel::kWarn, "runtime", "a call of the window failed; what it was for waits",
        {{"call", ToString(call)}, {"requests", requests}, {"error", ToString(error)}});
  } else if (summary) {
    Log(LogLevel::kWarn, "runtime", "calls of the window failed; what they were for waits",
        {{"failures", summary->count},
         {"seconds", InSeconds(summary->since)},
         {"last_call", ToString(call)},
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
