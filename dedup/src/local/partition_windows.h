// SPDX-License-Identifier: Apache-2.0
// PartitionWindows: the engine behind OpenPartitionWindows(): finds the store of each request by
// its coordinates.
//
// A store that is closed while a call is under way in it goes when that call has ended; until then
// its directory is held, and whoever wants it next is told so. A store that has failed is opened
// again by the next call: only that tells what was written, and after a full disk it may go on.
// That takes the disk's time, so any other call meanwhile is told kUnavailable at once. A store
// with fewer changes than it had acknowledged has lost writes, and every call says so until Open().
//
// What a store keeps it keeps under source 0, whatever number its topic has: that is a place in a
// configuration, which may change.
//
// Thread safety: any thread. Blocks: for the disk.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "local_window_engine.h"

namespace oncemq {

class PartitionWindows final : public Window {
 public:
  PartitionWindows(const LocalWindowOptions& options, const Clock& clock);

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<StoreKnowledge> Open(const StoreName& name) override;
  void Close(uint32_t source, int32_t partition) override;
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override;
  Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t source, int32_t partition,
                                                  std::span<const ClaimRequest> granted) override;
  Status CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                      std::span<MarkerChange> answers) override;
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override;
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Announce(std::span<const Announcement> announcements) override;
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) override;
  // Of whichever open store knows the id.
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;
  Status RecordUncertain(std::span<const UncertainCall> calls) override;
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override;
  void SetAdminSocket(const std::string& path) override;
  Result<std::vector<StoreStat>> Stat() override;

 private:
  using StorePtr = std::shared_ptr<LocalWindow>;
  using SourcePartition = std::pair<uint32_t, int32_t>;
  struct Store {
    Store(LocalWindowOptions its_options, uint32_t its_source)
        : options(std::move(its_options)), source(its_source) {}
    void NoteOpening(Status opened, BootTime now) REQUIRES(mutex);

    const LocalWindowOptions options;
    const uint32_t source;  // the number of its topic, as callers say it
    Mutex mutex;
    StorePtr window GUARDED_BY(mutex);       // nullptr: to be opened
    FormerOpening former GUARDED_BY(mutex);  // the last one that has succeeded
    bool opening GUARDED_BY(mutex) = false;  // by a call that is under way
    int failures GUARDED_BY(mutex) = 0;      // of openings, since the last that did not
    BootTime next_try GUARDED_BY(mutex){};
    Status last GUARDED_BY(mutex);               // of these
    bool lost_writes GUARDED_BY(mutex) = false;  // no assignment was told of it yet
    bool given_back GUARDED_BY(mutex) = false;   // and not opened any more
  };

  std::shared_ptr<Store> StoreAt(SourcePartition where) const;
  std::vector<std::shared_ptr<Store>> AllStores() const;
  // Likewise. nullptr: the partition is not ours.
  Result<StorePtr> Find(SourcePartition where) const;
  // Opens the store if that is needed. Only an assignment takes a store with lost writes: it
  // compares the store with the group's commit.
  enum class OpenFor : uint8_t { kCall, kAssignment };
  Result<StorePtr> Ready(Store& store, OpenFor whom = OpenFor::kCall) const;
  // A store that was opened meanwhile learns of the socket too.
  void PassAdminSocket(LocalWindow& store) const;
  template <class Request, class Reply>
  Status Route(std::span<const Request> requests, std::span<Reply> replies);
  template <class Request, class Reply>
  static Status Send(LocalWindow& store, std::span<const Request> requests,
                     std::span<Reply> replies);

  const WindowCapabilities capabilities_;
  const LocalWindowOptions options_;
  const StoreMemory memory_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<SourcePartition, std::shared_ptr<Store>> stores_ GUARDED_BY(mutex_);
  std::string socket_ GUARDED_BY(mutex_);  // as it was offered
};

}  // namespace oncemq
