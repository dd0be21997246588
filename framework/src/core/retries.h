// SPDX-License-Identifier: Apache-2.0
// Retries: counts the open messages that wait for another attempt. For the lowest ones of each
// partition it keeps the reason and the time of the next attempt.
//
// **Promise:** the count is exact. The reasons are those of the kKept lowest offsets; one that is
// crowded out comes back with its next attempt.
//
// **Limits:** one byte for each slot, from construction on, and kKept notes for each partition. A
// message that never waits costs one look at its byte.
//
// **Thread safety:** none; lives inside the core.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/check.h"
#include "oncemq/base/clock.h"
#include "oncemq/framework/batch.h"

namespace oncemq {

class Retries {
 public:
  static constexpr size_t kKept = 16;

  struct Wait {
    bool retry = false;  // its handler asked for it; else another claim of its id is in the way
    BootTime until{};
    std::string why;
  };

  explicit Retries(uint32_t slots) : noted_(slots, kNothing) {}

  void Note(uint32_t slot, PartitionId partition, int64_t offset, const Wait& wait) {
    Forget(slot, partition, offset);
    noted_[slot] = wait.retry ? kRetry : kClaim;
    if (partition >= partitions_.size()) {
      partitions_.resize(partition + 1);
    }
    Partition& of = partitions_[partition];
    of.retrying += wait.retry ? 1 : 0;
    of.lowest.insert_or_assign({offset, slot}, wait);
    if (of.lowest.size() > kKept) {
      of.lowest.erase(std::prev(of.lowest.end()));
    }
  }

  // Its outcome is there, or it is not ours any more. Nothing where nothing was noted.
  void Forget(uint32_t slot, PartitionId partition, int64_t offset) {
    if (noted_[slot] != kNothing) [[unlikely]] {
      Remove(slot, partition, offset);
    }
  }

  uint32_t count(PartitionId partition) const {
    return partition < partitions_.size() ? partitions_[partition].retrying : 0;
  }

  // nullptr: it does not wait, or was crowded out.
  const Wait* Find(uint32_t slot, PartitionId partition, int64_t offset) const {
    if (noted_[slot] == kNothing) {
      return nullptr;
    }
    const auto& lowest = partitions_[partition].lowest;
    const auto found = lowest.find({offset, slot});
    return found == lowest.end() ? nullptr : &found->second;
  }
  bool Retrying(uint32_t slot) const { return noted_[slot] == kRetry; }

 private:
  static constexpr uint8_t kNothing = 0;
  static constexpr uint8_t kRetry = 1;
  static constexpr uint8_t kClaim = 2;

  struct Partition {
    uint32_t retrying = 0;
    std::map<std::pair<int64_t, uint32_t>, Wait> lowest;  // by offset and slot
  };

  // Not inlined, so messages without a wait save no registers for it.
  [[gnu::noinline]] void Remove(uint32_t slot, PartitionId partition, int64_t offset) {
    Partition& of = partitions_[partition];
    if (noted_[slot] == kRetry) {
      ONCEMQ_CHECK(of.retrying > 0, "a retry is forgotten once");
      of.retrying--;
    }
    of.lowest.erase({offset, slot});
    noted_[slot] = kNothing;
  }

  std::vector<uint8_t> noted_;  // by slot
  std::vector<Partition> partitions_;
};

}  // namespace oncemq
