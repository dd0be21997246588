// SPDX-License-Identifier: Apache-2.0
// What all exhibits of the museum are: they are taken, extended and freed. Nobody waits, nobody can
// be looked at, and there is no fence.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq::testing {

class Exhibit : public LockEngine {
 public:
  const LockCapabilities& capabilities() const override {
    static constexpr LockCapabilities kCan{.engine = "museum", .processes = true};
    return kCan;
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = ExtendOne(claims[i]);
      if (!done) {
        return done.error();
      }
      answers[i] = *done == 1 ? Extended::kYes : Extended::kGone;
    }
    return {};
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = FreeOne(claims[i]);
      if (!done) {
        return done.error();
      }
      answers[i] = *done == 1 ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }
  Status Await(const AcquireRequest&, BootTime, const std::stop_token&) override {
    return Error{Code::kUnavailable, Effect::kNone, "nobody wakes here"};
  }
  Result<size_t> Recall(std::string_view) override { return size_t{0}; }
  Result<Freed> Evict(std::string_view, const Fence&) override { return Freed::kNotHeld; }
  Result<LockView> Read(std::string_view) override { return LockView{}; }
  Result<std::vector<std::string>> Names(std::string_view, size_t) override {
    return std::vector<std::string>();
  }
  Result<uint32_t> Seal(uint32_t) override {
    return Error{Code::kInvalid, Effect::kNone, "no seals here"};
  }

 protected:
  // 1: done; 0: not.
  virtual Result<int64_t> ExtendOne(const LockClaim& claim) = 0;
  virtual Result<int64_t> FreeOne(const LockClaim& claim) = 0;

  static std::string TextOf(const Token& token) {
    return std::to_string(token.process) + "." + std::to_string(token.attempt);
  }
  static Result<LockAnswer> Granted(const Result<int64_t>& done) {
    if (!done) {
      return done.error();
    }
    return LockAnswer{*done == 1 ? LockAnswer::Kind::kGranted : LockAnswer::Kind::kBusy, {}, {}};
  }
};

using OpenedExhibit = Result<std::shared_ptr<LockEngine>>;

// Each of those that live in this store.
OpenedExhibit OpenMemcachedExhibit(std::string_view name, std::string_view at);
OpenedExhibit OpenPostgresExhibit(std::string_view name, std::string_view at);
OpenedExhibit OpenRedisExhibit(std::string_view name, std::string_view at,
                               milliseconds clock_error);
OpenedExhibit OpenZooKeeperExhibit(std::string_view at);

}  // namespace oncemq::testing
