// SPDX-License-Identifier: Apache-2.0
#include "lock_line.h"

#include "oncemq/base/mutant.h"

namespace oncemq {

std::optional<size_t> WaitsFor(std::span<const LockMode> line, size_t me) {
  for (size_t before = me; before-- > 0;) {
    const bool writes = line[me] == LockMode::kExclusive && !ONCEMQ_MUTANT("writer-beside-readers");
    if (writes || line[before] == LockMode::kExclusive) {
      return ONCEMQ_MUTANT("all-watch-the-first") ? 0 : before;
    }
  }
  return std::nullopt;
}

}  // namespace oncemq
