// SPDX-License-Identifier: Apache-2.0
#include "owners.h"

#include <algorithm>

namespace oncemq {

Own Owners::Raise(uint32_t source, int32_t partition, Own floor, const Clock& clock) {
  OwnRecord& record = records_[Key(source, partition)];
  const auto wall = static_cast<Own>(std::max<int64_t>(clock.Wall().micros, 1));
  record = {std::max({record.own + 1, floor, wall}), clock.Boot()};
  return record.own;
}

const OwnRecord* Owners::Find(const Coordinates& at) const {
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

bool OwnershipHolds(Own own, const OwnRecord* record) {
  if (own == 0) {
    return true;
  }
  return record != nullptr && record->own == own;
}

}  // namespace oncemq
