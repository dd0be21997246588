// SPDX-License-Identifier: Apache-2.0
#include "wait_queue.h"

#include "oncemq/base/check.h"

namespace oncemq {

std::optional<size_t> WaitsFor(std::span<const LockMode> queue, size_t me) {
  ONCEMQ_CHECK(me < queue.size(), "an asker stands in its line");
  for (size_t before = me; before-- > 0;) {
    const bool writes = queue[me] == LockMode::kExclusive;
    if (writes || queue[before] == LockMode::kExclusive) {
      return before;
    }
  }
  return std::nullopt;
}

}  // namespace oncemq
