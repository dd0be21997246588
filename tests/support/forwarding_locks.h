// SPDX-License-Identifier: Apache-2.0
// An engine that is another one: whoever changes a call overrides it.
//
// Thread safety: as the other one.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/locks/lock_engine.h"

namespace oncemq::testing {

class ForwardingLocks : public LockEngine {
 public:
  explicit ForwardingLocks(std::shared_ptr<LockEngine> inner) : inner_(std::move(inner)) {}

  const LockCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    return inner_->Request(request);
  }
  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    return inner_->Await(request, until, stop);
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    return inner_->Extend(claims, answers);
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    return inner_->Free(claims, answers);
  }
  Result<size_t> Recall(std::string_view name) override { return inner_->Recall(name); }
  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    return inner_->Evict(name, fence);
  }
  Result<LockView> Read(std::string_view name) override { return inner_->Read(name); }
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    return inner_->Names(after, limit);
  }
  Result<uint32_t> Seal(uint32_t epoch) override { return inner_->Seal(epoch); }
  void InEpoch(uint32_t epoch) override { inner_->InEpoch(epoch); }
  void Listen(HoldListener& listener) override { inner_->Listen(listener); }
  void Unlisten(HoldListener& listener) override { inner_->Unlisten(listener); }

 private:
  const std::shared_ptr<LockEngine> inner_;
};

}  // namespace oncemq::testing
