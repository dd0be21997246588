// SPDX-License-Identifier: Apache-2.0
// A window over a network, as far as the runtime sees one: it keeps the history of commits,
// refuses announcements below the ownership in its store, and can be held up.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/dedup/memory_window.h"
#include "support/eventually.h"

namespace oncemq::testing {

// Thread safety: as Window; the rest from any thread.
class RemoteWindow final : public Window {
 public:
  explicit RemoteWindow(Level level = Level::kGuarded, bool remote = true)
      : inner_(*OpenMemoryWindow({.level = level}, SystemClock::Instance())) {
    capabilities_ = inner_->capabilities();
    capabilities_.remote = remote;
    capabilities_.keeps_history = capabilities_.durable = true;
  }

  // Raises, announcements, restores and Committed() wait from now on, until it is let go.
  void Hold() {
    MutexLock lock(mutex_);
    held_ = true;
  }
  void LetGo() {
    MutexLock lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  int waiting() const {
    MutexLock lock(mutex_);
    return waiting_;
  }
  // A raise of another connection arrives.
  void RaiseBehind(uint32_t source, int32_t partition) {
    MutexLock lock(mutex_);
    Raise(source, partition, 0);
  }
  // One arrives right after each of so many that are asked for now.
  std::atomic<int> raised_behind{0};
  std::atomic<bool> renewals_lose_writes{false};
  std::atomic<int> renewals{0};
  std::atomic<bool> completions_down{false};
  std::atomic<int> completion_awaits_renewals{0};  // so many, in all
  std::atomic<milliseconds> claim_takes{milliseconds(0)};
  std::atomic<int> claims{0};
  std::atomic<int> announce_calls{0};
  std::atomic<int32_t> announces_not{-1};  // the store of this partition does not answer

  // Open() tells from now on that changes since then are gone.
  void Lose(BootTime since) {
    MutexLock lock(mutex_);
    lost_since_ = since;
  }
  // How many announcements said that ids are missing, since the last one that did not.
  int incomplete() const {
    MutexLock lock(mutex_);
    return incomplete_;
  }

  // The calls that were made: "raise 0", "announce 0", "restore", "committed 0 at 7", "close 0".
  std::vector<std::string> made() const {
    MutexLock lock(mutex_);
    return made_;
  }
  size_t Made(const std::string& call) const {
    const std::vector<std::string> all = made();
    return static_cast<size_t>(std::count(all.begin(), all.end(), call));
  }
  OwnerEpoch owner_epoch(int32_t partition) const {
    MutexLock lock(mutex_);
    const auto found = owner_epochs_.find(partition);
    return found == owner_epochs_.end() ? 0 : found->second;
  }

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<StoreKnowledge> Open(const StoreName& name) override {
    MutexLock lock(mutex_);
    return StoreKnowledge{.incarnation = 1,
                          .source = name.source,
                          .lost_writes = lost_since_.has_value(),
                          .lost_since = lost_since_};
  }
  void Close(uint32_t, int32_t partition) override {
    MutexLock lock(mutex_);
    made_.push_back("close " + std::to_string(partition));
  }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    MutexLock lock(mutex_);
    Await("raise " + std::to_string(partition));
    const OwnerEpoch owner_epoch = Raise(source, partition, floor);
    if (raised_behind > 0) {
      raised_behind--;
      Raise(source, partition, 0);
    }
    return owner_epoch;
  }
  Status Announce(std::span<const Announcement> announcements) override {
    announce_calls++;
    MutexLock lock(mutex_);
    for (const Announcement& one : announcements) {
      Await("announce " + std::to_string(one.partition));
      if (one.partition == announces_not) {
        return Error{Code::kUnavailable, Effect::kNone, "the store is opened again"};
      }
      if (one.owner_epoch != owner_epochs_[one.partition]) {
        made_.back() += " fenced";
        return Error{Code::kFenced, Effect::kNone, "the partition has a newer owner"};
      }
      incomplete_ = one.complete ? 0 : incomplete_ + 1;
    }
    return {};
  }
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange>) override {
    MutexLock lock(mutex_);
    for (const Progress& one : progress) {
      Await("committed " + std::to_string(one.partition) + " at " + std::to_string(one.frontier));
    }
    return {};
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    claims++;
    SleepFor(claim_takes.load());
    return inner_->Claim(requests, answers);
  }
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return inner_->Judge(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> changes) override {
    if (completions_down) {
      return Error{Code::kUnavailable, Effect::kNone, "down"};
    }
    Eventually(seconds(20), [this] { return renewals >= completion_awaits_renewals; });
    return inner_->Complete(requests, changes);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> changes) override {
    return inner_->Release(requests, changes);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> changes) override {
    return inner_->Park(requests, changes);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> changes) override {
    renewals++;
    return renewals_lose_writes
               ? Status(Error{Code::kLostWrites, Effect::kNone, "changes are gone"})
               : inner_->Renew(requests, changes);
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> changes) override {
    MutexLock lock(mutex_);
    Await("restore");
    return inner_->Restore(requests, changes);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return inner_->Peek(ids, views);
  }

 private:
  using Effect = ::oncemq::Effect;
  using seconds = std::chrono::seconds;

  void Await(std::string call) REQUIRES(mutex_) {
    waiting_++;
    changed_.wait_for(mutex_, seconds(30), [this]() REQUIRES(mutex_) { return !held_; });
    waiting_--;
    made_.push_back(std::move(call));
  }
  OwnerEpoch Raise(uint32_t source, int32_t partition, OwnerEpoch floor) REQUIRES(mutex_) {
    return owner_epochs_[partition] = *inner_->RaiseOwnerEpoch(source, partition, floor);
  }

  const std::unique_ptr<Window> inner_;
  WindowCapabilities capabilities_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool held_ GUARDED_BY(mutex_) = false;
  int waiting_ GUARDED_BY(mutex_) = 0;
  int incomplete_ GUARDED_BY(mutex_) = 0;
  std::optional<BootTime> lost_since_ GUARDED_BY(mutex_);
  std::map<int32_t, OwnerEpoch> owner_epochs_ GUARDED_BY(mutex_);
  std::vector<std::string> made_ GUARDED_BY(mutex_);
};

}  // namespace oncemq::testing
