// SPDX-License-Identifier: Apache-2.0
// DirectWindow: what the product's CatchUp and WindowStores see of a window in the process: no way
// in between, so each call is answered at once, and may be refused.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <utility>

#include "sim_window.h"

namespace oncemq::sim {

class DirectWindow final : public Window {
 public:
  DirectWindow(ActorId actor, std::shared_ptr<SimWindow> window)
      : actor_(actor), window_(std::move(window)) {}

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override {
    return window_->RestoreNow(actor_, requests, answers);
  }

  Result<StoreKnowledge> Open(const StoreName& name) override {
    return window_->engine().Open(name);
  }
  void Close(uint32_t source, int32_t partition) override {
    window_->engine().Close(source, partition);
  }
  Status Announce(std::span<const Announcement> announcements) override {
    return window_->engine().Announce(announcements);
  }
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) override {
    return window_->engine().Committed(progress, answers);
  }

  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t, int32_t, OwnerEpoch) override { return NotHere(); }
  Status Claim(std::span<const ClaimRequest>, std::span<ClaimAnswer>) override { return NotHere(); }
  Status Complete(std::span<const CompleteRequest>, std::span<MarkerChange>) override {
    return NotHere();
  }
  Status Release(std::span<const ReleaseRequest>, std::span<MarkerChange>) override {
    return NotHere();
  }
  Status Park(std::span<const ParkRequest>, std::span<MarkerChange>) override { return NotHere(); }
  Status Renew(std::span<const RenewRequest>, std::span<MarkerChange>) override {
    return NotHere();
  }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override {
    return NotHere();
  }

 private:
  static Error NotHere() { return {Code::kInvalid, Effect::kNone, "not what these two ask for"}; }

  const WindowCapabilities capabilities_{.engine = "direct"};
  const ActorId actor_;
  const std::shared_ptr<SimWindow> window_;
};

}  // namespace oncemq::sim
