// SPDX-License-Identifier: Apache-2.0
// The window in memory: as fast as it gets, gone with the process.
//
// Promise: the full contract of Window within one process. It remembers at least the last
// `remember` finished ids and forgets the oldest first, an eighth at a time; a copy that comes
// later than that is new. An id without a partition goes earlier if it was to be kept for less. It
// never survives its process: after a crash it knows nothing, and says so in its capabilities.
//
// Memory: 16 bytes for each id to remember; for each id known, at most an eighth more, its length +
// result + 47; and for the most ids that were ever open or parked at a time 165 bytes each, 1,189
// if longer than 36 bytes. It grows with use and is kept.
//
// Thread safety: any thread; one lock around each batch.
#pragma once

#include <memory>
#include <optional>

#include "oncemq/dedup/window.h"

namespace oncemq {

struct MemoryWindowOptions {
  // Has to be said, for only you know your effect: kGuarded if its target stores the id with it and
  // answers "already done", kOpaque if nobody can check it. Decides how a claim may be taken over;
  // kAtomic is refused.
  std::optional<Level> level;
  // An id names one operation within its topic and partition: what a window of one process can
  // keep. False: over all partitions, of a caller whose partitions stay in this process.
  bool partition_owned = true;
  // Leases and waits.
  WindowTimes times;
  // Finished ids that are surely still known.
  uint32_t remember = 1'000'000;
  // Open ids at a time; a batch of claims that needs more is refused with kFull.
  uint32_t max_open = 1'000'000;
  // Parked ids, which stay as long as the window; parking more is refused with kFull.
  uint32_t max_parked = 1'000'000;
};

// `clock` judges the leases and outlives the window. kInvalid says which option cannot be.
Result<std::unique_ptr<Window>> OpenMemoryWindow(const MemoryWindowOptions& options,
                                                 const Clock& clock);

}  // namespace oncemq
