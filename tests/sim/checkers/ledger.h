// SPDX-License-Identifier: Apache-2.0
// Ledger: what an assignment of a partition has finished, kept from the history alone: the
// checkers' own frontier.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../history.h"

namespace oncemq::sim {

struct AssignmentLedger {
  uint32_t epoch = 0;
  int64_t start = 0;
  CommitMetadata base;          // of the commit that it began with
  std::optional<Micros> ended;  // lost or given back
  struct Offset {
    uint32_t first = kNone;            // delivery
    std::optional<DeliveryFate> fate;  // of the first delivery: an offset counts once
    bool own_redelivery = false;       // suppressed by a marker of this very offset
  };
  std::map<int64_t, Offset> offsets;
  std::vector<uint32_t> arrivals;  // the first delivery of each offset, in order
  size_t lowest_open = 0;          // index of the first arrival that is not finished

  bool Carried(int64_t offset) const { return base.map.Contains(offset); }
  bool Finished(int64_t offset) const;
  bool Seen(int64_t offset) const { return offsets.contains(offset); }
};

class Ledgers {
 public:
  explicit Ledgers(const History& history) : history_(history) {}
  void See(const Record& record);
  // nullptr: the process never had the partition.
  const AssignmentLedger* Find(ActorId process, int32_t partition) const;
  bool DeliveryFinished(uint32_t delivery) const { return finished_.contains(delivery); }

 private:
  const History& history_;
  std::map<std::pair<ActorId, int32_t>, AssignmentLedger> ledgers_;
  std::unordered_map<uint32_t, bool> finished_;
};

}  // namespace oncemq::sim
