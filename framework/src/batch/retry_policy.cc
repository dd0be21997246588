// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/retry_policy.h"

#include <algorithm>

#include "oncemq/base/hash.h"
#include "oncemq/framework/outcome.h"

namespace oncemq {
namespace {

// Doubled with each attempt, up to the bound. A division cannot overflow.
milliseconds Doubled(const RetryPolicy& policy, uint32_t failed) {
  const int64_t factor = int64_t{1} << std::clamp(failed, 1u, 21u) >> 1;
  return policy.first > policy.most / factor ? policy.most : policy.first * factor;
}

// "4 min 10 s", rounded up to a second from ten of them on.
std::string InWords(milliseconds time) {
  const int64_t millis = time.count();
  if (millis < 10'000 && millis % 1'000 != 0) {
    return std::to_string(millis) + " ms";
  }
  const int64_t seconds = (millis + 999) / 1'000;
  const std::pair<int64_t, std::string_view> parts[] = {
      {seconds / 3'600, " h"}, {seconds / 60 % 60, " min"}, {seconds % 60, " s"}};
  std::string words;
  for (const auto& [count, unit] : parts) {
    if (count > 0) {
      words += (words.empty() ? "" : " ") + std::to_string(count) + std::string(unit);
    }
  }
  return words;
}

// Adds `permille` of the time. A time near the bound of its type keeps its value.
milliseconds Spread(milliseconds time, int64_t permille) {
  constexpr milliseconds kSpreadable = std::chrono::hours(24 * 365);
  return time > kSpreadable ? time : time + time * permille / 1'000;
}

}  // namespace

milliseconds PauseAfter(const RetryPolicy& policy, uint32_t attempts, uint64_t seed) {
  const int64_t most = int64_t{policy.jitter_percent} * 10;
  const uint64_t drawn = MixBits(seed ^ MixBits(attempts)) % (2 * static_cast<uint64_t>(most) + 1);
  return Spread(Doubled(policy, attempts), static_cast<int64_t>(drawn) - most);
}

std::optional<milliseconds> CountFailure(const RetryPolicy& policy, BootTime called,
                                         Attempts& attempts) {
  attempts.failed = static_cast<uint16_t>(std::min(attempts.failed + 1, 0xffff));
  attempts.first_failed = attempts.first_failed == BootTime{} ? called : attempts.first_failed;
  if (!policy.ends()) {
    return kLongestRetry;
  }
  if (policy.attempts > 0 && attempts.failed >= policy.attempts) {
    return std::nullopt;
  }
  if (policy.give_up_after.count() == 0) {
    return kLongestRetry;
  }
  const milliseconds left = policy.give_up_after - std::chrono::duration_cast<milliseconds>(
                                                       called - attempts.first_failed);
  return left.count() > 0 ? std::optional(left) : std::nullopt;
}

std::optional<milliseconds> LongestHold(const RetryPolicy& policy) {
  if (!policy.ends()) {
    return std::nullopt;
  }
  const milliseconds within = policy.give_up_after;
  if (policy.attempts == 0) {
    return within;
  }
  milliseconds sum{0};
  for (uint32_t failed = 1; failed < policy.attempts; failed++) {
    sum += Spread(Doubled(policy, failed), int64_t{policy.jitter_percent} * 10);
    if (within.count() > 0 && sum >= within) {
      return within;
    }
  }
  return sum;
}

Status CheckRetryPolicy(const RetryPolicy& policy) {
  const auto invalid = [](std::string why) {
    return Error{Code::kInvalid, Effect::kNone, std::move(why)};
  };
  if (policy.jitter_percent > 100) {
    return invalid("jitter_percent must be 0 to 100, not " + std::to_string(policy.jitter_percent));
  }
  if (policy.attempts > kMostAttempts) {
    return invalid("attempts must be 0 to " + std::to_string(kMostAttempts) + ", not " +
                   std::to_string(policy.attempts));
  }
  if (policy.deaths > kMostDeaths) {
    return invalid("deaths must be 0 to " + std::to_string(kMostDeaths) + ", not " +
                   std::to_string(policy.deaths));
  }
  const bool bounded = policy.attempts > 0 || policy.give_up_after.count() > 0;
  if (bounded && policy.at_end == AtEnd::kKeepTrying) {
    return invalid("at_end must say what happens at the end of the attempts: stop or park");
  }
  if (!bounded && policy.at_end != AtEnd::kKeepTrying) {
    return invalid("attempts or give_up_after must bound the attempts, or at_end never comes");
  }
  return {};
}

std::string RetryLine(const RetryPolicy& policy) {
  const std::optional<milliseconds> hold = LongestHold(policy);
  if (!hold) {
    return "a message is tried until it succeeds, and its key is held for as long";
  }
  if (hold->count() == 0) {
    return std::string(policy.at_end == AtEnd::kPark ? "a message is parked"
                                                     : "a partition stops at a message") +
           " after its first attempt that fails";
  }
  return "a key can be held for at most " + InWords(*hold) +
         (policy.at_end == AtEnd::kPark ? ", then its message is parked"
                                        : ", then its partition stops at the message");
}

}  // namespace oncemq
