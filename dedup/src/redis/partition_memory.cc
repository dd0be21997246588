// SPDX-License-Identifier: Apache-2.0
#include "partition_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "../id_digest.h"
#include "../window_check.h"
#include "packed.h"
#include "redis_ids.h"

namespace oncemq {
namespace {

constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();
constexpr size_t kForgottenAtOnce = 32;  // entries: claims wait for it

// In a quarter of a token's bytes: once in 2^32, a caller that repeats a completion that was never
// its own is told that it was made. The id is finished in either case.
uint32_t TagOf(const Token& token) {
  return static_cast<uint32_t>(MixBits(token.process ^ MixBits(token.attempt))) | 1;
}

Found FoundOf(std::string_view digest, size_t index) {
  uint64_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return {digest, hash, index};
}

// Outlives its process: a doubt, and a parked or handed id.
bool Outlives(const Marker& marker) {
  return marker.state != MarkerState::kOpen || marker.uncertain;
}

}  // namespace

PartitionMemory::PartitionMemory(uint32_t source, int32_t partition, const Terms& terms,
                                 const Clock& clock)
    : source_(source),
      partition_(partition),
      opaque_(terms.level == Level::kOpaque),
      secret_(terms.secret),
      clock_(clock),
      finished_(ids_, kept_, {source, partition, -1}, terms.allows),
      engine_(terms.level, terms.times, {kUnbounded, kUnbounded}, finished_) {}

std::optional<PartitionMemory::Finished::Record> PartitionMemory::Finished::Find(
    const Found& at) const {
  const auto id = ids_.Find(at.id);
  if (!id) {
    return std::nullopt;
  }
  Record record{.at = at_,
                .fingerprint = id->fingerprint,
                .completer = id->completer,
                .kept_to = id->kept_to};
  record.at.offset = id->offset;
  return record;
}

bool PartitionMemory::Finished::CompletedBy(const Record& done, const Token& token) const {
  return done.completer == TagOf(token);
}

LogTime PartitionMemory::Finished::TimeOf(LogTime time) const {
  return time == kNoLogTime ? wall_ : std::min(time, wall_);
}

void PartitionMemory::Finished::Append(const Found& at, const Finishing& finishing) {
  ids_.Append(at.id, {.offset = finishing.at.offset,
                      .fingerprint = finishing.fingerprint,
                      .completer = finishing.token.empty() ? 0 : TagOf(finishing.token),
                      .kept_to = std::max(TimeOf(finishing.time) + allows_, watermark_)});
}

// A copy must be known as long as it may come again, so its time counts as well as the original's
// (rule 26).
void PartitionMemory::Finished::Seen(const Found& at, const Record& done, LogTime time) {
  if (TimeOf(time) > done.kept_to) {
    ids_.Append(at.id, {.offset = done.at.offset,
                        .fingerprint = done.fingerprint,
                        .completer = done.completer,
                        .kept_to = TimeOf(time) + allows_});
  }
}

void PartitionMemory::Finished::Keep(const Found& at, Marker& marker) {
  if (Outlives(marker) || !marker.held || marker.stored) {  // the last two: counts of attempts
    marker.stored = true;
    kept_[std::string(at.id)] = MarkerBytes(marker, kNoLogTime);
  }
}

void PartitionMemory::Finished::Forget(const Found& at, const Marker& marker) {
  if (marker.stored) {
    kept_[std::string(at.id)].clear();
  }
}

template <class Request, class Reply>
void PartitionMemory::Apply(std::span<const Request> requests, std::span<Reply> replies,
                            LogTime wall) {
  // Long enough for the cache misses of its ids to overlap, short enough for the first cache.
  constexpr size_t kBlock = 64;
  std::vector<std::array<char, kIdDigestBytes>> digests(requests.size());
  IdDigester digester(secret_);
  std::transform(requests.begin(), requests.end(), digests.begin(),
                 [&](const Request& request) { return digester.Of(IdOf(request)); });
  const auto found = [&](size_t i) {
    return FoundOf({digests[i].data(), OwnedIds::kDigestBytes}, i);
  };
  MutexLock lock(mutex_);
  engine_.set_now(clock_.Boot());
  finished_.set_wall(wall);
  for (size_t begin = 0; begin < requests.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, requests.size());
    for (size_t i = begin; i < end; i++) {
      const Found at = found(i);
      std::as_const(engine_).markers().Prefetch(at.hash);
      ids_.Prefetch(at.id);
    }
    for (size_t i = begin; i < end; i++) {
      engine_.One(requests[i], found(i), replies[i]);
    }
  }
}

template void PartitionMemory::Apply(std::span<const ClaimRequest>, std::span<ClaimAnswer>,
                                     LogTime);
template void PartitionMemory::Apply(std::span<const CompleteRequest>, std::span<MarkerChange>,
                                     LogTime);
template void PartitionMemory::Apply(std::span<const ReleaseRequest>, std::span<MarkerChange>,
                                     LogTime);
template void PartitionMemory::Apply(std::span<const ParkRequest>, std::span<MarkerChange>,
                                     LogTime);
template void PartitionMemory::Apply(std::span<const RenewRequest>, std::span<MarkerChange>,
                                     LogTime);
template void PartitionMemory::Apply(std::span<const RestoreRequest>, std::span<MarkerChange>,
                                     LogTime);
template void PartitionMemory::Apply(std::span<const std::string_view>, std::span<MarkerView>,
                                     LogTime);

// Ids that a former owner has finished since its markers were read are not in doubt, nor parked.
bool PartitionMemory::Load(std::vector<OwnedIds::Loaded> entries) {
  MutexLock lock(mutex_);
  if (std::as_const(engine_).markers().size() > 0) {
    for (const OwnedIds::Loaded& one : entries) {
      const bool ours = OwnedIds::ForEach(
          one.bytes, [this](std::string_view digest, const OwnedIds::Id&)
                         REQUIRES(mutex_) { engine_.Unload(FoundOf(digest, 0)); });
      if (!ours) {
        return false;
      }
    }
  }
  return ids_.Load(std::move(entries));
}

bool PartitionMemory::LoadKept(std::string_view digest, std::string_view bytes) {
  if (digest.size() != OwnedIds::kDigestBytes || bytes.size() != kMarkerBytes) {
    return false;
  }
  MutexLock lock(mutex_);
  const Found at = FoundOf(digest, 0);
  if (ids_.Find(digest) || engine_.markers().Find(at.hash, at.id) != nullptr ||
      kept_.contains(std::string(digest))) {
    return true;  // this process knows better
  }
  PackedReader reader(bytes);
  LogTime filed;
  Marker marker = ReadMarker(reader, filed);
  // Its times are of a clock that is gone. So is its holder, after an effect perhaps.
  marker.granted_at = marker.lease_end = BootTime{};
  if (marker.state == MarkerState::kOpen) {
    marker.uncertain |= opaque_ && marker.held;
    marker.held = false;
  }
  marker.stored = true;
  engine_.Load(at, marker);
  return true;
}

void PartitionMemory::Loaded(const StreamPosition& last, LogTime horizon, LogTime watermark) {
  MutexLock lock(mutex_);
  ids_.SetLast(last);
  finished_.RaiseHorizon(horizon);
  finished_.RaiseWatermark(watermark);
}

void PartitionMemory::NoteWatermark(LogTime watermark) {
  MutexLock lock(mutex_);
  finished_.RaiseWatermark(watermark);
}

StreamPosition PartitionMemory::stored_to() const {
  MutexLock lock(mutex_);
  return ids_.stored_to();
}

void PartitionMemory::Raised(OwnerEpoch owner_epoch) {
  MutexLock lock(mutex_);
  const OwnerRecord* before = engine_.owners().Find({source_, partition_, -1});
  if (before == nullptr || before->owner_epoch < owner_epoch) {
    engine_.owners().Restore(source_, partition_, owner_epoch, clock_.Boot());
  }
}

OwnerEpoch PartitionMemory::owner_epoch() {
  MutexLock lock(mutex_);
  const OwnerRecord* record = engine_.owners().Find({source_, partition_, -1});
  return record == nullptr ? 0 : record->owner_epoch;
}

PartitionMemory::Changes PartitionMemory::Take() {
  MutexLock lock(mutex_);
  ids_.Seal();
  return {.entries = ids_.Unstored(), .kept = std::exchange(kept_, {}), .parked = engine_.parked()};
}

void PartitionMemory::StoredTo(const StreamPosition& position) {
  MutexLock lock(mutex_);
  ids_.StoredTo(position);
}

// Those that have changed again meanwhile stay as they are.
void PartitionMemory::GiveBack(Changes changes) {
  MutexLock lock(mutex_);
  kept_.merge(changes.kept);
}

std::vector<PartitionMemory::Aged> PartitionMemory::FindAged(LogTime limit, int64_t frontier,
                                                             size_t most) const {
  MutexLock lock(mutex_);
  std::vector<Aged> aged(ids_.Aged(limit, frontier, most));
  for (size_t i = 0; i < aged.size(); i++) {
    aged[i] = {ids_.at(i).position, ids_.at(i).ids()};
  }
  return aged;
}

// First the horizon: an id that is gone must not look new.
void PartitionMemory::Forget(size_t entries, LogTime horizon) {
  for (size_t left = entries; left > 0;) {
    const size_t some = std::min(left, kForgottenAtOnce);
    MutexLock lock(mutex_);
    finished_.RaiseHorizon(horizon);
    ids_.Drop(some);
    left -= some;
  }
}

PartitionMemory::Numbers PartitionMemory::Count() const {
  MutexLock lock(mutex_);
  return {.known = ids_.known(),
          .unstored = ids_.unstored(),
          .open = engine_.open(),
          .memory_bytes = ids_.memory_bytes() + engine_.markers().memory_bytes()};
}

}  // namespace oncemq
