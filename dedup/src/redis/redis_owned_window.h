// SPDX-License-Identifier: Apache-2.0
// RedisOwnedWindow: the engine of OpenRedisWindow() where partitions own their ids. Each partition
// that is open here is judged in memory (PartitionMemory). Announce() takes changes to Redis,
// by scripts that only the partition's newest owner may run; Open() and RaiseOwnerEpoch() read it
// back.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/dedup/store_stat.h"
#include "partition_memory.h"
#include "redis_window_engine.h"

namespace oncemq {

class RedisOwnedWindow final : public Window {
 public:
  // `clock` judges leases, and outlives it; `server_clock` as of RedisWindow.
  static Result<std::unique_ptr<RedisOwnedWindow>> OpenAt(std::string_view address,
                                                          const RedisWindowOptions& options,
                                                          std::string_view server_clock,
                                                          const Clock& clock);

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<StoreKnowledge> Open(const StoreName& name) override;
  void Close(uint32_t source, int32_t partition) override;
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override;
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override;
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Announce(std::span<const Announcement> announcements) override;
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) override;
  // Of the partitions that are open here; of a look from outside, of all that was announced.
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;
  Status RecordUncertain(std::span<const UncertainCall> calls) override {
    return scope_->RecordUncertain(calls);
  }
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override {
    return scope_->ListUncertain(since);
  }
  Result<RememberTimes> Remember(RememberChange change) override {
    return scope_->Remember(change);
  }
  Result<std::vector<StoreStat>> Stat() override;
  StoreLosses losses() const override { return scope_->losses(); }

 private:
  using SourcePartition = RedisWindow::Partition;
  using PartitionPtr = std::shared_ptr<PartitionMemory>;
  using Page = std::vector<OwnedIds::Loaded>;

  RedisOwnedWindow(std::unique_ptr<RedisWindow> scope, const RedisWindowOptions& options,
                   const Clock& clock)
      : capabilities_(scope->capabilities()),
        options_(options),
        clock_(clock),
        scope_(std::move(scope)) {}

  PartitionPtr Find(const SourcePartition& where) const;
  std::vector<PartitionPtr> AllOpen() const;
  // By the server's clock (rule 22), which ours carries on between its answers.
  LogTime Wall() const;
  void NoteServerTime(int64_t micros);
  template <class Request, class Reply>
  Status Route(std::span<const Request> requests, std::span<Reply> replies);

  // The partition in Redis, from the first entry on that is not known yet. kUnavailable: without
  // the owner epoch.
  Status Load(PartitionMemory& partition, OwnerEpoch owner_epoch);
  // Its entries after `position`, page by page; false from `take`: they are not ours.
  Status ReadStream(const std::string& name, const StreamPosition& position, OwnerEpoch owner_epoch,
                    const std::function<bool(Page)>& take);
  Status AnnounceOne(PartitionMemory& partition, const Announcement& announcement);
  // One script. Without a `number` it is not the last one.
  Status Append(const SourcePartition& where, OwnerEpoch owner_epoch,
                std::span<const OwnedIds::Entry* const> entries, const Announcement* announcement,
                uint64_t number, const PartitionMemory::Changes& changes);
  Status Trim(PartitionMemory& partition, const Progress& progress);
  // Among the announced ids of all processes.
  Status PeekAnnounced(std::span<const std::string_view> ids, std::span<MarkerView> views);

  const WindowCapabilities capabilities_;
  const RedisWindowOptions options_;
  const Clock& clock_;
  const std::unique_ptr<RedisWindow> scope_;

  std::atomic<microseconds> server_ahead_{microseconds(0)};  // of clock_.Boot()

  mutable Mutex mutex_;
  std::map<SourcePartition, PartitionPtr> open_ GUARDED_BY(mutex_);
  std::set<SourcePartition> lost_writes_ GUARDED_BY(mutex_);  // to be told by Open()
};

}  // namespace oncemq
