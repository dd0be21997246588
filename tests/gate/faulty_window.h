// SPDX-License-Identifier: Apache-2.0
// A window whose calls fail, or whose answers are lost.
//
// Thread safety: as the window inside; the switches from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "oncemq/dedup/window.h"

namespace oncemq::testing {

class FaultyWindow final : public Window {
 public:
  explicit FaultyWindow(std::shared_ptr<Window> inner) : inner_(std::move(inner)) {}

  std::atomic<bool> down{false};          // nothing arrives
  std::atomic<bool> lose_answers{false};  // it arrives and is done, and no answer comes
  std::atomic<int> fails{0};              // so many calls, and then it works again
  std::atomic<bool> blind{false};         // no look is answered
  Code code = Code::kUnavailable;         // of the error
  // Called with what came of it, which they may change.
  std::function<void(Status&)> after_claim = [](Status&) {};
  std::function<void(Status&)> after_complete = [](Status&) {};
  std::atomic<int> claims{0};

  const WindowCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    return inner_->RaiseOwnerEpoch(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    claims++;
    Status done = Through([&] { return inner_->Claim(requests, answers); });
    after_claim(done);
    return done;
  }
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return Through([&] { return inner_->Judge(requests, answers); });
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override {
    Status done = Through([&] { return inner_->Complete(requests, answers); });
    after_complete(done);
    return done;
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override {
    return Through([&] { return inner_->Release(requests, answers); });
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override {
    return inner_->Park(requests, answers);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override {
    return Through([&] { return inner_->Renew(requests, answers); });
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override {
    return inner_->Restore(requests, answers);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    if (blind) {
      return Error{Code::kUnavailable, Effect::kNone, "blind"};
    }
    return Through([&] { return inner_->Peek(ids, views); });
  }

 private:
  template <class Call>
  Status Through(Call call) {
    if (down || fails > 0) {
      fails -= fails > 0 ? 1 : 0;
      return Error{code, Effect::kNone, "down"};
    }
    Status done = call();
    return lose_answers ? Status(Error{Code::kTimeout, Effect::kUnknown, "no answer"}) : done;
  }

  const std::shared_ptr<Window> inner_;
};

}  // namespace oncemq::testing
