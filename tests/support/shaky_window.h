// SPDX-License-Identifier: Apache-2.0
// A memory window whose calls can be made to fail, and are counted.
//
// Thread safety: as Window; the switches from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>

#include "oncemq/dedup/memory_window.h"

namespace oncemq::testing {

class ShakyWindow final : public Window {
 public:
  std::atomic<bool> down{false};
  std::atomic<bool> restore_down{false};
  std::atomic<bool> damaged{false};
  std::atomic<bool> renewals_fenced{false};
  std::atomic<int> renewals{0};

  const WindowCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    return down ? Result<OwnerEpoch>(Down()) : inner_->RaiseOwnerEpoch(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    if (damaged) {
      return Error{Code::kCorrupt, ::oncemq::Effect::kNone, "a page is damaged"};
    }
    return down ? Status(Down()) : inner_->Claim(requests, answers);
  }
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return down ? Status(Down()) : inner_->Judge(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> changes) override {
    return down ? Status(Down()) : inner_->Complete(requests, changes);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> changes) override {
    return down ? Status(Down()) : inner_->Release(requests, changes);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> changes) override {
    return down ? Status(Down()) : inner_->Park(requests, changes);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> changes) override {
    renewals++;
    if (renewals_fenced) {
      std::fill(changes.begin(), changes.end(), MarkerChange::kFenced);
      return {};
    }
    return inner_->Renew(requests, changes);
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> changes) override {
    if (damaged) {
      return Error{Code::kCorrupt, ::oncemq::Effect::kNone, "a page is damaged"};
    }
    return down || restore_down ? Status(Down()) : inner_->Restore(requests, changes);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return inner_->Peek(ids, views);
  }
  Status RecordUncertain(std::span<const UncertainCall> calls) override {
    return inner_->RecordUncertain(calls);
  }
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override {
    return inner_->ListUncertain(since);
  }

 private:
  static Error Down() { return {Code::kUnavailable, ::oncemq::Effect::kNone, "down"}; }
  std::unique_ptr<Window> inner_ =
      *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
};

}  // namespace oncemq::testing
