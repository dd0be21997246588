// SPDX-License-Identifier: Apache-2.0
// ReplayTally: the answers of a dry run, by topic and day.
//
// **Limits:** about 40 bytes for each message that would apply. A copy within the set counts as
// suppressed, although a run refuses one with another payload.
//
// **Thread safety:** none.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "oncemq/framework/replay.h"

namespace oncemq {

struct ReplayRecord {
  int64_t offset = 0;
  int64_t timestamp_ms = -1;  // -1: it has none
  uint64_t id_hash = 0;       // as in Arrival
};

class ReplayTally {
 public:
  explicit ReplayTally(const WindowCapabilities& can);

  void Add(const ReplayRange& range, const ReplayRecord& record, const ClaimAnswer& judged);
  // Without a usable id.
  void AddRefused(const ReplayRange& range, const ReplayRecord& record);

  const ReplayTable& table() const { return table_; }

 private:
  uint64_t HashOf(const ReplayRange& range, const ReplayRecord& record) const;
  ReplayCounts& CountsOf(const ReplayRange& range, const ReplayRecord& record);

  const bool opaque_;
  const bool ages_;
  const bool partition_owned_;
  ReplayTable table_;
  std::unordered_set<uint64_t> applies_;  // hashes of ids
};

}  // namespace oncemq
