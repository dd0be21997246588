// SPDX-License-Identifier: Apache-2.0
#include "owners.h"

#include <algorithm>

namespace oncemq {

OwnerEpoch Owners::Raise(uint32_t source, int32_t partition, OwnerEpoch floor, const Clock& clock) {
  OwnerRecord& record = records_[Key(source, partition)];
  const auto wall = static_cast<OwnerEpoch>(std::max<int64_t>(clock.Wall().micros, 1));
  record = {std::max({record.owner_epoch + 1, floor, wall}), clock.Boot()};
  return record.owner_epoch;
}

const OwnerRecord* Owners::Find(const Coordinates& at) const {
  const uint64_t key = Key(at.source, at.partition);
  if (last_ != nullptr && key == last_key_) {
    return last_;
  }
  const auto found = records_.find(key);
  if (found == records_.end()) {
    return nullptr;
  }
  last_key_ = key;
  last_ = &found->second;
  return last_;
}

bool OwnershipHolds(OwnerEpoch owner_epoch, const OwnerRecord* record) {
  if (owner_epoch == 0) {
    return true;
  }
  return record != nullptr && record->owner_epoch == owner_epoch;
}

}  // namespace oncemq
