// SPDX-License-Identifier: Apache-2.0
// RunMeasures: times and refusals of a process since its start, next to the counts of its verdict.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "oncemq/base/latency_histogram.h"

namespace oncemq {

// A call of the window.
enum class StoreCall : uint8_t {
  kClaim,
  kComplete,
  kRelease,
  kRestore,
  kRecordUncertain,
  kPark,
  kRenew,
  kAnnounce,
  kCommitted,
  kRaiseOwnerEpoch,
  kNewEffects,
};
inline constexpr size_t kStoreCalls = static_cast<size_t>(StoreCall::kNewEffects) + 1;
std::string_view ToString(StoreCall call);

// The place that has refused an owner, or the holder of a claim, because a later one exists.
enum class FencePlace : uint8_t {
  kClaim,
  kComplete,
  kPark,
  kRestore,
  kRenew,
  kOwnerEpoch,
  kCommit
};
inline constexpr size_t kFencePlaces = static_cast<size_t>(FencePlace::kCommit) + 1;
std::string_view ToString(FencePlace place);

struct RunMeasures {
  LatencySnapshot handler;         // calls; short ones share their time
  LatencySnapshot commit;          // from the request to the acknowledgement
  LatencySnapshot retry_lateness;  // from the end of a pause to the next batch of the key
  std::array<LatencySnapshot, kStoreCalls> store{};
  std::array<int64_t, kFencePlaces> fence_refusals{};
};

}  // namespace oncemq
