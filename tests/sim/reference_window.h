// SPDX-License-Identifier: Apache-2.0
// ReferenceWindow: the window's contract written down as plainly as it goes, without any thought of
// speed. It forgets only when told. CheckedWindow runs it beside an engine and reports the first
// answer in which the two differ.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "oncemq/dedup/window.h"

namespace oncemq::sim {

class ReferenceWindow final : public Window {
 public:
  ReferenceWindow(Level level, const WindowTimes& times, const Clock& clock)
      : capabilities_{.engine = "reference", .level = level},
        opaque_(level == Level::kOpaque),
        times_(times),
        clock_(clock) {}

  const WindowCapabilities& capabilities() const override { return capabilities_; }
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
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;
  // The engine beside it knows a finished id no longer.
  void Forget(std::string_view id);

 private:
  struct Marker {
    MarkerState state = MarkerState::kNone;
    Token token;
    bool held = false;
    bool uncertain = false;
    Coordinates at;
    OwnerEpoch owner_epoch = 0;
    uint32_t attempt = 0;
    uint32_t fingerprint = 0;
    uint64_t entry = 0;
    BootTime granted;
    BootTime lease_end;
    std::string result;
  };
  struct Owner {
    OwnerEpoch owner_epoch = 0;
    BootTime raised;
  };

  ClaimAnswer ClaimOne(const ClaimRequest& request);
  void Grant(Marker& marker, const ClaimRequest& request, ClaimAnswer& answer);
  BootTime FreeFrom(const Marker& marker, const ClaimRequest& request);
  BootTime LeaseEnd(const Marker& marker) const;
  bool Owns(OwnerEpoch owner_epoch, const Coordinates& at) const;

  const WindowCapabilities capabilities_;
  const bool opaque_;
  const WindowTimes times_;
  const Clock& clock_;
  std::map<std::string, Marker, std::less<>> markers_;
  std::map<std::pair<uint32_t, int32_t>, Owner> owners_;
};

class CheckedWindow final : public Window {
 public:
  using Report = std::function<void(const std::string&)>;
  // `forgets`: the engine may forget finished ids, within a bound that is judged elsewhere.
  CheckedWindow(std::unique_ptr<Window> engine, std::unique_ptr<ReferenceWindow> reference,
                bool forgets, Report report)
      : engine_(std::move(engine)),
        reference_(std::move(reference)),
        forgets_(forgets),
        report_(std::move(report)) {}

  const WindowCapabilities& capabilities() const override { return engine_->capabilities(); }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return engine_->Judge(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override;
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override;
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;

 private:
  template <class Request>
  Status Compare(std::string_view what,
                 Status (Window::*call)(std::span<const Request>, std::span<MarkerChange>),
                 std::span<const Request> requests, std::span<MarkerChange> answers);

  void Follow(std::string_view id);

  const std::unique_ptr<Window> engine_;
  const std::unique_ptr<ReferenceWindow> reference_;
  const bool forgets_;
  const Report report_;
};

}  // namespace oncemq::sim
