// SPDX-License-Identifier: Apache-2.0
// ParkedLanes: the lanes of keys with messages in a park topic. Later messages follow them there.
//
// **Limits:** an entry for each parked key. The topic bounds them.
//
// **Thread safety:** none; lives inside the core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "oncemq/base/hash.h"
#include "oncemq/framework/core.h"
#include "oncemq/ordering/lanes.h"

namespace oncemq {

class ParkedLanes {
 public:
  // The hash of a lane. It tells whether the message has a key, since without one nothing follows.
  static uint64_t Keyed(uint64_t key_hash, PartitionId partition) {
    return (key_hash ^ MixBits(partition)) & ~kUnkeyed;
  }
  static uint64_t Unkeyed(uint64_t number) { return MixBits(number) | kUnkeyed; }

  // Replaces what was known of the partition.
  void Set(PartitionId partition, const ParkedMessages& parked) {
    Partition& of = At(partition);
    of.lanes.clear();
    for (const auto& [key_hash, messages] : parked.keys) {
      of.lanes[Keyed(key_hash, partition)] += messages;
    }
    of.offsets = parked.offsets;
    std::sort(of.offsets.begin(), of.offsets.end());
  }

  bool Holds(PartitionId partition, uint64_t lane) const {
    return partition < partitions_.size() && partitions_[partition].lanes.contains(lane);
  }
  // Whether the topic had the message when the assignment began.
  bool Has(PartitionId partition, int64_t offset) const {
    if (partition >= partitions_.size()) {
      return false;
    }
    const std::vector<int64_t>& offsets = partitions_[partition].offsets;
    return std::binary_search(offsets.begin(), offsets.end(), offset);
  }

  // A message of the lane has its outcome. A copy of a parked one has no record of its own.
  void Note(const Settlement& settlement, PartitionId partition, Lane& lane) {
    if ((lane.hash & kUnkeyed) != 0) {
      return;
    }
    const bool recorded = settlement.fate == DeliveryFate::kParked && !settlement.attached;
    if (settlement.redriven) {
      recorded ? void(lane.redrive_ends = true) : Unpark(partition, lane.hash);
    } else if (recorded) {
      At(partition).lanes[lane.hash]++;
    }
  }

 private:
  static constexpr uint64_t kUnkeyed = uint64_t{1} << 63;
  void Unpark(PartitionId partition, uint64_t lane) {
    auto& lanes = At(partition).lanes;
    const auto found = lanes.find(lane);
    if (found != lanes.end() && --found->second == 0) {
      lanes.erase(found);
    }
  }
  struct Partition {
    std::unordered_map<uint64_t, uint32_t> lanes;  // with the number of their messages
    std::vector<int64_t> offsets;                  // sorted
  };
  Partition& At(PartitionId partition) {
    if (partition >= partitions_.size()) {
      partitions_.resize(partition + 1);
    }
    return partitions_[partition];
  }

  std::vector<Partition> partitions_;
};

}  // namespace oncemq
