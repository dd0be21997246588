// SPDX-License-Identifier: Apache-2.0
// LocalWindow: the engine behind OpenLocalWindow(). Open markers live in memory, as in the memory
// window, and are written where they must outlive the process; finished ids live in FinishedIds.
//
// A call applies its whole batch in memory and writes it as one batch of the store before anybody
// else can see it. If the write fails, the window refuses every later call: only the next opening
// knows what is on disk. No claim waits for the sync of an announcement, or for what has aged: that
// goes on a thread of its own, which the end of the window waits for.
//
// Thread safety: any thread; one lock around each batch.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../effect_overlay.h"
#include "../marker_engine.h"
#include "finished_ids.h"
#include "manifest.h"
#include "oncemq/base/check.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/rocks_store.h"
#include "oncemq/dedup/local_window.h"
#include "oncemq/dedup/store_stat.h"
#include "progress_table.h"
#include "timed_ids.h"

namespace oncemq {

Status CheckLocalWindow(const LocalWindowOptions& options);

// Damage names its place.
Error InStore(const std::string& directory, Error error);

// The opening, by this process, that another one goes on from.
struct FormerOpening {
  uint64_t incarnation = 0;   // 0: there is none
  uint64_t acknowledged = 0;  // number of its last change that a caller was told of
};

// The memory that all stores of a window share.
struct StoreMemory {
  std::shared_ptr<RocksMemory> rocks;
  std::shared_ptr<GenerationMemory> generations;
};
StoreMemory NewStoreMemory(const LocalWindowOptions& options);

class LocalWindow final : public Window {
 public:
  // `memory`: nullptr for a store that is only read.
  LocalWindow(const LocalWindowOptions& options, const Clock& clock,
              std::unique_ptr<RocksStore> store, const Manifest& manifest,
              std::shared_ptr<GenerationMemory> memory);
  ~LocalWindow() override;

  // Precondition: CheckLocalWindow(). kCorrupt: another store than `former`'s is there by now, or
  // none; kLostWrites: the same one, with fewer changes than `former` acknowledged. Then nothing of
  // the window is written.
  static Result<std::unique_ptr<LocalWindow>> OpenAt(const LocalWindowOptions& options,
                                                     const Clock& clock, const StoreMemory& memory,
                                                     const FormerOpening& former = {});

  // To be read only, by whoever knows that nobody holds it: see StoreReader.
  static Result<std::unique_ptr<LocalWindow>> OpenToRead(const std::string& directory,
                                                         const Clock& clock);

  // After it every call is refused.
  bool failed() const { return failed_; }
  // A row of the handlers, as it was written last.
  Result<std::optional<std::string>> ReadEffect(std::string_view key);
  uint64_t incarnation();
  uint64_t acknowledged() const { return store_->acknowledged(); }
  // What the store knows of a partition.
  Result<StoreKnowledge> KnownOf(uint32_t source, int32_t partition);

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override;
  Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t source, int32_t partition,
                                                  std::span<const ClaimRequest> granted) override;
  Status CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                      std::span<MarkerChange> answers) override;
  // The same, for the owner of several stores, which makes the batches itself.
  Status CompleteOverlay(EffectOverlay& effects, std::span<const CompleteRequest> requests,
                         std::span<MarkerChange> answers);
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override;
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Announce(std::span<const Announcement> announcements) override;
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) override;
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;
  Status RecordUncertain(std::span<const UncertainCall> calls) override;
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override;
  void SetAdminSocket(const std::string& path) override;
  Result<std::vector<StoreStat>> Stat() override;

 private:
  // What the engine needs of the store, for the ids of one batch.
  class Finished {
   public:
    Finished(FinishedIds& ids, TimedIds& timed, const ProgressTable& progress, RocksBatch& batch,
             const LocalWindowOptions& options);

    std::optional<IdRecord> Find(const Found& at) const;
    bool CompletedBy(const IdRecord& record, const Token& token) const {
      return record.completer == CompleterOf(token);
    }
    void Append(const Found& at, const Finishing& finishing);
    void Seen(const Found& at, const IdRecord& record, LogTime time);
    LogTime horizon() const { return horizon_; }
    // Never falls.
    void set_horizon(LogTime horizon) {
      ONCEMQ_CHECK(horizon >= horizon_, "a horizon never falls (rule 26)");
      horizon_ = horizon;
    }
    void Keep(const Found& at, Marker& marker);
    void Forget(const Found& at, const Marker& marker);

    bool changed() const { return changed_ || ids_.staged(); }
    bool kept() const { return kept_; }  // a marker that must outlive the process
    // `wall` stands in for times that are not known; with the watermark it caps those that are in
    // the future.
    void Begin(size_t ids, LogTime wall, std::optional<LogTime> watermark);
    void SetLookup(const Found& at, const KeyedHash& hasher, const KeyedHash::Secret& secret);
    void WantOnly(const Found& at, bool wanted) { lookups_[at.index].wanted = wanted; }
    Status LookUp();
    // A step of the sweep of ids without a partition.
    Status SweepTimed() { return timed_.Sweep(wall_, batch_); }

   private:
    // Under which time an id is filed that is, or has a copy, of `time`.
    LogTime Filed(LogTime time) const;

    FinishedIds& ids_;
    TimedIds& timed_;
    const ProgressTable& progress_;
    RocksBatch& batch_;
    const milliseconds remember_;
    const bool keep_open_;       // open markers must outlive the process
    const milliseconds allows_;  // for copies that come later
    bool changed_ = false;
    bool kept_ = false;
    LogTime wall_;
    LogTime latest_;
    LogTime horizon_ = LogTime::min();
    std::vector<HistoryLookup> lookups_;
    std::vector<std::string> digests_;
  };

  Status Load(bool read_only);
  Status WriteManifest();
  Status StatPartitions(std::vector<PartitionStat>& partitions) REQUIRES(mutex_);
  template <class Request, class Reply>
  Status Apply(std::span<const Request> requests, std::span<Reply> replies,
               EffectOverlay* effects = nullptr);
  Status StageEffects(std::span<const CompleteRequest> requests, std::span<const Found> found,
                      std::span<MarkerChange> answers, EffectOverlay& effects, bool& fenced)
      REQUIRES(mutex_);
  LogTime WallLogTime() const {
    return LogTime(milliseconds(clock_.Wall().micros / 1000));  // in the unit of log time
  }
  Found Locate(std::string_view id, size_t index) const;
  Status LoadMarkers() REQUIRES(mutex_);
  Status LoadOwners() REQUIRES(mutex_);
  Status LoadProgress() REQUIRES(mutex_);
  Status LoadHorizon() REQUIRES(mutex_);
  Status Usable() REQUIRES(mutex_);
  Status Write() REQUIRES(mutex_);
  Status WriteNow(bool sync) REQUIRES(mutex_);
  void Fail(const Status& failure) REQUIRES(mutex_);
  Result<std::vector<UncertainRecord>> ReadUncertain(std::string_view from, std::string_view to);
  Status MarkUncertain(std::span<const std::string_view> ids, std::span<MarkerView> views);
  void ForgetAged() REQUIRES(mutex_);
  // Without the lock, but for the moment in which `ids` lose what has aged.
  void Forget(FinishedIds& ids, const History::Aged& aged, LogTime horizon);

  const WindowCapabilities capabilities_;
  const LocalWindowOptions options_;
  const Clock& clock_;
  const std::unique_ptr<RocksStore> store_;
  const GenerationMemory::Share memory_;
  const KeyedHash::Secret secret_;
  const KeyedHash hasher_;

  Mutex mutex_;
  std::string admin_socket_ GUARDED_BY(mutex_);  // as the store names it
  Manifest manifest_ GUARDED_BY(mutex_);
  RocksBatch batch_ GUARDED_BY(mutex_);
  FinishedIds ids_ GUARDED_BY(mutex_);
  TimedIds timed_ GUARDED_BY(mutex_);
  ProgressTable progress_ GUARDED_BY(mutex_);
  Finished finished_ GUARDED_BY(mutex_);
  MarkerEngine<Finished> engine_ GUARDED_BY(mutex_);
  Status failure_ GUARDED_BY(mutex_);  // of the write after which nothing is certain any more
  std::atomic<bool> failed_{false};    // there is one
  bool uncertain_swept_ GUARDED_BY(mutex_) = false;  // old records went, since the opening
  ConditionVariable forgotten_;
  bool forgetting_ GUARDED_BY(mutex_) = false;
  std::thread forgetter_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
