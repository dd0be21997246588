// SPDX-License-Identifier: Apache-2.0
// Memory locks whose calls can be made to fail, before or after they took effect, or to hang.
// Thread safety: as LockEngine; the switches from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "oncemq/base/mutex.h"
#include "oncemq/locks/memory_locks.h"

namespace oncemq::testing {

class ShakyLocks final : public LockEngine {
 public:
  enum class Fault {
    kNone,
    kRefused,    // nothing was done
    kLostReply,  // it was done, and nobody hears of it
    kHangs,      // until it is set to something else
  };
  std::atomic<Fault> on_ask{Fault::kNone};
  std::atomic<Fault> on_await{Fault::kNone};
  std::atomic<Fault> on_extend{Fault::kNone};
  std::atomic<Fault> on_free{Fault::kNone};
  std::atomic<int> asks{0};
  std::atomic<int> extends{0};
  std::atomic<int> frees{0};

  // From now on a batch with this name in it fails.
  void Spoil(std::string_view name) {
    MutexLock lock(mutex_);
    spoiled_ = name;
  }

  const LockCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    asks++;
    Result<LockAnswer> answer = LockAnswer{};
    const Status done = With(on_ask, [&] { answer = inner_->Ask(ask); });
    return done ? answer : Result<LockAnswer>(done.error());
  }
  Status Await(const LockAsk& ask, BootTime until, const std::stop_token& stop) override {
    return on_await == Fault::kNone ? inner_->Await(ask, until, stop)
                                    : Status(Error{Code::kUnavailable, Effect::kNone, "deaf"});
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    extends++;
    for (const LockClaim& claim : claims) {
      if (Spoiled(claim.name)) {
        return Error{Code::kInternal, Effect::kUnknown, "what is kept of a name is spoiled"};
      }
    }
    return With(on_extend, [&] { static_cast<void>(inner_->Extend(claims, answers)); });
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    frees++;
    return With(on_free, [&] { static_cast<void>(inner_->Free(claims, answers)); });
  }
  Result<size_t> AskBack(std::string_view name) override { return inner_->AskBack(name); }
  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    return inner_->Evict(name, fence);
  }
  Result<LockView> Look(std::string_view name) override { return inner_->Look(name); }
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    return inner_->Names(after, limit);
  }

 private:
  template <class Call>
  static Status With(std::atomic<Fault>& fault, const Call& call) {
    fault.wait(Fault::kHangs);
    const Fault now = fault;
    if (now == Fault::kRefused) {
      return Error{Code::kUnavailable, Effect::kNone, "down"};
    }
    call();
    if (now == Fault::kLostReply) {
      return Error{Code::kTimeout, Effect::kUnknown, "no reply"};
    }
    return {};
  }

  bool Spoiled(std::string_view name) {
    MutexLock lock(mutex_);
    return !spoiled_.empty() && name == spoiled_;
  }

  const std::shared_ptr<LockEngine> inner_ = MakeMemoryLocks();
  Mutex mutex_;
  std::string spoiled_ GUARDED_BY(mutex_);
};

}  // namespace oncemq::testing
