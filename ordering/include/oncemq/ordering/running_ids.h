// SPDX-License-Identifier: Apache-2.0
// RunningIds: which ids are being worked on in this process right now, and which lanes wait for
// them.
//
// Promise (rule 14): while an id is held, every other delivery of it waits, in every ordering mode,
// also across assignments. Keyed by hash: two ids with equal hashes wait for each other; slower,
// never wrong. Memory: 24 bytes for each of four to eight times the ids that ever ran at a time: a
// small table stays in the cache.
//
// Thread safety: none; lives inside the core.
#pragma once

#include <cstdint>
#include <vector>

#include "oncemq/ordering/lanes.h"

namespace oncemq {

class RunningIds {
 public:
  RunningIds();

  struct Entry {
    uint64_t hash = 0;
    uint32_t holder = kNoIndex;  // the delivery that runs; kNoIndex marks a free place
    LaneList waiting;            // lanes whose head is a copy
  };

  void Prefetch(uint64_t hash) const { __builtin_prefetch(&table_[hash & mask_]); }

  // The entry of this hash, or nullptr. Valid until the next Hold or Release.
  Entry* Find(uint64_t hash);

  // Precondition: not held.
  void Hold(uint64_t hash, uint32_t holder);

  // Ends the hold and returns the lanes that waited for it.
  LaneList Release(uint64_t hash);

  // Calls visit(LaneList&) for the waiting lanes of every held id.
  template <class Visit>
  void ForEachWaiting(Visit visit) {
    for (Entry& entry : table_) {
      if (entry.holder != kNoIndex) {
        visit(entry.waiting);
      }
    }
  }

  uint32_t size() const { return size_; }

 private:
  static constexpr size_t kFirstEntries = 1024;

  void Grow();

  std::vector<Entry> table_;  // at most a quarter full
  size_t mask_;
  uint32_t size_ = 0;
};

}  // namespace oncemq
