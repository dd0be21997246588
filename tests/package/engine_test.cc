// SPDX-License-Identifier: Apache-2.0
// A stranger's engine under the installed conformance suite. What it can, it has from the window in
// memory; that is enough to see that the suite builds and judges outside this repository.
#include <cstdint>
#include <memory>
#include <utility>

#include "oncemq/dedup/conformance/window_conformance.h"
#include "oncemq/dedup/memory_window.h"

namespace {

using namespace oncemq;

ManualClock& EnginesClock() {
  static ManualClock clock;
  return clock;
}

class StrangersWindow final : public Window {
 public:
  explicit StrangersWindow(std::unique_ptr<Window> inner) : inner_(std::move(inner)) {}

  const WindowCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    return inner_->RaiseOwnerEpoch(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return inner_->Claim(requests, answers);
  }
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return inner_->Judge(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override {
    return inner_->Complete(requests, answers);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override {
    return inner_->Release(requests, answers);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override {
    return inner_->Park(requests, answers);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override {
    return inner_->Renew(requests, answers);
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override {
    return inner_->Restore(requests, answers);
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
  const std::unique_ptr<Window> inner_;
};

[[maybe_unused]] const bool kRegistered = RegisterWindowConformance({
    .name = "strangers",
    .capabilities = {.engine = "memory", .timed = true, .forgets_by_number = true},
    .open = [](const ConformanceSetup& setup) -> Result<std::unique_ptr<Window>> {
      auto inner = OpenMemoryWindow(
          {.level = setup.level, .partition_owned = false, .times = setup.times}, EnginesClock());
      if (!inner) {
        return inner.error();
      }
      return std::unique_ptr<Window>(std::make_unique<StrangersWindow>(*std::move(inner)));
    },
    .reopen = {},
    .advance = [](milliseconds by) { EnginesClock().Advance(by); },
    .judges = true,
});

}  // namespace
