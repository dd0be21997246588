// SPDX-License-Identifier: Apache-2.0
// A lock store as one process sees it over a network: it can be cut off, replies can be lost, and
// something else can happen while a call is on its way, there or back.
//
// Thread safety: as LockEngine; the switches from any thread, the hooks are set before.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "oncemq/locks/hold_listeners.h"

namespace oncemq::testing {

class RemoteLocks final : public LockEngine {
 public:
  explicit RemoteLocks(std::shared_ptr<LockEngine> there) : there_(std::move(there)) {}

  std::atomic<bool> cut{false};
  std::atomic<bool> loses_replies{false};
  HoldListeners listeners;
  std::function<void()> on_its_way = [] {};

  const LockCapabilities& capabilities() const override { return there_->capabilities(); }
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    return Over<Result<LockAnswer>>([&] { return there_->Request(request); });
  }
  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    return there_->Await(request, until, stop);
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    return Over<Status>([&] { return there_->Extend(claims, answers); });
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    return Over<Status>([&] { return there_->Free(claims, answers); });
  }
  Result<size_t> Recall(std::string_view name) override {
    return Over<Result<size_t>>([&] { return there_->Recall(name); });
  }
  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    return Over<Result<Freed>>([&] { return there_->Evict(name, fence); });
  }
  Result<LockView> Read(std::string_view name) override {
    return Over<Result<LockView>>([&] { return there_->Read(name); });
  }
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    return Over<Result<std::vector<std::string>>>([&] { return there_->Names(after, limit); });
  }
  void Listen(HoldListener& listener) override { listeners.Listen(listener); }
  void Unlisten(HoldListener& listener) override { listeners.Unlisten(listener); }
  Result<uint32_t> Seal(uint32_t epoch) override {
    return Over<Result<uint32_t>>([&] { return there_->Seal(epoch); });
  }

 private:
  template <class Answer, class Call>
  Answer Over(const Call& call) {
    if (cut) {
      return Error{Code::kUnavailable, Effect::kNone, "cut off from the store"};
    }
    on_its_way();
    Answer answer = call();
    on_its_way();
    if (loses_replies) {
      return Error{Code::kTimeout, Effect::kUnknown, "no reply"};
    }
    return answer;
  }

  const std::shared_ptr<LockEngine> there_;
};

}  // namespace oncemq::testing
