// SPDX-License-Identifier: Apache-2.0
#include "loaded_ids.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace oncemq {
namespace {

constexpr size_t kDigestBytes = 16;

uint64_t HashOf(std::string_view digest) {
  uint64_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof(hash));
  return hash;
}

}  // namespace

LoadedIds::LoadedIds(Level level, const WindowTimes& times, const KeyedHash::Secret& secret,
                     milliseconds remember, bool partition_owned)
    : digester_(secret),
      remember_(remember),
      partition_owned_(partition_owned),
      engine_(level, times,
              {std::numeric_limits<uint32_t>::max(), std::numeric_limits<uint32_t>::max()}, *this) {
}

std::string LoadedIds::DigestOf(std::string_view id, IdDigester& digester) {
  return std::string(digester.Of(id).data(), kDigestBytes);
}

// In front of the id, and always of the same length: so no id of another partition has these bytes.
std::string LoadedIds::DigestOf(std::string_view id, const Coordinates& at, IdDigester& digester) {
  std::array<char, 8> partition;
  for (size_t i = 0; i < 4; i++) {
    partition[i] = static_cast<char>(at.source >> (24 - 8 * i));
    partition[4 + i] = static_cast<char>(static_cast<uint32_t>(at.partition) >> (24 - 8 * i));
  }
  const std::string_view before(partition.data(), partition.size());
  return std::string(digester.Of(id, before).data(), kDigestBytes);
}

void LoadedIds::Add(std::string_view id, const Coordinates& at) {
  added_.push_back(partition_owned_ ? DigestOf(id, at, digester_) : DigestOf(id, digester_));
}

void LoadedIds::Seal() {
  digests_.assign(added_.begin(), added_.end());
  std::sort(digests_.begin(), digests_.end());
  digests_.erase(std::unique(digests_.begin(), digests_.end()), digests_.end());
  rows_.resize(digests_.size());
  for (const std::string& digest : added_) {
    row_of_.push_back(static_cast<size_t>(
        std::lower_bound(digests_.begin(), digests_.end(), digest) - digests_.begin()));
  }
}

Found LoadedIds::At(size_t index) const {
  return {added_[index], HashOf(added_[index]), index};
}

Found LoadedIds::FoundOf(size_t row) const {
  return {digests_[row], HashOf(digests_[row]), 0};
}

const Marker* LoadedIds::MarkerOf(size_t row) const {
  const Found at = FoundOf(row);
  return engine_.markers().Find(at.hash, at.id);
}

void LoadedIds::LoadMarker(size_t row, const Marker& marker) {
  rows_[row].was = marker;
  engine_.Load(FoundOf(row), marker);
}

void LoadedIds::Hold(size_t index, const Token& token, const Coordinates& at,
                     OwnerEpoch owner_epoch) {
  const Found found = At(index);
  if (!Find(found) && engine_.markers().Find(found.hash, found.id) == nullptr) {
    Marker held;
    held.token = token;
    held.owner_epoch = owner_epoch;
    held.at = at;
    engine_.Load(found, held);
  }
}

void LoadedIds::SetTime(BootTime now, LogTime horizon) {
  engine_.set_now(now);
  now_ = now;
  wall_ = LogTime(std::chrono::duration_cast<milliseconds>(now.time_since_epoch()));
  horizon_ = horizon;
}

LogTime LoadedIds::Filed(LogTime time) const {
  return time == kNoLogTime ? wall_ : std::min(time, wall_);
}

void LoadedIds::File(size_t index, LogTime time) {
  Row& row = rows_[row_of_[index]];
  row.filed = std::max(row.filed, Filed(time));
}

void LoadedIds::Append(const Found& at, const Finishing& finishing) {
  Row& row = rows_[RowOf(at.index)];
  row.done = DoneId{finishing.at, finishing.token, finishing.fingerprint,
                    std::string(finishing.result), std::max(row.filed, Filed(finishing.time))};
  row.done->ends = EndOf(finishing.at, finishing.keep);
  row.done_changed = true;
}

BootTime LoadedIds::EndOf(const Coordinates& at, milliseconds keep) const {
  keep = keep == milliseconds(0) ? remember_ : keep;
  return at.partition != kNoPartition || keep == kForEver ? BootTime::max() : now_ + keep;
}

void LoadedIds::Seen(const Found& at, const DoneId& done, LogTime time) {
  if (done.at.partition == kNoPartition) {
    return;  // it is kept for a time, not from a copy on
  }
  if (time != kNoLogTime && Filed(time) > done.filed) {
    Row& row = rows_[RowOf(at.index)];
    row.done->filed = Filed(time);
    row.done_changed = true;
  }
}

bool LoadedIds::Same(const Marker& a, const Marker& b) {
  return a.token == b.token && a.owner_epoch == b.owner_epoch && a.lease_end == b.lease_end &&
         a.granted_at == b.granted_at && a.entry == b.entry && a.at == b.at &&
         a.attempt == b.attempt && a.fingerprint == b.fingerprint && a.state == b.state &&
         a.held == b.held && a.uncertain == b.uncertain && a.cut == b.cut;
}

}  // namespace oncemq
