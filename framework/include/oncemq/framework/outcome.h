// SPDX-License-Identifier: Apache-2.0
// Outcome: what a handler answers for one message. A value, never an exception.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "oncemq/base/clock.h"

namespace oncemq {

// The effect has happened. `result` is kept with the marker and handed to duplicates.
struct Done {
  std::string result = {};
};

// The longest wait of a Retry: more is taken for this.
inline constexpr milliseconds kLongestRetry = std::chrono::hours(24 * 7);

// Not now. The message waits in its lane, holds no worker, and comes again, until RetryPolicy ends
// it; followers of its key wait until then.
struct Retry {
  std::optional<milliseconds> after = std::nullopt;  // nothing: the runtime's back-off decides
  // No effect has left, as the handler knows, and this spends no attempt: a dependency is away.
  // Otherwise an effect may have left, at the opaque level.
  bool not_done = false;
  // For `oncemq status` and the log, while the message holds up its partition: no payload, no key.
  std::string why = {};
};

// Bytes of Retry::why that are kept; the rest is cut off.
inline constexpr size_t kLongestRetryReason = 200;

// Never. By policy the partition stops here, or the refusal goes into the journal and the partition
// goes on.
struct Reject {
  std::string why;
};

using Outcome = std::variant<Done, Retry, Reject>;

}  // namespace oncemq
