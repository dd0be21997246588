// SPDX-License-Identifier: Apache-2.0
#include "lock_line.h"

#include "oncemq/base/check.h"

namespace oncemq {

std::optional<size_t> WaitsFor(std::span<const LockMode> line, size_t me) {
  ONCEMQ_CHECK(me < line.size(), "an asker stands in its line");
  for (size_t before = me; before-- > 0;) {
    const bool writes = line[me] == LockMode::kExclusive;
    if (writes || line[before] == LockMode::kExclusive) {
      return before;
    }
  }
  return std::nullopt;
}

}  // namespace oncemq
