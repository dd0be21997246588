// SPDX-License-Identifier: Apache-2.0
// Owners: the ownership record of each partition, for a window that keeps it in memory (rule 9).
//
// Thread safety: none; the window that owns it locks.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "oncemq/base/hash.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

struct OwnerRecord {
  OwnerEpoch owner_epoch = 0;
  BootTime raised_at;
};

class Owners {
 public:
  // max(old + 1, floor, wall clock in microseconds): above every earlier one of this store, and
  // mostly of one that was lost; surely where the floor tells of it.
  OwnerEpoch Raise(uint32_t source, int32_t partition, OwnerEpoch floor, const Clock& clock);

  // As it was when the store was written.
  void Restore(uint32_t source, int32_t partition, OwnerEpoch owner_epoch, BootTime now) {
    records_[Key(source, partition)] = {owner_epoch, now};
  }

  // nullptr: never raised. Valid for the life of the object.
  const OwnerRecord* Find(const Coordinates& at) const;

 private:
  struct Mixed {
    size_t operator()(uint64_t key) const { return MixBits(key); }
  };
  static uint64_t Key(uint32_t source, int32_t partition) {
    return uint64_t{source} << 32 | static_cast<uint32_t>(partition);
  }

  std::unordered_map<uint64_t, OwnerRecord, Mixed> records_;
  // Batches come mostly from one partition: the last one found is tried first.
  mutable uint64_t last_key_ = 0;
  mutable const OwnerRecord* last_ = nullptr;
};

// The guard of every change that carries an ownership. A caller that owns nothing passes: it may
// act, but never takes over.
bool OwnershipHolds(OwnerEpoch owner_epoch, const OwnerRecord* record);

}  // namespace oncemq
