// SPDX-License-Identifier: Apache-2.0
#include "replay_tally.h"

#include "claim_plan.h"
#include "oncemq/base/hash.h"

namespace oncemq {

ReplayTally::ReplayTally(const WindowCapabilities& can)
    : opaque_(can.level == Level::kOpaque),
      ages_(can.ages),
      partition_owned_(can.partition_owned) {}

// Where partitions own ids, the same id in another one is another operation.
uint64_t ReplayTally::HashOf(const ReplayRange& range, const ReplayRecord& record) const {
  return partition_owned_
             ? record.id_hash ^
                   MixBits(ProcessHash(range.topic) + static_cast<uint64_t>(range.partition))
             : record.id_hash;
}

void ReplayTally::Add(const ReplayRange& range, const ReplayRecord& record,
                      const ClaimAnswer& judged) {
  const bool stamped = record.timestamp_ms >= 0;
  ReplayWord word = WordOf(judged, opaque_, stamped, ages_);
  const bool free = word == ReplayWord::kApplies || word == ReplayWord::kInFlight;
  const bool copy = free && applies_.contains(HashOf(range, record));
  word = copy ? ReplayWord::kSuppressed : word;
  ReplayCounts& counts = CountsOf(range, record);
  counts.words[static_cast<size_t>(word)]++;
  if (word == ReplayWord::kApplies) {
    applies_.insert(HashOf(range, record));
    counts.before_history += record.offset < range.since ? 1 : 0;
  }
}

void ReplayTally::AddRefused(const ReplayRange& range, const ReplayRecord& record) {
  CountsOf(range, record).words[static_cast<size_t>(ReplayWord::kRefused)]++;
}

ReplayCounts& ReplayTally::CountsOf(const ReplayRange& range, const ReplayRecord& record) {
  constexpr int64_t kDayMs = 86'400'000;
  const int64_t day = record.timestamp_ms < 0 ? kNoReplayDay : record.timestamp_ms / kDayMs;
  return table_[{range.topic, day}];
}

}  // namespace oncemq
