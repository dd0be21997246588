// SPDX-License-Identifier: Apache-2.0
// What becomes of the messages of a park storm, as its members and its judge know it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "running_member.h"

namespace oncemq::testing {

// Its file in the directory of the storm ends all refusals.
inline constexpr const char* kFixed = "fixed";

// Refused until kFixed is there: at once, or by failing until its attempts end.
constexpr bool IsPoison(int64_t id) {
  return id % 1'000 == 499;
}
constexpr bool FailsToTheEnd(int64_t id) {
  return id % 2'000 == 1'499;
}
// Fails at its first two attempts.
constexpr bool IsFlaky(int64_t id) {
  return id % 20 == 7;
}
// Comes twice.
constexpr bool HasCopy(int64_t id) {
  return id % 20 == 13 || id % 3'000 == 499;
}

inline RuntimeOptions ParkingOptions(const std::string& brokers, const std::string& group,
                                     const std::string& topic) {
  RuntimeOptions options = QuickOptions(brokers, group, topic);
  options.core.session_timeout = std::chrono::seconds(4);
  options.policy.reject = RejectPolicy::kPark;
  options.policy.retry = {
      .first = milliseconds(20), .most = milliseconds(200), .attempts = 6, .at_end = AtEnd::kPark};
  options.workers = 4;
  return options;
}

}  // namespace oncemq::testing
