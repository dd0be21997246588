// SPDX-License-Identifier: Apache-2.0
#include "oncemq/dedup/local_window.h"

#include <algorithm>
#include <type_traits>

#include "../window_check.h"
#include "families.h"
#include "local_window_engine.h"
#include "oncemq/base/bytes.h"
#include "sealed_row.h"

namespace oncemq {

Error InStore(const std::string& directory, Error error) {
  if (error.code == Code::kCorrupt && error.message.find(directory) == std::string::npos) {
    error.message = directory + ": " + error.message;
  }
  return error;
}

LocalWindow::LocalWindow(const LocalWindowOptions& options, const Clock& clock,
                         std::unique_ptr<RocksStore> store, const Manifest& manifest,
                         std::shared_ptr<GenerationMemory> memory)
    : capabilities_{.engine = "rocksdb",
                    .level = *options.level,
                    .durable = true,
                    .atomic = true,
                    .ages = true,
                    .timed = true},
      options_(options),
      clock_(clock),
      store_(std::move(store)),
      memory_(std::move(memory)),
      secret_(manifest.secret),
      hasher_(manifest.secret),
      manifest_(manifest),
      batch_(store_->NewBatch()),
      ids_(store_.get(), hasher_, options.generation, mutex_, memory_,
           {.span = options.remember / 8}),
      timed_(store_.get()),
      finished_(ids_, timed_, progress_, batch_, options),
      engine_(*options.level, options.times, {options.max_open, options.max_parked}, finished_) {}

LocalWindow::~LocalWindow() {
  if (forgetter_.joinable()) {
    forgetter_.join();
  }
}

uint64_t LocalWindow::incarnation() {
  MutexLock lock(mutex_);
  return manifest_.incarnation;
}

Found LocalWindow::Locate(std::string_view id, size_t index) const {
  return {id, hasher_(id), index};
}

Status LocalWindow::Usable() {
  if (failure_ && store_->unread()) {
    Fail(Error{Code::kUnavailable, Effect::kNone, "a file of the store could not be read"});
  }
  if (failure_) {
    return {};
  }
  return Error{Code::kUnavailable, Effect::kNone,
               "the window must be opened again: " + failure_.error().message};
}

void LocalWindow::Fail(const Status& failure) {
  failure_ = failure;
  failed_ = true;
}

Status LocalWindow::Write() {
  const bool finished = ids_.staged();
  if (finished) {
    ids_.Stage(batch_);
  }
  // At the opaque level a claim that a power loss takes would let its effect come twice, uncounted.
  const bool sync = options_.sync == SyncWhen::kEachBatch ||
                    (options_.sync == SyncWhen::kEachCommit && finished_.kept());
  if (Status written = WriteNow(sync); !written) {
    return written;
  }
  Status rolled = finished ? ids_.Written() : Status();
  if (!rolled) {
    // On record, and yet the last: a window that cannot put ids away must not go on.
    Fail(rolled);
    rolled = Error{rolled.error().code, Effect::kUnknown, rolled.error().message};
  }
  return rolled;
}

Status LocalWindow::WriteNow(bool sync) {
  Status written = store_->Write(batch_, sync);
  if (!written) {
    Fail(written);
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
  finished_.Begin(requests.size(), WallLogTime(), progress_.Watermark());
  std::vector<Found> found(requests.size());
  for (size_t i = 0; i < requests.size(); i++) {
    found[i] = Locate(IdOf(requests[i]), i);
    finished_.SetLookup(found[i], hasher_, secret_);
    engine_.markers().Prefetch(found[i].hash);
  }
  if constexpr (std::is_same_v<Request, CompleteRequest>) {
    // An open id is not finished: what is completed in time needs no look at the history.
    for (const Found& one : found) {
      finished_.WantOnly(one, engine_.markers().Find(one.hash, one.id) == nullptr);
    }
  }
  if (Status known = finished_.LookUp(); !known) {
    return InStore(options_.directory, known.error());
  }
  if constexpr (std::is_same_v<Request, CompleteRequest>) {
    // Ids without a partition come without commits, so their completions pay for the sweep. It
    // reads: before anything has changed, so that a completion that fails can be repeated.
    if (const auto swept = finished_.SweepTimed(); !swept) {
      return InStore(options_.directory, swept.error());
    }
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

// All or nothing: the effects of a batch were written on top of each other.
Status LocalWindow::StageEffects(std::span<const CompleteRequest> requests,
                                 std::span<const Found> found, std::span<MarkerChange> answers,
                                 EffectOverlay& effects, bool& fenced) {
  for (size_t i = 0; i < requests.size(); i++) {
    fenced = fenced || !engine_.WouldComplete(requests[i], found[i]);
  }
  const auto read = [this](std::string_view key) { return ReadEffect(key); };
  if (!fenced) {
    const auto holds = effects.Holds(read);
    if (!holds) {
      return holds.error();
    }
    fenced = !*holds;
  }
  if (fenced) {
    std::fill_n(answers.begin(), requests.size(), MarkerChange::kFenced);
    return {};
  }
  const auto rows = effects.Rows(read);
  if (!rows) {
    return rows.error();
  }
  for (const EffectOverlay::Row& row : *rows) {
    row.value ? batch_.Put(kEffects, row.key, *row.value) : batch_.Delete(kEffects, row.key);
  }
  return {};
}

Result<std::optional<std::string>> LocalWindow::ReadEffect(std::string_view key) {
  return store_->Get(kEffects, key);
}

Result<std::unique_ptr<EffectBatch>> LocalWindow::NewEffects(uint32_t, int32_t,
                                                             std::span<const ClaimRequest>) {
  if (capabilities_.level != Level::kAtomic) {
    return InvalidRequest("the window was not opened at the level atomic");
  }
  return std::unique_ptr<EffectBatch>(std::make_unique<EffectOverlay>(
      [this](std::string_view key) { return ReadEffect(key); }, this));
}

Status LocalWindow::CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                                 std::span<MarkerChange> answers) {
  const auto overlay = EffectOverlay::Of(effects, this);
  return overlay ? CompleteOverlay(**overlay, requests, answers) : Status(overlay.error());
}

Status LocalWindow::CompleteOverlay(EffectOverlay& effects,
                                    std::span<const CompleteRequest> requests,
                                    std::span<MarkerChange> answers) {
  if (requests.empty()) {
    return NoMarkerForEffects();
  }
  return Apply(requests, answers, &effects);
}

Result<OwnerEpoch> LocalWindow::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                OwnerEpoch floor) {
  if (partition < 0) {
    return InvalidRequest("only a partition is owned, not number " + std::to_string(partition));
  }
  constexpr OwnerEpoch kHighest = OwnerEpoch{1} << 62;
  if (floor > kHighest) {
    return InvalidRequest("no fence of ours is so high");
  }
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable.error();
  }
  const OwnerEpoch owner_epoch = engine_.owners().Raise(source, partition, floor, clock_);
  batch_.Put(kFacts, PartitionKey(kOwnerEpochPrefix, source, partition),
             SealNumbers({owner_epoch}));
  // A fence that is forgotten could be issued again, so it is on disk before it is used.
  if (Status written = WriteNow(/*sync=*/true); !written) {
    return written.error();
  }
  progress_.Register(source, partition);
  return owner_epoch;
}

Status LocalWindow::Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Complete(std::span<const CompleteRequest> requests,
                             std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Release(std::span<const ReleaseRequest> requests,
                            std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Restore(std::span<const RestoreRequest> requests,
                            std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status LocalWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  const Status peeked = Apply(ids, views);
  return peeked ? MarkUncertain(ids, views) : peeked;
}

}  // namespace oncemq
