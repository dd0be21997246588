// SPDX-License-Identifier: Apache-2.0
#include "oncemq/dedup/local_window.h"

#include <algorithm>
#include <type_traits>

#include "../window_check.h"
#include "families.h"
#include "known_row.h"
#include "local_window_engine.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/mutant.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

// Of this process's machine, in the unit of log time.
LogTime WallLogTime(const Clock& clock) {
  return LogTime(milliseconds(clock.Wall().micros / 1000));
}

}  // namespace

LocalWindow::LocalWindow(const LocalWindowOptions& options, const Clock& clock,
                         std::unique_ptr<RocksStore> store, const Manifest& manifest)
    : capabilities_{.engine = "rocksdb",
                    .level = *options.level,
                    .durable = true,
                    .atomic = true,
                    .ages = true},
      options_(options),
      clock_(clock),
      store_(std::move(store)),
      secret_(manifest.secret),
      hasher_(manifest.secret),
      manifest_(manifest),
      batch_(store_->NewBatch()),
      ids_(store_.get(), hasher_, options.generation, mutex_),
      finished_(ids_, batch_, options),
      engine_(*options.level, options.times, {options.max_open, options.max_parked}, finished_) {}

Found LocalWindow::Locate(std::string_view id, size_t index) const {
  return {id, hasher_(id), index};
}

Status LocalWindow::Usable() {
  if (failure_) {
    return {};
  }
  return Error{Code::kUnavailable, Effect::kNone,
               "the window must be opened again: " + failure_.error().message};
}

bool LocalWindow::failed() {
  MutexLock lock(mutex_);
  return !failure_;
}

Status LocalWindow::Write() {
  const bool finished = ids_.staged();
  if (finished) {
    ids_.Stage(batch_);
  }
  // At the opaque level a claim that a power loss takes would let its effect come twice, uncounted.
  const bool sync = options_.sync == SyncWhen::kEachBatch ||
                    (options_.sync == SyncWhen::kEachCommit && finished_.kept() &&
                     !ONCEMQ_MUTANT("claim-not-synced"));
  if (Status written = WriteNow(sync); !written) {
    return written;
  }
  Status rolled = finished ? ids_.Written() : Status();
  if (!rolled) {
    // On record, and yet the last: a window that cannot put ids away must not go on.
    failure_ = rolled;
    rolled = Error{rolled.error().code, Effect::kUnknown, rolled.error().message};
  }
  return rolled;
}

Status LocalWindow::WriteNow(bool sync) {
  Status written = store_->Write(batch_, sync);
  if (!written) {
    failure_ = written;
  }
  return written;
}

template <class Request, class Reply>
Status LocalWindow::Apply(std::span<const Request> requests, std::span<Reply> replies,
                          [[maybe_unused]] EffectOverlay* effects) {
  if (Status fit = CheckBatch(capabilities_, requests, replies.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable;
  }
  finished_.Begin(requests.size(), WallLogTime(clock_), progress_.Watermark());
  std::vector<Found> found(requests.size());
  for (size_t i = 0; i < requests.size(); i++) {
    found[i] = Locate(IdOf(requests[i]), i);
    finished_.SetLook(found[i], hasher_, secret_);
    engine_.markers().Prefetch(found[i].hash);
  }
  if (Status known = finished_.Look(); !known) {
    return known;
  }
  const auto locate = [&](size_t i) { return found[i]; };
  Status room;
  if constexpr (std::is_same_v<Request, ClaimRequest>) {
    room = engine_.RoomFor(requests, locate);
  } else if constexpr (std::is_same_v<Request, ParkRequest>) {
    room = engine_.RoomToPark(requests, locate);
  }
  if (!room) {
    return room;
  }
  engine_.set_now(clock_.Boot());
  if constexpr (std::is_same_v<Request, CompleteRequest>) {
    if (bool fenced = false; effects != nullptr) {
      Status staged = StageEffects(requests, found, replies, *effects, fenced);
      if (!staged || fenced) {
        return staged;
      }
    }
  }
  for (size_t i = 0; i < requests.size(); i++) {
    engine_.One(requests[i], found[i], replies[i]);
  }
  return finished_.changed() ? Write() : Status();
}

// All or nothing: the effects of a run were written on top of each other.
Status LocalWindow::StageEffects(std::span<const CompleteRequest> requests,
                                 std::span<const Found> found, std::span<Change> answers,
                                 EffectOverlay& effects, bool& fenced) {
  for (size_t i = 0; i < requests.size(); i++) {
    fenced = fenced || (!engine_.WouldComplete(requests[i], found[i]) &&
                        !ONCEMQ_MUTANT("effect-without-marker"));
  }
  if (fenced) {
    std::fill_n(answers.begin(), requests.size(), Change::kFenced);
    return {};
  }
  const auto rows = effects.Rows([this](std::string_view key) { return ReadEffect(key); });
  if (!rows) {
    return rows.error();
  }
  if (ONCEMQ_MUTANT("marker-without-effect")) {
    return {};
  }
  for (const EffectOverlay::Row& row : *rows) {
    row.value ? batch_.Put(kEffects, row.key, *row.value) : batch_.Delete(kEffects, row.key);
  }
  return {};
}

Result<std::optional<std::string>> LocalWindow::ReadEffect(std::string_view key) {
  return store_->Get(kEffects, key);
}

Result<std::unique_ptr<EffectBatch>> LocalWindow::NewEffects(uint32_t, int32_t) {
  if (capabilities_.level != Level::kAtomic) {
    return InvalidRequest("the window was not opened at the level atomic");
  }
  return std::unique_ptr<EffectBatch>(
      std::make_unique<EffectOverlay>([this](std::string_view key) { return ReadEffect(key); }));
}

Status LocalWindow::CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                                 std::span<Change> answers) {
  return Apply(requests, answers, &static_cast<EffectOverlay&>(effects));
}

Result<Own> LocalWindow::RaiseOwn(uint32_t source, int32_t partition, Own floor) {
  if (partition < 0) {
    return InvalidRequest("only a partition is owned, not number " + std::to_string(partition));
  }
  constexpr Own kHighest = Own{1} << 62;
  if (floor > kHighest) {
    return InvalidRequest("no fence of ours is so high");
  }
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable.error();
  }
  const Own own = engine_.owners().Raise(source, partition, floor, clock_);
  batch_.Put(kFacts, PartitionKey(kOwnPrefix, source, partition), SealNumbers({own}));
  // A fence that is forgotten could be issued again, so it is on disk before it is used.
  if (Status written = WriteNow(/*sync=*/!ONCEMQ_MUTANT("own-not-synced")); !written) {
    return written.error();
  }
  progress_.Register(source, partition);
  return own;
}

Status LocalWindow::Announce(std::span<const Announcement> announcements) {
  for (const Announcement& one : announcements) {
    if (one.from < 0 || one.to < one.from || one.offset < 0) {
      return InvalidRequest("what is known reaches from an offset to a later one");
    }
  }
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable;
  }
  for (const Announcement& one : announcements) {
    batch_.Put(kFacts, PartitionKey(kKnownPrefix, one.source, one.partition), EncodeKnown(one));
  }
  const bool sync = options_.sync != SyncWhen::kNever && !ONCEMQ_MUTANT("commit-before-sync");
  if (!announcements.empty()) {
    return WriteNow(sync);
  }
  Status synced = sync ? store_->Sync() : Status();
  if (!synced) {
    failure_ = synced;
  }
  return synced;
}

Result<Known> LocalWindow::KnownOf(uint32_t source, int32_t partition) {
  MutexLock lock(mutex_);
  Known known;
  const auto row = store_->Get(kFacts, PartitionKey(kKnownPrefix, source, partition));
  if (!row) {
    return row.error();
  }
  if (*row) {
    auto read = DecodeKnown(**row);
    if (!read) {
      return Error{Code::kCorrupt, Effect::kNone, "what is known of a partition cannot be read"};
    }
    known = *std::move(read);
  }
  known.incarnation = manifest_.incarnation;
  known.earlier = manifest_.earlier;
  return known;
}

Status LocalWindow::Committed(std::span<const Progress> progress, std::span<Change> answers) {
  if (answers.size() < progress.size()) {
    return InvalidRequest("fewer places for answers than requests");
  }
  for (const Progress& one : progress) {
    if (one.frontier < 0) {
      return InvalidRequest("a commit is at an offset, not at " + std::to_string(one.frontier));
    }
  }
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable;
  }
  const LogTime now = WallLogTime(clock_);
  for (size_t i = 0; i < progress.size(); i++) {
    Progress one = progress[i];
    const OwnRecord* owner = engine_.owners().Find({one.source, one.partition, one.frontier});
    const bool holds = one.own != 0 && OwnershipHolds(one.own, owner);
    answers[i] = holds ? Change::kMade : Change::kFenced;
    if (holds) {
      // A stamp of the future must not make everything look old (rule 22).
      one.watermark = one.watermark == kNoLogTime
                          ? kNoLogTime
                          : std::clamp(one.watermark, LogTime(milliseconds(0)), now);
      progress_.Note(one);
      if (manifest_.LastCommitOf(one.incarnation)) {
        PutManifest(manifest_, batch_);
      }
      batch_.Put(kFacts, PartitionKey(kProgressPrefix, one.source, one.partition),
                 ProgressTable::RowOf(one));
    }
  }
  // Not synced: older progress only makes it remember more.
  if (Status written = WriteNow(/*sync=*/false); !written) {
    return written;
  }
  return ForgetAged();
}

Status LocalWindow::ForgetAged() {
  const auto watermark = progress_.Watermark();
  if (!watermark) {
    return {};
  }
  const LogTime limit = *watermark - options_.remember - options_.skew;
  const auto newest = ids_.NewestToDrop(limit, progress_);
  if (!newest) {
    return {};
  }
  // First the horizon, durably: an id that is gone must never look new because it is unknown.
  const LogTime horizon = std::max(finished_.horizon(), *newest + milliseconds(1));
  if (!ONCEMQ_MUTANT("horizon-not-raised")) {
    finished_.set_horizon(horizon);
    batch_.Put(kFacts, kHorizonKey,
               SealNumbers({static_cast<uint64_t>(horizon.time_since_epoch().count())}));
    if (Status written = WriteNow(/*sync=*/true); !written) {
      return written;
    }
  }
  Status dropped = ids_.Drop(limit, progress_);
  if (!dropped) {
    failure_ = dropped;
  }
  return dropped;
}

Status LocalWindow::Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Complete(std::span<const CompleteRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Release(std::span<const ReleaseRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Park(std::span<const ParkRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Renew(std::span<const RenewRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Restore(std::span<const RestoreRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  return Apply(ids, views);
}

}  // namespace oncemq
