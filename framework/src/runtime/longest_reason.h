// SPDX-License-Identifier: Apache-2.0
// How much is kept of a reason that somebody else gave: a handler or a broker may give any length.
#pragma once

#include <cstddef>

namespace oncemq {

constexpr size_t kLongestReason = 1000;  // bytes; in the journal, the report and the log alike

}  // namespace oncemq
