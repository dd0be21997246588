// SPDX-License-Identifier: Apache-2.0
// ParkedLanes: the lanes whose key has messages in a park topic, so that later ones follow them
// there.
//
// **Limits:** an entry for each parked key. The topic bounds them.
//
// **Thread safety:** none; lives inside the core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oncemq/framework/core.h"

namespace oncemq {

class ParkedLanes {
 public:
  // Replaces what was known of the partition.
  void Set(PartitionId partition, std::span<const std::pair<uint64_t, uint32_t>> lanes,
           std::vector<int64_t> offsets) {
    Partition& of = At(partition);
    of.lanes = {lanes.begin(), lanes.end()};
    of.offsets = std::move(offsets);
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

  void Park(PartitionId partition, uint64_t lane) { At(partition).lanes[lane]++; }
  // A message of the lane has left the topic.
  void Unpark(PartitionId partition, uint64_t lane) {
    auto& lanes = At(partition).lanes;
    const auto found = lanes.find(lane);
    if (found != lanes.end() && --found->second == 0) {
      lanes.erase(found);
    }
  }

 private:
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
