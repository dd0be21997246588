// SPDX-License-Identifier: Apache-2.0
// Outcome: what a handler answers for one message. A value, never an exception.
#pragma once

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

// Not now. The message waits in its lane, holds no worker, and comes again; followers of its key
// wait behind it.
struct Retry {
  std::optional<milliseconds> after = std::nullopt;  // nothing: the runtime's back-off decides
  bool not_done = false;  // the handler knows that no effect has left; otherwise it may have, at
                          // the opaque level
};

// Never. By policy the partition stops here, or the refusal goes into the journal and the partition
// goes on.
struct Reject {
  std::string why;
};

using Outcome = std::variant<Done, Retry, Reject>;

}  // namespace oncemq
