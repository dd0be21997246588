// SPDX-License-Identifier: Apache-2.0
// What the engine of a local window does with finished ids, and with open ones that must outlive
// the process.
#include <algorithm>

#include "../id_digest.h"
#include "families.h"
#include "kept_marker.h"
#include "local_window_engine.h"

namespace oncemq {

LocalWindow::Finished::Finished(FinishedIds& ids, TimedIds& timed, const ProgressTable& progress,
                                RocksBatch& batch, const LocalWindowOptions& options)
    : ids_(ids),
      timed_(timed),
      progress_(progress),
      batch_(batch),
      remember_(options.remember),
      keep_open_(*options.level == Level::kOpaque),
      allows_(options.remember / 16) {}

std::optional<IdRecord> LocalWindow::Finished::Find(const Found& at) const {
  const HistoryLookup& lookup = lookups_[at.index];
  if (lookup.record) {
    return lookup.record;
  }
  if (auto timed = timed_.Find(lookup.id, lookup.digest, wall_)) {
    return timed;
  }
  if (!ids_.staged()) {
    return std::nullopt;
  }
  return ids_.FindRecent(lookup.hash, lookup.id,
                         lookup.digest);  // by an earlier request of the batch
}

Status LocalWindow::Finished::LookUp() {
  Status known = ids_.Find(lookups_);
  for (size_t i = 0; known && i < lookups_.size(); i++) {
    if (lookups_[i].wanted && !lookups_[i].record) {
      known = timed_.Load(lookups_[i].id, lookups_[i].digest);
    }
  }
  return known;
}

// Each id is filed under a later time than its own: of the copies that follow soon, which are most,
// none has to be written down.
LogTime LocalWindow::Finished::Filed(LogTime time) const {
  return (time == kNoLogTime ? wall_ : std::min(time, latest_)) + allows_;
}

// A copy must be known as long as it may come again, so its time counts as well as the original's
// (rule 26).
void LocalWindow::Finished::Seen(const Found& at, const IdRecord& record, LogTime time) {
  if (record.at.partition == kNoPartition) {
    return;  // it is kept for a time, not from a copy on
  }
  const HistoryLookup& lookup = lookups_[at.index];
  const LogTime filed = Filed(time);
  const LogTime so_far = lookup.record ? lookup.filed : ids_.newest();
  if (filed - allows_ > so_far) {
    ids_.Append(record, lookup.hash, filed);
  }
}

void LocalWindow::Finished::Append(const Found& at, const Finishing& finishing) {
  const HistoryLookup& lookup = lookups_[at.index];
  const IdRecord record{
      .id = lookup.id,
      .digest = lookup.digest,
      .fingerprint = finishing.fingerprint,
      .at = finishing.at,
      .completer = finishing.token.empty() ? 0 : CompleterOf(finishing.token),
      .result = finishing.result,
  };
  if (finishing.at.partition != kNoPartition) {
    // An old stamp is no reason to forget the id at once (rule 22). A watermark that is not known
    // yet is no later than the clock.
    LogTime least = progress_.LatestWatermarkOf(record.at.source, record.at.partition);
    least = least == kNoLogTime ? wall_ : least;
    ids_.Append(record, lookup.hash, std::max(Filed(finishing.time), least));
    return;
  }
  const milliseconds keep = finishing.keep == milliseconds(0) ? remember_ : finishing.keep;
  timed_.Append(record, keep == kForEver ? LogTime::max() : wall_ + keep, batch_);
  changed_ = true;
}

void LocalWindow::Finished::Keep(const Found& at, Marker& marker) {
  const bool outlives = marker.state != MarkerState::kOpen || marker.uncertain || keep_open_;
  // A claim at the guarded level may be forgotten: the target knows what it did. But for the count,
  // once an attempt has failed.
  if (!outlives && marker.held && !marker.stored) {
    return;
  }
  Marker row = marker;
  row.held = marker.held && outlives;
  marker.stored = true;
  batch_.Put(kKept, at.id, EncodeKept(row));
  changed_ = true;
  kept_ = kept_ || outlives;
}

void LocalWindow::Finished::Forget(const Found& at, const Marker& marker) {
  if (marker.stored) {
    batch_.Delete(kKept, at.id);
    changed_ = true;
  }
}

void LocalWindow::Finished::Begin(size_t ids, LogTime wall, std::optional<LogTime> watermark) {
  changed_ = kept_ = false;
  timed_.BeginBatch();
  wall_ = wall;
  latest_ = std::max(wall, watermark.value_or(wall));  // the clock may be behind the log
  lookups_.resize(ids);
  digests_.resize(ids);
}

void LocalWindow::Finished::SetLookup(const Found& at, const KeyedHash& hasher,
                                      const KeyedHash::Secret& secret) {
  HistoryLookup& lookup = lookups_[at.index];
  lookup.record.reset();
  lookup.wanted = true;
  lookup.digest = at.id.size() > kLongestStoredId;
  if (lookup.digest) [[unlikely]] {
    digests_[at.index] = DigestOf(at.id, secret);
    lookup.id = digests_[at.index];
    lookup.hash = hasher(lookup.id);
  } else {
    lookup.id = at.id;
    lookup.hash = at.hash;
  }
  ids_.Prefetch(lookup.hash);
}

}  // namespace oncemq
