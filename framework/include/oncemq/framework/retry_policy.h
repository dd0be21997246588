// SPDX-License-Identifier: Apache-2.0
// RetryPolicy: how often, for how long and at which times a message comes again after Retry, and
// the end of it.
//
//   options.policy.retry = {.attempts = 8, .at_end = AtEnd::kPark};
//
// **Promise:** failed attempts count from owner to owner, as far as the window knows them
// (docs/failures.md). A Retry with `not_done` spends no attempt and no time.
//
// **Limits:** `give_up_after` begins anew with each owner. A call without an end has no attempt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

enum class AtEnd : uint8_t {
  kKeepTrying,  // attempts have no end, and the key waits for as long
  kStop,        // the partition stops at the message
  kPark,        // the message is refused as BatchPolicy::reject says, and its key goes on
};

struct RetryPolicy {
  // Pause after the first failed attempt, doubled with each further one. Raise it where a target
  // recovers slowly.
  milliseconds first{100};
  // The longest pause.
  milliseconds most{30'000};
  // Each pause is longer or shorter by up to this share, 0 to 100, to keep messages apart after a
  // common failure.
  uint32_t jitter_percent = 20;
  // Failed attempts until the end. 0 means no end.
  uint32_t attempts = 0;
  // Time from the first failed attempt to the last one. 0 means no end.
  milliseconds give_up_after{0};
  AtEnd at_end = AtEnd::kKeepTrying;
  // Deaths of a process with this message alone, until BatchPolicy::reject refuses it. Raise it
  // where processes are often killed from outside. 0 means never.
  uint32_t deaths = 3;

  bool ends() const {
    return at_end != AtEnd::kKeepTrying && (attempts > 0 || give_up_after.count() > 0);
  }
};

// Calls of the handler for one message.
struct Attempts {
  uint16_t made = 0;        // of this delivery
  uint16_t failed = 0;      // with Retry but not `not_done`, also under earlier owners
  BootTime first_failed{};  // begin of the first failed one under this owner
};

inline constexpr uint32_t kMostAttempts = 10'000;
inline constexpr uint32_t kMostDeaths = 255;

// The pause after so many attempts, from 1 on. The same `seed` gives the same pause.
milliseconds PauseAfter(const RetryPolicy& policy, uint32_t attempts, uint64_t seed);

// Counts a failed attempt with its begin. Returns the longest time until the next one, nothing
// after the last one.
std::optional<milliseconds> CountFailure(const RetryPolicy& policy, BootTime called,
                                         Attempts& attempts);

// The longest time from the first attempt to the last one, without the calls. Nothing without end.
std::optional<milliseconds> LongestHold(const RetryPolicy& policy);

// kInvalid with the name of the field in the first place. The caller judges the place of kPark.
Status CheckRetryPolicy(const RetryPolicy& policy);

// "a key can be held for at most 4 min 10 s, then its message is parked".
std::string RetryLine(const RetryPolicy& policy);

}  // namespace oncemq
