// SPDX-License-Identifier: Apache-2.0
// Memory locks whose calls can be made to fail, before or after they took effect, or to hang.
//
// Thread safety: as LockEngine; the switches from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "oncemq/base/mutex.h"
#include "oncemq/locks/hold_listeners.h"
#include "oncemq/locks/memory_locks.h"
#include "support/forwarding_locks.h"

namespace oncemq::testing {

class ShakyLocks final : public ForwardingLocks {
 public:
  ShakyLocks() : ForwardingLocks(MakeMemoryLocks()) {}

  enum class Fault {
    kNone,
    kRefused,    // nothing was done
    kLostReply,  // it was done, and nobody hears of it
    kHangs,      // until it is set to something else
  };
  std::atomic<Fault> on_request{Fault::kNone};
  std::atomic<Fault> on_await{Fault::kNone};
  std::atomic<Fault> on_extend{Fault::kNone};
  std::atomic<Fault> on_free{Fault::kNone};
  std::function<void()> when_granted = [] {};  // before the asker hears of it; set before
  std::function<void()> before_free = [] {};   // set before
  // while none asks
  std::function<void(std::string_view)> before_request = [](std::string_view) {};
  HoldListeners listeners;
  std::atomic<int> requests{0};
  std::atomic<int> extends{0};
  std::atomic<int> frees{0};

  // Before it is used: what it says that it can.
  void Claim(const LockCapabilities& can) { can_ = can; }

  // From now on a batch with this name in it fails.
  void Spoil(std::string_view name, Code code = Code::kInternal) {
    MutexLock lock(mutex_);
    spoiled_ = name;
    code_ = code;
  }

  // Whether its lease was to be extended, since the last time that this was asked.
  bool Renewed(std::string_view name) {
    MutexLock lock(mutex_);
    return renewed_.erase(std::string(name)) > 0;
  }

  const LockCapabilities& capabilities() const override { return can_; }
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    requests++;
    before_request(request.name);
    Result<LockAnswer> answer = LockAnswer{};
    const Status done = With(on_request, [&] { answer = ForwardingLocks::Request(request); });
    if (answer && answer->kind == LockAnswer::Kind::kGranted) {
      when_granted();
    }
    return done ? answer : Result<LockAnswer>(done.error());
  }
  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    return on_await == Fault::kNone ? ForwardingLocks::Await(request, until, stop)
                                    : Status(Error{Code::kUnavailable, Effect::kNone, "deaf"});
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    extends++;
    for (const LockClaim& claim : claims) {
      Note(claim.name);
    }
    if (const Status fit = Unspoiled(claims); !fit) {
      return fit;
    }
    return With(on_extend, [&] { static_cast<void>(ForwardingLocks::Extend(claims, answers)); });
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    frees++;
    before_free();
    if (const Status fit = Unspoiled(claims); !fit) {
      return fit;
    }
    return With(on_free, [&] { static_cast<void>(ForwardingLocks::Free(claims, answers)); });
  }
  void Listen(HoldListener& listener) override { listeners.Listen(listener); }
  void Unlisten(HoldListener& listener) override { listeners.Unlisten(listener); }

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

  void Note(std::string_view name) {
    MutexLock lock(mutex_);
    renewed_.emplace(name);
  }
  Status Unspoiled(std::span<const LockClaim> claims) {
    MutexLock lock(mutex_);
    for (const LockClaim& claim : claims) {
      if (!spoiled_.empty() && claim.name == spoiled_) {
        return Error{code_, Effect::kUnknown, "what is kept of a name is spoiled"};
      }
    }
    return {};
  }

  LockCapabilities can_ = ForwardingLocks::capabilities();
  Mutex mutex_;
  std::set<std::string> renewed_ GUARDED_BY(mutex_);
  std::string spoiled_ GUARDED_BY(mutex_);
  Code code_ GUARDED_BY(mutex_) = Code::kInternal;
};

}  // namespace oncemq::testing
