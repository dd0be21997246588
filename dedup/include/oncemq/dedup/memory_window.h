// SPDX-License-Identifier: Apache-2.0
// The window in memory: as fast as it gets, gone with the process.
//
// Promise: the full contract of Window within one process. It remembers at least the last `remember` finished ids and
// forgets in whole generations; a copy that comes later than that is new. It never survives its process: after a crash
// it knows nothing, and says so in its capabilities.
// Memory: at most two generations of `remember` ids, each id at most its length + result + 48 bytes in an arena and 16 in
// a table; and for the most ids that were ever open or parked at a time 160 bytes each, 1,184 with ids over 40 bytes.
// Thread safety: any thread; one lock around each batch.
#pragma once

#include <memory>

#include "oncemq/dedup/window.h"

namespace oncemq {

struct MemoryWindowOptions {
  Level level = Level::kGuarded;  // decides how a claim may be taken over; kAtomic is refused
  WindowTimes times;              // leases and waits
  uint32_t remember = 1'000'000;  // finished ids that are surely still known
  uint32_t max_open = 1'000'000;  // open and parked ids at a time; a batch that needs more is refused with kFull
};

// `clock` judges the leases and outlives the window. kInvalid says which option cannot be.
Result<std::unique_ptr<Window>> OpenMemoryWindow(const MemoryWindowOptions& options,
                                                 const Clock& clock);

}  // namespace oncemq
