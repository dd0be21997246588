// SPDX-License-Identifier: Apache-2.0
// A shared window that only looks, by a table. Other calls are refused, and counted.
//
// Thread safety: one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "oncemq/dedup/window.h"

namespace oncemq::testing {

class JudgedWindow final : public Window {
 public:
  WindowCapabilities can{
      .engine = "judged", .level = Level::kGuarded, .shared = true, .durable = true, .ages = true};
  bool judges = true;
  bool lost_writes = false;
  // All other ids are granted.
  std::map<std::string, ClaimAnswer, std::less<>> answers;
  std::deque<Error> failures;       // of the next looks
  std::vector<std::string> owners;  // of each Open()
  std::vector<ClaimRequest> asked;  // their ids are gone
  std::function<void()> on_judge = [] {};
  int other_calls = 0;

  const WindowCapabilities& capabilities() const override { return can; }
  Result<StoreKnowledge> Open(const StoreName& name) override {
    owners.emplace_back(name.owner);
    return StoreKnowledge{.source = name.source + 7, .lost_writes = lost_writes};
  }
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> told) override {
    if (!judges) {
      return Window::Judge(requests, told);
    }
    if (requests.empty()) {
      return {};
    }
    if (!failures.empty()) {
      const Error failure = failures.front();
      failures.pop_front();
      return failure;
    }
    for (size_t i = 0; i < requests.size(); i++) {
      const auto known = answers.find(requests[i].id);
      told[i] = known != answers.end()
                    ? known->second
                    : ClaimAnswer{.answer = ClaimVerdict::kGranted, .attempt = 1};
      asked.push_back(requests[i]);
    }
    on_judge();
    return {};
  }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t, int32_t, OwnerEpoch) override { return Other(); }
  Status Claim(std::span<const ClaimRequest>, std::span<ClaimAnswer>) override { return Other(); }
  Status Complete(std::span<const CompleteRequest>, std::span<MarkerChange>) override {
    return Other();
  }
  Status Release(std::span<const ReleaseRequest>, std::span<MarkerChange>) override {
    return Other();
  }
  Status Park(std::span<const ParkRequest>, std::span<MarkerChange>) override { return Other(); }
  Status Renew(std::span<const RenewRequest>, std::span<MarkerChange>) override { return Other(); }
  Status Restore(std::span<const RestoreRequest>, std::span<MarkerChange>) override {
    return Other();
  }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override { return Other(); }

 private:
  Error Other() {
    other_calls++;
    return {Code::kInvalid, ::oncemq::Effect::kNone, "it only looks"};
  }
};

}  // namespace oncemq::testing
